"""The functions that release gaps: parameters, edges, results."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import safeselect
from safeselect import ParameterError, permute_and_flip_with_gap, top_k_with_gaps
from safeselect.results import Selection

pytestmark = pytest.mark.claim("C2")

ONE = {
    "permute_and_flip": permute_and_flip_with_gap,
    "exponential_mechanism": safeselect.exponential_mechanism_with_gap,
    "noisy max exponential": partial(safeselect.report_noisy_max_with_gap, noise="exponential"),
    "noisy max laplace": partial(safeselect.report_noisy_max_with_gap, noise="laplace"),
    "noisy max gumbel": partial(safeselect.report_noisy_max_with_gap, noise="gumbel"),
}
SEVERAL = {
    "top_k exponential": top_k_with_gaps,
    "top_k laplace": partial(top_k_with_gaps, noise="laplace"),
}
ALL = {**ONE, **{name: partial(call, k=1) for name, call in SEVERAL.items()}}
QUIET = {"epsilon": 2**19, "sensitivity": 1}  # noise of 2**-18 steps
each = pytest.mark.parametrize("name", ALL)


def gap_of(result):
    return result.gap if isinstance(result, Selection) else result.gaps[0]


# ------------------------------------------------------------------------------- parameters


@each
def test_a_grid_beyond_the_digits_of_the_noise_is_refused(name):
    """A step of the common grid is worth 2**-40 of the scale or more, whatever the engine."""
    options = {"epsilon": 1, "range_": 1}
    for bad in (Fraction(1, 2**40 + 1), Fraction(2**41, 2**40 + 1), "1e-13"):
        with pytest.raises(ParameterError, match="gap_grid is too fine for this noise"):
            ALL[name]([987_654, 1], gap_grid=bad, **options)
    good = ALL[name]([5, 1], gap_grid=Fraction(3, 2**40), **options)
    assert (gap_of(good) / Fraction(3, 2**40)).denominator == 1
    fine = {**options, "grid": Fraction(1, 2**20), "score_error": 0}
    for step in (None, Fraction(1, 2**20), Fraction(1, 2**38)):
        assert gap_of(ALL[name]([5, 1], gap_grid=step, **fine)) >= 0
    with pytest.raises(ParameterError, match="gap_grid is too fine for this noise"):
        ALL[name]([987_654, 1], gap_grid=Fraction(1, 2**41), **fine)


# ----------------------------------------------------------------------------- what comes out


def near(gap, difference, step) -> bool:
    """The floor of a gap that is the difference but for very little noise."""
    return (gap / step).denominator == 1 and difference - step <= gap <= difference


@each
@pytest.mark.parametrize("step", [1, Fraction(1, 3), 7])
def test_the_gap_is_the_difference_where_the_noise_is_nothing(name, step):
    call = partial(ALL[name], gap_grid=step, **QUIET)
    low, high = -(2**63), 2**63 - 1
    for scores, winner, difference in (
        ([0, 5000, 12], 1, 4988),
        ([low, high], 1, high - low),
        (np.array([low, high, low + 1]), 1, high - low - 1),
        (np.array([0, 2**64 - 1], dtype=np.uint64), 1, 2**64 - 1),
        ([10**30, 10**30 - 40], 0, 40),
    ):
        result = call(scores)
        index = result.index if isinstance(result, Selection) else result.indices[0]
        assert index == winner
        assert near(gap_of(result), difference, step) or near(gap_of(result), difference + 1, step)
    least = call([0, -5000, 12], minimize=True)
    assert near(gap_of(least), 5000, step) or near(gap_of(least), 5001, step)
