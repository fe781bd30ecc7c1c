"""The statement of a record about its source: what is known, and what was only asserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safeselect.randomness.guard import Worth
from safeselect.randomness.source import Source, guard_of


@dataclass(frozen=True, slots=True)
class Observed:
    """The knowledge about a source at this moment, in words for records.

    Args:
        name: the source's name.  Only this package's classes have this package's names.
        production: "yes" for the generators of OpenSSL and the system; "asserted" where other code
            gives the bytes and asserts that they are good; "no" for sources for tests.
        health: "passed" if the source passed the start-up tests and a canary in this process and
            has not failed since; else "not tested".
    """

    name: str
    production: Worth
    health: Literal["passed", "not tested"]


def observed(source: Source) -> Observed:
    """Return what is known of a source; of a source with parts, of its weakest part.

    Args:
        source: what `resolve` returned.

    Returns:
        Observed: the source's name, and two words for records.

    Raises:
        ParameterError: the source does not come from `resolve`.

    Example:
        >>> from safeselect.sources import observed, resolve
        >>> observed(resolve(None)).production
        'yes'
    """
    guard = guard_of(source)
    return Observed(source.name, guard.worth, "passed" if guard.tested else "not tested")
