"""Scores are read, and their changes counted, as the proved programs do (proofs/Reading.v)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import proved
import pytest
from proved_tables import MOVES, NUMBERS, read

pytestmark = pytest.mark.claim("C2")

UNITS = [Fraction(1), Fraction(1, 8), Fraction(2**20), Fraction(1, 3), Fraction(3, 1000)]
KINDS = ["both ways", "one way", "declared", "on the grid"]


def mismatches(nearest: Callable[[Fraction, Fraction], int]) -> int:
    """How many numbers are read as another step, in all units."""
    return sum(
        nearest(x * unit, int(h) * unit) != int(step)
        for unit in UNITS
        for h, *steps in read("nearest")[1]
        for x, step in zip(NUMBERS, steps, strict=True)
    )


def shipped(number: Fraction, step: Fraction) -> int:
    return proved.Reading.read(grid=step, on_grid=False, score_error=0).nearest(number)


def test_a_number_is_read_as_proved() -> None:
    """4860 comparisons."""
    assert mismatches(shipped) == 0


def column(numbers: list[Fraction], kind: str) -> object:
    """The numbers as a list of fractions or floats, or as a column of floats or integers."""
    if kind == "integers":
        return np.array(list(map(int, numbers)))
    floats = list(map(float, numbers))
    return numbers if kind == "fractions" else floats if kind == "floats" else np.array(floats)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("kind", ["fractions", "floats", "column", "integers"])
@pytest.mark.parametrize("minimize", [False, True])
def test_scores_are_read_as_proved(unit: Fraction, kind: str, minimize: bool) -> None:
    """All numbers of a line at once, as mechanisms read them, whichever end is the best.

    4860 of each kind, on grids that are powers of two and others; floats in units of 2**-40 where
    they would not be exact otherwise; integers where they are some.
    """
    if kind in ("floats", "column") and unit.denominator & unit.denominator - 1:
        unit = Fraction(1, 2**40)
    for h, *told in read("nearest")[1]:
        kept = [
            (x * unit, int(step))
            for x, step in zip(NUMBERS, told, strict=True)
            if kind != "integers" or (x * unit).denominator == 1
        ]
        numbers, expected = [each for each, _ in kept], [step for _, step in kept]
        sign = 1 if minimize else -1
        found = proved.steps(column(numbers, kind), int(h) * unit, minimize=minimize)
        apart = [sign * (step - expected[0]) for step in expected]
        assert [found[0] - each for each in found] == apart, h


@pytest.mark.parametrize("kind", ["fractions", "floats", "column", "integers"])
@pytest.mark.parametrize("step", [Fraction(1, 2**10), Fraction(1, 1000)], ids=str)
@pytest.mark.parametrize("minimize", [False, True])
def test_shortfalls_are_cut_as_proved(kind: str, step: Fraction, minimize: bool) -> None:
    """At 2**64 - 1 steps (`lifted` of EndToEnd.v)."""
    behind = [0, 1, 2**53, 2**54, 2**56, 2**62]
    numbers = [Fraction(each if minimize else -each) for each in behind]
    found = proved.steps(column(numbers, kind), step, minimize=minimize)
    assert found == [2**64 - 1 - min(each / step, 2**64 - 1) for each in behind]


def test_ranges_are_those_proved() -> None:
    """All four ways, in all units: 19 680 comparisons; on the grid an error means nothing."""
    for unit in UNITS:
        for key, *answers in read("ranges")[1]:
            h, e = (int(each) * unit for each in key.split(","))
            for d, answer in zip(MOVES, answers, strict=True):
                stated = dict(zip(KINDS, map(int, answer.split(",")), strict=True))
                for kind in KINDS[:3]:
                    found = proved.range_in_steps(h, e, d * unit, kind)
                    assert found == stated[kind], (h, e, d, kind)
                # A part of a step is none there, but it may be the digits that a float lacks.
                most = stated["on the grid"] + bool(d * unit % h)
                for kind, times in (("one way", 1), ("both ways", 2), ("declared", 1)):
                    found = proved.range_in_steps(h, None, d * unit, kind)
                    assert found == times * most, (h, d, kind)
