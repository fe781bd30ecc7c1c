"""How far scores move in steps: the formulas against all cases there are, and computed floats.

Numbers are enumerated in whole units of a lattice that is fine enough for every extreme; they are
read by the reader that mechanisms use.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import ceil, lcm

import numpy as np
import pytest

from safeselect import ParameterError, ScoreError, SparseVector, permute_and_flip
from safeselect.scores.candidates import hand_over, read_values
from safeselect.scores.reading import INTEGERS, Reading, Sensitivity

pytestmark = pytest.mark.claim("C2")

SIZES = [Fraction(1), Fraction(1, 2), Fraction(3, 4), Fraction(2), Fraction(5, 3)]
ERRORS = [Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1, 3), None]
GRIDS = [Fraction(1), Fraction(1, 2), Fraction(2), Fraction(2, 3), Fraction(3, 8)]
CASES = list(itertools.product(SIZES, ERRORS, GRIDS))


def reading_of(grid, error=None, on_grid=False) -> Reading:
    return Reading.read(grid=grid, on_grid=on_grid, score_error=error)


class Lattice:
    """All numbers that are multiples of 1 / fine, over one period of the grid and a reach."""

    def __init__(self, reading: Reading, size: Fraction, reach: Fraction) -> None:
        half = reading.step / 2
        self.fine = 2 * lcm(half.denominator, size.denominator, reading.error.denominator)
        self.reach = int(reach * self.fine)
        self.period = int(reading.step * self.fine)
        units = range(-self.reach, self.period + self.reach + 1)
        column = hand_over([Fraction(each, self.fine) for each in units])
        self.read = np.array(read_values(column, reading))

    def moves(self, change: int) -> np.ndarray:
        """Steps by which a number moves that changes by so many units, for each of its phases."""
        here = self.read[self.reach : self.reach + self.period]
        return self.read[self.reach + change : self.reach + self.period + change] - here


@pytest.mark.parametrize(("size", "error", "grid"), CASES)
def test_a_score_moves_as_far_as_is_said_and_no_further(size, error, grid):
    """What is handed over is x + p and x + d + p', |p|, |p'| <= e: any change in d +- 2e."""
    reading = reading_of(grid, error)
    spread = 2 * reading.error
    lattice = Lattice(reading, size, size + spread)
    units = int(spread * lattice.fine), int(size * lattice.fine)
    one_way = [lattice.moves(change) for change in range(-units[0], sum(units) + 1)]
    up, down = reading.moves(size, monotonic=True)
    assert up == max(each.max() for each in one_way) == ceil((size + spread) / grid)
    assert -down == min(each.min() for each in one_way) == -ceil(spread / grid)
    both = [lattice.moves(change) for change in range(-sum(units), sum(units) + 1)]
    up, down = reading.moves(size, monotonic=False)
    assert (up, -down) == (max(each.max() for each in both), min(each.min() for each in both))
    for monotonic in (False, True):
        change = Sensitivity.read(sensitivity=size, range_=None, monotonic=monotonic)
        assert change.range_in_steps(reading) == sum(reading.moves(size, monotonic=monotonic))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"on_grid": True}, "on_grid=True requires grid="),
        ({"score_error": "0.1"}, "score_error requires grid="),
        ({"grid": 1, "on_grid": True, "score_error": 0}, "not both"),
        ({"grid": 1, "score_error": -1}, "score_error must"),
        ({"grid": 1, "on_grid": 1}, "on_grid must be True or False"),
        ({"grid": 0}, "grid must"),
    ],
)
def test_arguments_that_do_not_fit(options, match):
    given = {"epsilon": 1, "sensitivity": 1, **options}
    for scores in ([1, 2], [None], [0.5]):
        with pytest.raises(ParameterError, match=match):
            permute_and_flip(scores, **given)
    with pytest.raises(ParameterError, match=match):
        SparseVector(threshold=1, k=1, **given)


@pytest.mark.parametrize("name", ["sensitivity", "range_"])
def test_a_float_that_is_a_little_too_small_loses_no_step_of_the_grid(name):
    """k/n as a float stands for a decimal, which may be less than k times the decimal of 1/n."""
    for k, n in itertools.product(range(1, 9), range(1, 200)):
        for size, grid in itertools.product((k / n, Fraction(k, n)), (1 / n, Fraction(1, n))):
            declared = {"sensitivity": None, "range_": None, name: size}
            change = Sensitivity.read(**declared, monotonic=name == "sensitivity")
            assert k <= change.range_in_steps(reading_of(grid, on_grid=True)) <= k + 1


def test_the_default_error_is_half_a_step_and_zero_may_be_said():
    assert (reading_of("0.1").error, reading_of("0.1", 0).error) == (Fraction(1, 20), 0)
    assert reading_of("0.1", 0).moves(Fraction(1), monotonic=True) == (10, 0)
    assert reading_of("0.1", 0).moves(Fraction(1), monotonic=False) == (10, 10)
    assert reading_of("0.1").moves(Fraction(1), monotonic=True) == (11, 1)
    assert reading_of(1).moves(Fraction(1), monotonic=False) == (2, 2)
    assert reading_of("0.001").moves(Fraction(1), monotonic=False) == (1001, 1001)


@pytest.mark.parametrize(
    ("given", "proposed"),
    [
        ({"sensitivity": "1/569"}, "1/569000"),
        ({"sensitivity": 1}, "1/1000"),
        ({"sensitivity": "0.3", "monotonic": True}, "3/10000"),
        ({"range_": 2}, "1/500"),
    ],
)
def test_a_message_proposes_a_thousandth_of_what_the_caller_declared(given, proposed):
    """So a message says.  A grid of 0.01 would make a sensitivity of 1/569 six times as large."""
    with pytest.raises(ScoreError, match=f"use grid='{proposed}', a thousandth of the"):
        permute_and_flip([0.9, 0.8], epsilon=1, **given)
    if "sensitivity" in given:
        session = SparseVector(threshold=1, k=1, epsilon=1, **given)
        with pytest.raises(ScoreError, match=f"use grid='{proposed}', a thousandth of the"):
            session.query(0.5)
    change = Sensitivity.read(**{"sensitivity": None, "range_": None, "monotonic": False, **given})
    reading = reading_of(proposed)
    effective = change.range_in_steps(reading) * reading.step
    plain = change.range_in_steps(INTEGERS)
    assert plain < effective <= plain * Fraction(1005, 1000)
