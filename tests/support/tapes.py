"""Tapes: random bytes that are known beforehand, so that each has a name: its place.

`Stream` is what the engine draws from, `TapeSource` what a public function is given.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safeselect import SourceError


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

    Args:
        known, seed: the bytes.
        lasts: how many bytes it gives before it fails, in whole requests; without end by default.

    Attributes:
        asked: how many bytes `fill` was asked for in all.
        begun: how often a call was begun.
    """

    name = "TapeSource"
    production = False  # so that its bytes are taken as they are

    def __init__(
        self, known: bytes | bytearray = b"", seed: int = 0, lasts: float = math.inf
    ) -> None:
        self._known, self._lasts = bytes(known), lasts
        self._random = random.Random(seed)
        self.asked = 0
        self.begun = 0
        self.events: list[tuple[str, int]] = []

    def begin(self) -> bytes:
        self.begun += 1
        self.events.append(("begin", 16))
        return self.begun.to_bytes(16, "big")

    def fill(self, buffer: Any, /) -> None:
        if self.asked >= self._lasts:
            raise SourceError("the device is gone")
        size = len(buffer)
        part = self._known[self.asked : self.asked + size]
        self.asked += size
        self.events.append(("fill", size))
        buffer[:] = part + self._random.randbytes(size - len(part))


class Known:
    """A rational number in the place of a noise, known by its digits."""

    def __init__(self, number: Fraction) -> None:
        self.number, self.level = number, 0

    @property
    def floor(self) -> int:
        return math.floor(self.number * 2**self.level)

    def refine(self, bits: object, levels: int) -> None:
        self.level += levels


def lanes(known: bytes | bytearray, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """A tape as words."""
    return np.frombuffer(bytes(known), dtype=kind)
