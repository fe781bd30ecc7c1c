"""The default source, and the door that every `source=` argument goes through."""

from __future__ import annotations

import os

from safeselect.errors import ParameterError
from safeselect.sources._accept import as_source
from safeselect.sources._fork import Generation, generation
from safeselect.sources._protocol import Source
from safeselect.sources.openssl import OpenSSLSource

__all__ = ["default_source", "require_production", "resolve"]

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"

# The one object that the whole process shares.  Two threads that need it for the first time at once
# may each build one; either is good, and one of them stays.
_current: tuple[Generation, OpenSSLSource] | None = None


def default_source() -> Source:
    """Return the source used when none is given: one OpenSSLSource a process, built when needed.

    If it ever fails it stays failed until the process ends, as every source does.
    """
    global _current
    now, current = generation(), _current
    if current is None or current[0] != now:
        current = _current = (now, OpenSSLSource())
    return current[1]


def require_production() -> bool:
    """Whether the environment asks for hardening: SAFESELECT_REQUIRE_PRODUCTION is not empty.

    Any value but the empty one hardens, "0" too: a typing error must not soften.
    """
    return os.environ.get(_VARIABLE, "") != ""


def resolve(source: object | None) -> Source:
    """Return the source to use for an argument `source=`: the default for None.

    Raises:
        ParameterError: not a source (a seed, a generator for simulations, a class ...), or a source
            for tests while SAFESELECT_REQUIRE_PRODUCTION is set.
    """
    if source is None:
        return default_source()
    checked = as_source(source)
    if not checked.production and require_production():
        raise ParameterError(
            f"{type(checked).__name__} is for tests, and {_VARIABLE} is set: leave source out"
        )
    return checked
