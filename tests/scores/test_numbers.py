"""Columns of integers on any grid, and numbers that are long: read as long division reads them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from safeselect import ScoreError
from safeselect.scores import numbers
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading

pytestmark = pytest.mark.claim("C3")

FAR = 2**64 - 1
LIMIT = 2**32
GRIDS = [Fraction(p, q) for p in (1, 2, 3, 1000, LIMIT - 1) for q in (1, 7, 1024, LIMIT - 1)]
KINDS = [np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8", ">u4")]


def shortfalls(values: list[Any], grid: Fraction, minimize: bool, extra: list[int]) -> list[int]:
    """How far each is behind the first, cut; by long division."""
    steps = [(Fraction(value) / grid + Fraction(1, 2)).__floor__() for value in values] + extra
    first = min(steps) if minimize else max(steps)
    return [min(abs(first - step), FAR) for step in steps]


def columns(seed: int, count: int) -> Iterator[tuple[np.ndarray, Fraction]]:
    random = Random(seed)
    for _ in range(count):
        kind = random.choice(KINDS)
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        near = [place for place in range(-3, 4) if low <= place <= high]
        pool = [low, low + 1, high - 1, high, *near, random.randint(low, high)]
        size, wide = random.randint(1, 6), random.randint(1, 32)
        grid = Fraction(random.randint(1, 2**wide - 1), random.randint(1, LIMIT - 1))
        values = np.array([random.choice(pool) for _ in range(size)], dtype=kind)
        yield values, random.choice([grid, random.choice(GRIDS)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("minimize", [False, True])
def test_any_column_on_any_grid_is_read_as_long_division_reads_it(seed, minimize, monkeypatch):
    monkeypatch.setattr(numbers, "nearest_steps", None)  # not one by one
    random = Random(seed)
    for values, grid in columns(seed, 2000):
        reading = Reading(grid, False, Fraction(0))
        near = reading.nearest(Fraction(int(values[0])))
        away = random.choice([0, 1, FAR - 1, FAR, FAR + 1, 10**40])
        place = random.choice([None, near, near + away, near - away])
        read = read_candidates(values).scores_on_grid(
            reading, minimize=minimize, threshold=None if place is None else place * grid
        )
        expected = shortfalls(values.tolist(), grid, minimize, [] if place is None else [place])
        assert [int(read.max()) - step for step in read.tolist()] == expected


@pytest.mark.parametrize("grid", [Fraction(LIMIT, 3), Fraction(3, LIMIT), Fraction(1, 2**64)])
def test_grids_beyond_the_limits_are_read_one_by_one(grid, monkeypatch):
    asked, one_by_one = [], numbers.nearest_steps

    def spy(*arguments):
        asked.append(arguments)
        return one_by_one(*arguments)

    monkeypatch.setattr(numbers, "nearest_steps", spy)
    values = np.array([2**62, -(2**62), 5, -7])
    read = read_candidates(values).scores_on_grid(Reading(grid, False, Fraction(0)))
    expected = shortfalls(values.tolist(), grid, False, [])
    assert ([int(read.max()) - step for step in read.tolist()], len(asked)) == (expected, 1)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("digits", [4095, 4096, 4097, 5000, 20_000])
@pytest.mark.parametrize("whole", ["0", "1", "12345"])
def test_long_decimals_are_read_to_the_last_digit(sign, digits, whole):
    """Just below a half, at it and just above: only the last of all digits tells."""
    reading, tail = Reading(Fraction(1), False, Fraction(0)), "0" * (digits - 1)
    texts = [f"{sign}{whole}.5{tail}1", f"{sign}{whole}.5{tail}", f"{sign}{whole}.4{'9' * digits}"]
    values = [Decimal(text) for text in texts]
    expected = [(Fraction(value) + Fraction(1, 2)).__floor__() for value in values]
    assert numbers.nearest_steps(values, reading) == expected
    with pytest.raises(ScoreError, match="scores must be integers"):
        read_candidates(values[:1]).scores_on_grid(Reading(None, False, Fraction(0)))
    integer = [Decimal(f"{sign}{whole}.{'0' * digits}")]
    assert numbers.nearest_steps(integer, Reading(None, False, Fraction(0))) == [int(integer[0])]
