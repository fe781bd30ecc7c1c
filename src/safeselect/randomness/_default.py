"""The default source, and the door that every `source=` argument goes through."""

from __future__ import annotations

import os

from safeselect.errors import ParameterError
from safeselect.randomness._fork import Generation, generation
from safeselect.randomness._observed import unmixed
from safeselect.randomness._own import is_own
from safeselect.randomness._protocol import Source
from safeselect.randomness.foreign import guarded
from safeselect.randomness.openssl import OpenSSLSource
from safeselect.randomness.system import SystemSource

__all__ = ["default_source", "require_production", "resolve"]

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"
_ASSERTED = "asserted"
_GENERATORS = (OpenSSLSource, SystemSource)

# The one object that the whole process shares.  Two threads that need it for the first time at once
# may each build one; either is good, and one of them stays.
_current: tuple[Generation, OpenSSLSource] | None = None


def default_source() -> Source:
    """Return the source used when none is given: one OpenSSLSource a process, built when needed.

    One that failed a test stays failed until the process ends.  After any other failure the next
    call builds a new one, which is tested anew: an error that was no fault of the generator's may
    end one call, and no later one.
    """
    global _current
    now, current = generation(), _current
    if current is None or current[0] != now or current[1].interrupted:
        current = _current = (now, OpenSSLSource())
    return current[1]


def require_production() -> bool:
    """Whether the environment asks for hardening: SAFESELECT_REQUIRE_PRODUCTION is not empty.

    Any value but the empty one hardens, "0" too: a typing error must not soften.
    """
    return os.environ.get(_VARIABLE, "") != ""


def resolve(source: object | None) -> Source:
    """Return the source to use for an argument `source=`: the default for None.

    A source of another class than this package's own comes back behind a guard; see
    `ForeignSource`.

    Raises:
        ParameterError: not a source (a seed, a generator for simulations, a class ...); or, while
            SAFESELECT_REQUIRE_PRODUCTION is set, a source for tests, or a callback's bytes alone
            where the variable does not say "asserted".
    """
    if source is None:
        return default_source()
    if isinstance(source, _GENERATORS) and is_own(source):
        return source  # whatever the environment asks for
    checked = guarded(source)
    if not require_production():
        return checked
    if not checked.production:
        raise ParameterError(
            f"{checked.name} is for tests, and {_VARIABLE} is set: leave source out"
        )
    if os.environ.get(_VARIABLE) != _ASSERTED and unmixed(checked):
        raise ParameterError(
            f"{checked.name} gives a function's bytes alone, and {_VARIABLE} is set: leave out "
            f"exclusive=True, so that the system's bytes are mixed in, or set {_VARIABLE}="
            f"{_ASSERTED}, and every record says that the bytes are asserted"
        )
    return checked
