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


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("kind", ["fractions", "floats", "column"])
def test_scores_are_read_as_proved(unit: Fraction, kind: str) -> None:
    """All numbers of a line at once, as mechanisms read them; floats only where they are exact.

    4860 of each kind, on grids that are powers of two and others; floats in units of 2**-40 where
    they would not be exact otherwise.
    """
    if kind != "fractions" and unit.denominator & unit.denominator - 1:
        unit = Fraction(1, 2**40)
    for h, *steps in read("nearest")[1]:
        numbers: list[object] = [x * unit for x in NUMBERS]
        if kind != "fractions":
            numbers = [float(x * unit) for x in NUMBERS]
        scores = np.array(numbers, dtype=np.float64) if kind == "column" else numbers
        found = proved.differences(scores, int(h) * unit)
        assert found == [int(step) - int(steps[0]) for step in steps], h


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
                if stated["on the grid"]:  # a change of less than a step is refused
                    for kind, times in (("one way", 1), ("both ways", 2), ("declared", 1)):
                        found = proved.range_in_steps(h, None, d * unit, kind)
                        assert found == times * stated["on the grid"], (h, d, kind)
