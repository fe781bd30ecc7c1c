"""Geometric and discrete Laplace arrays: complete tables, scripted refinement, exact small laws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from lattice_oracle import Tape, exp_bounds

from safeselect.engine import geometric as arrays_of
from safeselect.engine.geometric import (
    FINE,
    MARK,
    DigitTable,
    _sign_table,
    _unbounded,
    build,
    digit_tables,
    draw_digits,
)
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
    result = []
    tables = digit_tables(noise_rate)
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
        expected = np.zeros(1 << 16, dtype=np.int64)
        crossed = set()
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
            assert digit_of(table, end - 1) == d
            assert digit_of(table, end + 64) == d - 1
            # Within the margin further digits are asked for, unless the word was decided.
            low, high = table.chance(d, 400).scaled(192)
            if table.values[end >> 112] == MARK and low >> 64 == high >> 64:
                v, beyond = low >> 64, low & ((1 << 64) - 1)
                if 0 < beyond < (1 << 64) - 1:
                    assert digit_of(table, v, beyond - 1) == d
                    assert digit_of(table, v, beyond + 1) == d - 1


def test_a_tie_with_a_threshold_is_settled_by_more_digits() -> None:
    noise_rate = NoiseRate(Fraction(1))
    (table,) = digit_tables(noise_rate)
    low, _ = table.chance(3, 600).scaled(256)
    v, second, third = low >> 128, (low >> 64) % 2**64, low % 2**64
    assert digit_of(table, v, second, third - 1) == 3
    assert digit_of(table, v, second, third + 1) == 2


def test_what_goes_beyond_the_table_is_continued() -> None:
    (table,) = digit_tables(NoiseRate(Fraction(1)))
    count = len(table.high)
    fine = np.zeros((2, 3), dtype=np.uint64)
    fine[0] = [0, 1 << 63, 0]
    found = arrays_of._refined(fine, table, Rows())
    assert found.tolist() == [count, 0, count]
    # Round 1 continues both: by the whole table once more, and by 1 (V = 1/4 < 1/e).
    first = np.full((2, 40), 1 << 63, dtype=np.uint64)
    first[0, :2] = [0, 1 << 62]
    second = np.full((2, 40), 1 << 62, dtype=np.uint64)
    arrays_of._continue(found, table, Rows(first, second))
    assert found.tolist() == [2 * count + 1, 0, count + 1]


def test_more_marked_words_than_expected_are_all_refined() -> None:
    class Zeros(Tape):
        def fill(self, buffer: memoryview) -> None:
            super().fill(buffer)
            if len(buffer) == 2000:
                buffer[:] = bytes(2000)

    (table,) = digit_tables(NoiseRate(Fraction(1)))
    tape = Zeros(4)
    out = np.empty(1001, dtype=np.uint16)
    draw_digits(out, table, tape)
    assert out[:1000].min() >= 11
    assert out[:1000].max() < MARK
    assert len(tape.requests) > 3


@pytest.mark.parametrize("width", [4, 5, 6])
@pytest.mark.parametrize("noise_rate", DECAYS[:3] + DECAYS[7:9], ids=str)
def test_exhaustively_at_small_widths(noise_rate: NoiseRate, width: int) -> None:
    """Unmarked words give every digit at most its probability, marked ones supply the rest."""
    enclosures = _unbounded(noise_rate, 1)
    table = build(enclosures, digit_tables(noise_rate)[0].chance, unbounded=True, width=width)
    found = Counter(table.values.tolist())
    marked = Fraction(found.pop(MARK), 1 << width)
    for d in range(30):
        exact = power(noise_rate, d)[1] - power(noise_rate, d + 1)[0]
        share = Fraction(found[d], 1 << width)
        assert share <= exact
        assert exact <= share + marked


def test_a_threshold_just_above_a_multiple_of_two_to_minus_64() -> None:
    """rho / (1 + rho) is 1/4 and 2**-400; V begins like 1/4 and lies below."""
    table = _sign_table(NoiseRate(Fraction(1), Fraction(1, 3) + Fraction(1, 2**400)))

    class Script:
        fills = 0

        def fill(self, buffer: memoryview) -> None:
            self.fills += 1
            buffer[:] = bytes(len(buffer))
            if self.fills == 1:
                buffer[:] = np.array([1 << 14], dtype=np.uint16).tobytes()

        def take(self, count: int) -> int:
            return 0

    out = np.empty(2, dtype=np.uint16)
    draw_digits(out, table, Script())
    assert out[0] == 1
