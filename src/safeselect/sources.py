"""Sources of random bytes: the `Source` protocol, the classes that keep it, and their worth."""

from __future__ import annotations

from typing import final

from safeselect.errors import ParameterError
from safeselect.randomness.foreign import CallbackSource, SystemSource, mixed
from safeselect.randomness.guard import NONCE_BYTES, guard_of, own
from safeselect.randomness.source import (
    Observed,
    OpenSSLSource,
    Source,
    default_source,
    guarded,
    observed,
    require_production,
    resolve,
)

__all__ = [
    "NONCE_BYTES",
    "CallbackSource",
    "CombinedSource",
    "Observed",
    "OpenSSLSource",
    "Source",
    "SystemSource",
    "default_source",
    "observed",
    "require_production",
    "resolve",
]


@final
@own
class CombinedSource:
    """The XOR of two sources: uniform if either is and they are independent of each other.

    It fails if either fails.  Each source is started and tested by itself, at start-up and at every
    request, and so is their XOR.  This is mixing, not a construction of SP 800-90C.

    Args:
        first: a source.
        second: another source; not the same object.

    Raises:
        ParameterError: one of them is not a source, or both are the same object.
    """

    __slots__ = ("_guard", "_name", "_parts", "_production")

    def __init__(self, first: Source, second: Source) -> None:
        first, second = guarded(first), guarded(second)
        if first is second:
            raise ParameterError("a combined source needs two different sources, got one twice")
        self._name = f"CombinedSource({first.name}, {second.name})"
        self._production = first.production and second.production
        self._parts = (first, second)
        self._guard = mixed(guard_of(first), guard_of(second), health=self._production)

    @property
    def name(self) -> str:
        """The class's name with the names of both parts."""
        return self._name

    @property
    def production(self) -> bool:
        """True if both parts are meant for production."""
        return self._production

    @property
    def parts(self) -> tuple[Source, Source]:
        """Both sources; a source of another package is behind a guard."""
        return self._parts

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)
