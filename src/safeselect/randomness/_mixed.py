"""The XOR of two streams of bytes: uniform if either is, and they are independent."""

from __future__ import annotations

from typing import Protocol, final

from safeselect.randomness._buffers import wipe
from safeselect.randomness._guard import Guard

__all__ = ["Part", "mixed"]


class Part(Protocol):
    """What is mixed: a guard, or a source that is behind one."""

    def begin(self) -> bytes:
        """As `Source.begin`."""

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """As `Source.fill`."""


def mixed(first: Part, second: Part, *, health: bool) -> Guard:
    """A guard around the XOR of both parts, which fails if either fails.

    Args:
        health: whether the XOR is tested once more; the parts test themselves.
    """
    pair = _Pair(first, second)
    # Both parts turn their failures into SourceError: anything else comes from outside.
    return Guard(pair.draw, nonce=pair.nonce, health=health, vouched=True)


@final
class _Pair:
    __slots__ = ("first", "second")

    def __init__(self, first: Part, second: Part) -> None:
        self.first, self.second = first, second

    def draw(self, count: int) -> bytes:
        # Each part writes to memory that the other never sees.
        ours, theirs = bytearray(count), bytearray(count)
        try:
            self.first.fill(ours)
            self.second.fill(theirs)
            return _xor(ours, theirs)
        finally:
            wipe(ours)
            wipe(theirs)

    def nonce(self, _: int) -> bytes:
        return _xor(self.first.begin(), self.second.begin())


def _xor(first: bytes | bytearray, second: bytes | bytearray) -> bytes:
    both = int.from_bytes(first, "little") ^ int.from_bytes(second, "little")
    return both.to_bytes(len(first), "little")
