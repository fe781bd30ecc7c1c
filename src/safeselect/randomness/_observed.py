"""What a record may say of a source: what was observed, and what was only asserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.randomness._own import is_own
from safeselect.randomness._protocol import Source
from safeselect.randomness.callback import CallbackSource
from safeselect.randomness.combined import CombinedSource
from safeselect.randomness.foreign import ForeignSource
from safeselect.randomness.openssl import OpenSSLSource
from safeselect.randomness.system import SystemSource

__all__ = ["Observed", "observed", "unmixed"]


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
    production: Literal["yes", "asserted", "no"]
    health: Literal["passed", "not tested"]


def observed(source: Source) -> Observed:
    """Say what is known of a source; of one with parts, what is known of its weakest part.

    Args:
        source: what `resolve` returned.

    Raises:
        ParameterError: a source that `resolve` has not seen.

    Example:
        >>> from safeselect.randomness import observed, resolve
        >>> observed(resolve(None)).production
        'yes'
    """
    if not is_own(source):
        raise ParameterError("observed() takes what resolve() returned")
    if isinstance(source, CombinedSource):
        first, second = map(observed, source.parts)
        both = {first.production, second.production}
        return Observed(
            source.name,
            "no" if "no" in both else "asserted" if "asserted" in both else "yes",
            "passed" if first.health == second.health == "passed" else "not tested",
        )
    if not isinstance(source, (OpenSSLSource, SystemSource, CallbackSource, ForeignSource)):
        return Observed(source.name, "no", "not tested")
    own = isinstance(source, (OpenSSLSource, SystemSource))
    return Observed(
        source.name,
        "yes" if own else "asserted" if source.production else "no",
        "passed" if source.tested else "not tested",
    )


def unmixed(source: Source) -> bool:
    """Whether a function's bytes come in anywhere without the system's."""
    if isinstance(source, CombinedSource):
        return any(map(unmixed, source.parts))
    return isinstance(source, CallbackSource) and source.exclusive
