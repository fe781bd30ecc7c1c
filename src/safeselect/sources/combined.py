"""Two sources, XOR-ed."""

from __future__ import annotations

from functools import partial
from typing import final

from safeselect.errors import ParameterError, SourceError
from safeselect.sources._accept import as_source
from safeselect.sources._buffers import wipe
from safeselect.sources._guard import Guard
from safeselect.sources._protocol import NONCE_BYTES, Source
from safeselect.sources._sealed import sealed

__all__ = ["CombinedSource", "begin_both", "draw_both"]

_Part = Source | Guard


def xor_into(view: memoryview, other: bytes | bytearray) -> None:
    mixed = int.from_bytes(view, "little") ^ int.from_bytes(other, "little")
    view[:] = mixed.to_bytes(len(view), "little")


def draw_both(first: _Part, second: _Part, view: memoryview) -> None:
    """Fill the view with the XOR of both parts' bytes."""
    other = bytearray(len(view))
    try:
        first.fill(view)
        second.fill(other)
        xor_into(view, other)
    finally:
        wipe(other)


def begin_both(first: _Part, second: _Part, view: memoryview) -> None:
    """Start a call of both parts; the nonce is the XOR of theirs."""
    nonces = (first.begin(), second.begin())
    if any(type(nonce) is not bytes or len(nonce) != NONCE_BYTES for nonce in nonces):
        raise SourceError(f"a part of the combined source gave a nonce not of {NONCE_BYTES} bytes")
    view[:] = nonces[0]
    xor_into(view, nonces[1])


@final
@sealed
class CombinedSource:
    """The XOR of two sources: uniform if either is and they are independent of each other.

    It fails if either fails.  Both are started, tested and checked for being stuck on their own,
    and so is their XOR.  This is mixing, not a construction of SP 800-90C.

    Args:
        first: a source.
        second: another source; not the same object.

    Raises:
        ParameterError: one of them is no source, or both are the same object.
    """

    __slots__ = ("_guard", "_name", "_production")

    def __init__(self, first: Source, second: Source) -> None:
        first, second = as_source(first), as_source(second)
        if first is second:
            raise ParameterError("a combined source needs two different sources, got one twice")
        self._name = f"CombinedSource({first.name}, {second.name})"
        self._production = first.production and second.production
        self._guard = Guard(
            partial(draw_both, first, second),
            nonce=partial(begin_both, first, second),
            health=self._production,
        )

    @property
    def name(self) -> str:
        """The class's name with the names of both parts."""
        return self._name

    @property
    def production(self) -> bool:
        """True if both parts are meant for production."""
        return self._production

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)
