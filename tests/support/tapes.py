"""Tapes: random bytes that are known beforehand, so that each has a name: its place.

`Stream` is what the engine draws from, `TapeSource` what a public function is given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIGH_NOISE", "Stream", "TapeSource", "owners", "tape"]

HIGH_NOISE = 1 << 35
"""A word of 64 digits for V = 2**-29: noise of 20 nats, beyond all that other words have."""


def tape(size: int, seed: int) -> bytearray:
    """Bytes that a seed gives."""
    return bytearray(random.Random(seed).randbytes(size))


class Stream:
    """Bits for the engine, in order; beyond the end come others, which are counted.

    Attributes:
        requests: how many bytes were asked for each time; -n for n digits one by one.
        given: all bytes that `fill` handed out.
    """

    def __init__(self, known: bytes | bytearray = b"", seed: int = 0) -> None:
        self._known, self._at = bytes(known), 0
        self._random = random.Random(seed)
        self.requests: list[int] = []
        self.parts: list[bytes] = []

    @property
    def given(self) -> bytes:
        return b"".join(self.parts)

    def fill(self, buffer: memoryview) -> None:
        size = len(buffer)
        part = self._known[self._at : self._at + size]
        part += self._random.randbytes(size - len(part))
        self._at += size
        self.requests.append(size)
        self.parts.append(part)
        buffer[:] = part

    def take(self, count: int) -> int:
        self.requests.append(-count)
        return self._random.getrandbits(count)


class TapeSource:
    """A source with the four members of the protocol: known bytes, then those of a seed.

    Attributes:
        asked: how many bytes `fill` was asked for in all.
        begun: how often a call was begun.
    """

    name = "TapeSource"
    production = True

    def __init__(self, known: bytes | bytearray = b"", seed: int = 0) -> None:
        self._known = bytes(known)
        self._random = random.Random(seed)
        self.asked = 0
        self.begun = 0
        self.events: list[tuple[str, int]] = []

    def begin(self) -> bytes:
        self.begun += 1
        self.events.append(("begin", 16))
        return self.begun.to_bytes(16, "big")

    def fill(self, buffer: Any, /) -> None:
        size = len(buffer)
        part = self._known[self.asked : self.asked + size]
        self.asked += size
        self.events.append(("fill", size))
        buffer[:] = part + self._random.randbytes(size - len(part))


def owners(
    run: Callable[[bytearray], Sequence[Any]],
    known: bytearray,
    lane: int,
    places: Sequence[int],
    word: int,
) -> dict[int, dict[int, Any]]:
    """What changes if one word of a tape is replaced: by place of the word, output by output.

    Args:
        run: what a tape leads to, a sequence of outputs.
        lane: bytes of a word.
        places: of the words that are replaced, one at a time.
        word: what they are replaced by, in the machine's order of bytes.
    """
    base = list(run(known))
    found: dict[int, dict[int, Any]] = {}
    for place in places:
        other = bytearray(known)
        other[place * lane : (place + 1) * lane] = word.to_bytes(lane, "little")
        now = list(run(other))
        assert len(now) == len(base)
        found[place] = {i: b for i, (a, b) in enumerate(zip(base, now, strict=True)) if a != b}
    return found


def lanes(known: bytes | bytearray, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """A tape as words."""
    return np.frombuffer(bytes(known), dtype=kind)
