"""The functions that release gaps: parameters, edges, results."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from safeselect import (
    ParameterError,
    exponential_mechanism_with_gap,
    permute_and_flip_with_gap,
    report_noisy_max_with_gap,
    top_k_with_gaps,
)
from safeselect.engine import Ranking
from safeselect.mechanisms import select, table
from safeselect.results import Selection

pytestmark = pytest.mark.claim("C2")

ONE = {
    "permute_and_flip": permute_and_flip_with_gap,
    "exponential_mechanism": exponential_mechanism_with_gap,
    "noisy max exponential": partial(report_noisy_max_with_gap, noise="exponential"),
    "noisy max laplace": partial(report_noisy_max_with_gap, noise="laplace"),
    "noisy max gumbel": partial(report_noisy_max_with_gap, noise="gumbel"),
}
SEVERAL = {
    "top_k exponential": top_k_with_gaps,
    "top_k laplace": partial(top_k_with_gaps, noise="laplace"),
}
ALL = {**ONE, **{name: partial(call, k=1) for name, call in SEVERAL.items()}}
QUIET = {"epsilon": 2**19, "sensitivity": 1}  # noise of 2**-18 steps
each = pytest.mark.parametrize("name", ALL)


class Untouched:
    """A source that must not be asked."""

    name, production = "Untouched", True

    def begin(self):
        raise AssertionError("asked")

    def fill(self, buffer):
        raise AssertionError("asked")


def gap_of(result):
    return result.gap if isinstance(result, Selection) else result.gaps[0]


def refused(call, *arguments, **options) -> str:
    with pytest.raises(
        ParameterError, match=r"gap_grid |a gap requires|(k|noise|split|rho) must be"
    ) as caught:
        call(*arguments, source=Untouched(), **{"sensitivity": 1, **options})
    return str(caught.value)


# ------------------------------------------------------------------------------- parameters


@each
@pytest.mark.parametrize("bad", [0, -1, True, "x", "0,5", float("nan"), [1], 1 << 5000, "1/0"])
def test_the_grid_of_the_gap_is_a_positive_rational(name, bad):
    assert refused(ALL[name], [987_654, 1], epsilon=1, gap_grid=bad).startswith("gap_grid must ")


@each
def test_one_candidate_has_no_gap(name):
    message = refused(ALL[name], [987_654], epsilon=1)
    assert message == "a gap requires at least two candidates"


@pytest.mark.parametrize("bad", [0, 3, 4, -1, 2**64])
def test_k_leaves_one_candidate_for_the_last_gap(bad):
    message = refused(top_k_with_gaps, [987_654, 1, 2], k=bad, epsilon=1)
    assert message.startswith("k must be between 1 and 2, got ")


@pytest.mark.parametrize("bad", ["gumbel", "Laplace", "", None, 1, ["laplace"]])
def test_noise_of_top_k(bad):
    message = refused(top_k_with_gaps, [987_654, 1, 2], k=1, epsilon=1, noise=bad)
    assert message.startswith("noise must be 'exponential' or 'laplace', got ")
    assert "exponential_mechanism_with_gap" in message


@each
def test_a_grid_beyond_the_digits_of_the_noise_is_refused(name):
    """A step of the common grid is worth 2**-40 of the scale or more, whatever the engine."""
    options = {"epsilon": 1, "range_": 1, "sensitivity": None}
    for bad in (Fraction(1, 2**40 + 1), Fraction(2**41, 2**40 + 1), "1e-13"):
        assert refused(ALL[name], [987_654, 1], gap_grid=bad, **options).startswith(
            "gap_grid is too fine for this noise"
        )
    good = ALL[name]([5, 1], gap_grid=Fraction(3, 2**40), **options)
    assert (gap_of(good) / Fraction(3, 2**40)).denominator == 1
    fine = {**options, "grid": Fraction(1, 2**20), "score_error": 0}
    for step in (None, Fraction(1, 2**20), Fraction(1, 2**38)):
        assert gap_of(ALL[name]([5, 1], gap_grid=step, **fine)) >= 0
    assert refused(ALL[name], [987_654, 1], gap_grid=Fraction(1, 2**41), **fine).startswith(
        "gap_grid is too fine for this noise"
    )


# ----------------------------------------------------------- from the parameters to the noise


def asked(monkeypatch, call, scores, **options):
    """The noise, its rate and the unit that a call asks of its engine."""
    seen = []

    class Engine:
        def noisy_top_k(self, noise, steps, k, noise_rate, bits, *, gaps, gap_unit):
            assert gaps
            seen.append((noise, k, noise_rate.rate, gap_unit))
            return Ranking(tuple(range(k)), (7,) * k)

    for module in (select, table):
        monkeypatch.setattr(module, "engine", Engine())
    return seen, call(scores, **options)


@pytest.mark.parametrize(
    ("grid", "gap_grid", "unit", "gap"),
    [
        (None, None, 1, 7),
        ("1/4", None, 1, Fraction(7, 4)),
        ("1/4", "1/2", 2, Fraction(7, 2)),
        ("0.1", "0.25", Fraction(5, 2), Fraction(7, 4)),
        (None, "2/3", Fraction(2, 3), Fraction(14, 3)),
        (10, 1, Fraction(1, 10), 7),
        (None, 0.1, Fraction(1, 10), Fraction(7, 10)),
    ],
)
@each
def test_units(monkeypatch, name, grid, gap_grid, unit, gap):
    seen, result = asked(
        monkeypatch, ALL[name], [1, 2], epsilon=1, range_=1, grid=grid, gap_grid=gap_grid
    )
    assert seen[0][3] == unit
    assert gap_of(result) == gap
    assert type(gap_of(result)) is Fraction


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
