"""Geometric and discrete Laplace arrays: complete tables, scripted refinement, exact small laws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lattice_oracle import Tape, exp_bounds

from safeselect.engine import geometric as arrays_of
from safeselect.engine.geometric import FINE, MARK, DigitTable, digit_tables, draw_digits
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

DECAYS = [
    NoiseRate(Fraction(1)),
    NoiseRate(Fraction(1, 4)),
    NoiseRate(Fraction(1, 10)),
    NoiseRate(Fraction(1, 1000)),
    NoiseRate(Fraction(7, 10**6)),
    NoiseRate(Fraction(1, 2**40)),
    NoiseRate(Fraction(2**20)),
]
each_decay = pytest.mark.parametrize("noise_rate", DECAYS, ids=str)


def power(noise_rate: NoiseRate, m: int) -> tuple[Fraction, Fraction]:
    """Enclose rho**m: by Taylor series."""
    exponent = noise_rate.rate * m
    if exponent > 190:
        return Fraction(0), exp_bounds(Fraction(-190))[1]
    return exp_bounds(-exponent)


def thresholds(noise_rate: NoiseRate) -> list[list[tuple[Fraction, Fraction]]]:
    """Independent enclosures of every threshold of every table, the first digit first."""
    result, tables = [], digit_tables(noise_rate)
    for place, table in enumerate(tables):
        m = 256 ** (len(tables) - 1 - place)
        powers = [power(noise_rate, d * m) for d in range(1, len(table.high) + 1)]
        if place:
            least, most = power(noise_rate, 256 * m)
            powers = [((a - most) / (1 - most), (b - least) / (1 - least)) for a, b in powers]
        result.append(powers)
    return result


@each_decay
def test_every_word_of_every_table(noise_rate: NoiseRate) -> None:
    for table, exact in zip(digit_tables(noise_rate), thresholds(noise_rate), strict=True):
        expected, crossed = np.zeros(1 << 16, dtype=np.int64), set()
        for low, high in exact:
            word = int(low * 2**16)
            assert low == high or word == int(high * 2**16)  # the oracle is fine enough
            expected[:word] += 1
            if low * 2**16 != word or low != high:
                crossed.add(word)
        marked = set(np.flatnonzero(table.values == MARK).tolist())
        assert marked == crossed
        unmarked = table.values != MARK
        assert np.array_equal(table.values[unmarked], expected[unmarked])
        assert table.marked == len(marked)


@each_decay
def test_every_threshold_is_enclosed(noise_rate: NoiseRate) -> None:
    for table, exact in zip(digit_tables(noise_rate), thresholds(noise_rate), strict=True):
        highs, lows = table.high.tolist()[::-1], table.low.tolist()[::-1]
        for d, (bounds, high, low) in enumerate(zip(exact, highs, lows, strict=True), 1):
            end = high << 64 | low
            assert Fraction(end, 1 << FINE) <= bounds[1]
            assert bounds[0] <= Fraction(end + 60, 1 << FINE)
            assert low + 64 <= 1 << 64
            chance = table.chance(d, 200).fractions()
            assert chance[0] <= bounds[1]
            assert bounds[0] <= chance[1]
            assert chance[1] - chance[0] < Fraction(1, 2**180)
        assert len(set(highs)) == len(highs)


class Rows(Tape):
    """Gives scripted words, then scripted pairs of 64-bit numbers, then scripted takes."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(0)
        self._parts = list(parts)

    def fill(self, buffer: memoryview) -> None:
        array = np.frombuffer(buffer, dtype=np.uint8)
        part = np.ascontiguousarray(self._parts.pop(0)).view(np.uint8).ravel()
        array[: part.size] = part
        array[part.size :] = 255

    def take(self, count: int) -> int:
        return int(self._parts.pop(0))


def digit_of(table: DigitTable, v: int, *takes: int) -> int:
    """The digit of the 128-digit number v, all the way through `draw_digits`."""
    out = np.empty(2, dtype=np.uint16)
    word, rest = v >> 112, v & ((1 << 112) - 1)

    class Script(Rows):
        requests_seen = 0

        def fill(self, buffer: memoryview) -> None:
            self.requests_seen += 1
            if self.requests_seen == 1:
                buffer[:] = np.array([word], dtype=np.uint16).tobytes()
                return
            rows = np.frombuffer(buffer, dtype=np.uint64).reshape(2, -1)
            rows[:] = 1 << 63
            if self.requests_seen == 2:
                rows[:, 0] = [(rest >> 64) << 16, rest & ((1 << 64) - 1)]

    draw_digits(out, table, Script(*takes))
    return int(out[0])


@each_decay
def test_the_digit_next_to_every_threshold(noise_rate: NoiseRate) -> None:
    for table in digit_tables(noise_rate):
        for d in {1, 2, len(table.high) // 2, len(table.high) - 1} & set(range(1, len(table.high))):
            end = int(table.high[-d]) << 64 | int(table.low[-d])
            assert (digit_of(table, end - 1), digit_of(table, end + 64)) == (d, d - 1)
            # Within the margin further digits are asked for, unless the word was decided.
            low, high = table.chance(d, 400).scaled(192)
            if table.values[end >> 112] == MARK and low >> 64 == high >> 64:
                v, beyond = low >> 64, low & ((1 << 64) - 1)
                if 0 < beyond < (1 << 64) - 1:
                    assert digit_of(table, v, beyond - 1) == d
                    assert digit_of(table, v, beyond + 1) == d - 1


def test_what_goes_beyond_the_table_is_continued() -> None:
    (table,) = digit_tables(NoiseRate(Fraction(1)))
    count, fine = len(table.high), np.zeros((2, 3), dtype=np.uint64)
    fine[0] = [0, 1 << 63, 0]
    found = arrays_of._refined(fine, table, Rows())
    assert found.tolist() == [count, 0, count]
    # Round 1 continues both: by the whole table once more, and by 1 (V = 1/4 < 1/e).
    first = np.full((2, 40), 1 << 63, dtype=np.uint64)
    first[0, :2] = [0, 1 << 62]
    arrays_of._continue(found, table, Rows(first, np.full((2, 40), 1 << 62, dtype=np.uint64)))
    assert found.tolist() == [2 * count + 1, 0, count + 1]
