"""Large requests: each byte is the source's own, to the last, and is handed out once.

Sizes stand around every limit of the code that hands bytes on, taken from its constants.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tapes import TapeSource, lanes

import engine
from engine import Bits
from safeselect.randomness.source import Source
from safeselect.sources import CallbackSource, CombinedSource, OpenSSLSource, SystemSource
from safeselect.testing import DeterministicSource, RecordingSource

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning")

CONSTANTS = engine.constants()
REQUEST = CONSTANTS["bits.FILL_REQUEST"]
MOST = CONSTANTS["bits.MAX_TAKE"]
CHUNK = CONSTANTS["guard._CHUNK"]


def around(*sizes: int) -> list[int]:
    return sorted({max(0, size + step) for size in sizes for step in (-8, -1, 0, 1, 8)})


class Counting:
    """A source whose words are their own names: 8 bytes each, 0, 1, 2, ..."""

    name = "Counting"
    production = False  # so that its bytes are taken as they are

    def __init__(self) -> None:
        self.at = 0
        self.asked: list[int] = []

    def begin(self) -> bytes:
        return os.urandom(16)

    def fill(self, buffer: Any, /) -> None:
        size = len(buffer)
        first, skip = divmod(self.at, 8)
        named = np.arange(first, first + (skip + size) // 8 + 1, dtype=">u8").tobytes()
        buffer[:] = named[skip : skip + size]
        self.at += size
        self.asked.append(size)


def named(start: int, size: int) -> bytes:
    """The bytes start .. start + size of that source."""
    first = start // 8
    words = np.arange(first, (start + size) // 8 + 1, dtype=">u8").tobytes()
    return words[start - 8 * first :][:size]


@pytest.mark.claim("C1")
@pytest.mark.parametrize("size", around(0, 64, REQUEST, 2 * REQUEST, 3 * REQUEST))
def test_a_large_request_gets_the_next_bytes_of_the_source(size):
    source = Counting()
    bits = Bits(source)
    for start in (0, size):
        buffer = bytearray(b"\xaa" * size)
        bits.fill(buffer)
        assert bytes(buffer) == named(start, size)
    assert source.at == 2 * size
    assert all(0 < asked <= REQUEST for asked in source.asked)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("piece", [1, 7, 256, 4096])
def test_single_digits_and_whole_buffers_never_share_a_byte(piece):
    """Whatever is taken: digits are the next of the pieces drawn for them, in order, to the end."""
    given = random.Random(piece)
    sizes = [1, 5, 8, 63, 64, 65, 8 * piece - 1, 8 * piece, 8 * piece + 1, 24 * piece + 3, 4000]
    source, digits, stock, taken = Counting(), 0, 0, 0
    bits = Bits(source, piece=piece)
    for _ in range(400):
        before = source.at
        if given.random() < 0.3:
            size = given.choice([1, 8, 100, 5000])
            buffer = bytearray(size)
            bits.fill(buffer)
            assert bytes(buffer) == named(before, size)
            continue
        count = given.choice(sizes)
        value = bits.take(count)
        drawn = source.at - before
        stock = stock << 8 * drawn | int.from_bytes(named(before, drawn), "big")
        digits += 8 * drawn
        digits -= count
        assert 0 <= digits < 8 * piece
        assert value == stock >> digits
        stock &= (1 << digits) - 1
        taken += count
    assert taken > 100_000


def test_the_longest_integer_is_random_to_its_last_digit():
    source = Counting()
    assert Bits(source).take(MOST) == int.from_bytes(named(0, MOST // 8), "big")


SOURCES: dict[str, Callable[[], Source]] = {
    "OpenSSLSource": OpenSSLSource,
    "SystemSource": SystemSource,
    "CombinedSource": lambda: CombinedSource(OpenSSLSource(), SystemSource()),
    "CallbackSource": lambda: CallbackSource(os.urandom),
    "CallbackSource alone": lambda: CallbackSource(os.urandom, exclusive=True),
    "DeterministicSource": lambda: DeterministicSource(
        b"large", i_understand_this_is_not_private=True
    ),
    "RecordingSource": lambda: RecordingSource(SystemSource()),
}


def all_new(*buffers: bytearray) -> bool:
    """Whether no 8 bytes, counted from the beginning and from the end of each, are there twice.

    2**21 words of 64 digits do by chance with probability below 2**-22.
    """
    parts = []
    for buffer in buffers:
        whole = len(buffer) // 8 * 8
        parts.append(lanes(buffer[:whole], np.uint64))
        parts.append(lanes(buffer[-8:], np.uint64) if len(buffer) % 8 else parts[-1][:0])
    words = np.concatenate(parts)
    return len(np.unique(words)) == len(words) and not np.isin(words, [0]).any()


LARGE = ("OpenSSLSource", "SystemSource", "CombinedSource")


@pytest.mark.parametrize("name", SOURCES)
def test_every_byte_of_a_large_request_is_random(name):
    """Two fills of each size: no word comes back within one, nor in the other, nor is it zero."""
    source = SOURCES[name]()
    source.begin()
    for size in (REQUEST, CHUNK + 8):
        first, second = bytearray(size), bytearray(size)
        source.fill(first)
        source.fill(second)
        assert all_new(first, second)
    if name in LARGE:
        buffer = bytearray(5 * CHUNK + 8)
        source.fill(buffer)
        assert all_new(buffer)


@pytest.mark.parametrize("name", SOURCES)
def test_the_last_byte_of_a_request_is_random(name):
    """A single byte in the last chunk: that it is zero eight times has probability 2**-64."""
    source = SOURCES[name]()
    source.begin()
    for size in (1, 2, 65, REQUEST + 1, CHUNK - 1, CHUNK + 1, 2 * CHUNK + 1):
        if size > 65 and name == "DeterministicSource":
            continue  # which is slow, and has no chunks as large as that
        ends = bytearray(2)
        for _ in range(8):
            buffer = bytearray(size)
            source.fill(buffer)
            ends = bytearray(a | b for a, b in zip(ends, buffer[-2:].rjust(2, b"1"), strict=True))
        assert all(ends)


@pytest.mark.parametrize("size", [1, 8, 31, 32, 33, 1000, 100_001])
def test_both_parts_of_a_combination_reach_every_byte(size):
    """The XOR of two tapes, byte by byte: neither is left out anywhere."""
    tapes = random.Random(1).randbytes(size), random.Random(2).randbytes(size)
    for first, second in (tapes, (bytes(size), tapes[1]), (tapes[0], bytes(size))):
        source = CombinedSource(Replayed(first), Replayed(second))
        source.begin()
        buffer = bytearray(size)
        source.fill(buffer)
        assert bytes(buffer) == bytes(a ^ b for a, b in zip(first, second, strict=True))


class Replayed:
    """A source for tests that answers one fill."""

    name = "Replayed"
    production = False

    def __init__(self, answer: bytes) -> None:
        self._source = TapeSource(answer, seed=answer[0])

    def begin(self) -> bytes:
        return os.urandom(16)

    def fill(self, buffer: Any, /) -> None:
        self._source.fill(buffer)
