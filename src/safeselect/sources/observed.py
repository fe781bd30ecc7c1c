"""What a record may say of a source: what is known of it, and what was only asserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safeselect.randomness.guard import Worth
from safeselect.randomness.source import Source, guard_of

__all__ = ["Observed", "observed"]


@dataclass(frozen=True, slots=True)
class Observed:
    """What is known of a source at this moment, in words for records.

    Args:
        name: the source's name; one of this package's own names only for its own classes.
        production: "yes" for the generators of OpenSSL and the system; "asserted" where somebody
            else's code gives bytes and says that they are good; "no" for sources for tests.
        health: "passed" if start-up tests and a canary were passed in this process and nothing
            failed since; else "not tested".
    """

    name: str
    production: Worth
    health: Literal["passed", "not tested"]


def observed(source: Source) -> Observed:
    """Say what is known of a source; of one with parts, what is known of its weakest part.

    Args:
        source: what `resolve` returned.

    Raises:
        ParameterError: a source that `resolve` has not seen.

    Example:
        >>> from safeselect.sources import observed, resolve
        >>> observed(resolve(None)).production
        'yes'
    """
    guard = guard_of(source)
    return Observed(source.name, guard.worth, "passed" if guard.tested else "not tested")
