"""Large requests: each byte is the source's own, to the last, and is handed out once.

Sizes stand around every limit of the code that hands bytes on, taken from its constants.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

from engine import FILL_REQUEST, MAX_TAKE, Bits


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
@pytest.mark.parametrize("size", around(0, 64, FILL_REQUEST, 2 * FILL_REQUEST, 3 * FILL_REQUEST))
def test_a_large_request_gets_the_next_bytes_of_the_source(size):
    source = Counting()
    bits = Bits(source)
    for start in (0, size):
        buffer = bytearray(b"\xaa" * size)
        bits.fill(buffer)
        assert bytes(buffer) == named(start, size)
    assert source.at == 2 * size
    assert all(0 < asked <= FILL_REQUEST for asked in source.asked)


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
    assert Bits(source).take(MAX_TAKE) == int.from_bytes(named(0, MAX_TAKE // 8), "big")
