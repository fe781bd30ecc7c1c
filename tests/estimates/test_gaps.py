"""Estimates from gaps are the best linear unbiased ones: by what makes them so."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.estimates import (
    error_from_gaps,
    error_ratio,
    estimate_fixed_from_gaps,
    estimate_from_threshold,
    intervals_from_gaps,
    threshold_error_ratio,
    variance_ratio,
)

FAST = settings(derandomize=True, deadline=None, max_examples=60)
NUMBERS = st.fractions(min_value=-50, max_value=50, max_denominator=12)
RATIOS = st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=20)


@st.composite
def releases(draw) -> tuple[list[Fraction], list[Fraction], Fraction]:
    k = draw(st.integers(1, 7))
    measured = draw(st.lists(NUMBERS, min_size=k, max_size=k))
    return measured, draw(st.lists(NUMBERS, min_size=k - 1, max_size=k - 1)), draw(RATIOS)


# ---------------------------------------------------------------------------------- its properties


@given(releases())
@FAST
def test_unbiased_and_true_to_the_total(release):
    scores, gaps, ratio = release
    true_gaps = [a - b for a, b in pairwise(scores)]
    # Linear, and right where there is no noise: so unbiased.
    assert list(estimate_fixed_from_gaps(scores, true_gaps, variance_ratio=ratio)) == scores
    # Gaps say nothing about the sum.
    assert sum(estimate_fixed_from_gaps(scores, gaps, variance_ratio=ratio)) == sum(scores)


def weights(k: int, ratio: Fraction) -> list[tuple[list[Fraction], list[Fraction]]]:
    """The weights of measurements and of gaps in each estimate: what unit inputs give."""

    def unit(place: int, size: int) -> list[int]:
        return [int(i == place) for i in range(size)]

    own = [
        estimate_fixed_from_gaps(unit(i, k), [0] * (k - 1), variance_ratio=ratio) for i in range(k)
    ]
    gap = [
        estimate_fixed_from_gaps([0] * k, unit(i, k - 1), variance_ratio=ratio)
        for i in range(k - 1)
    ]
    return [([row[i] for row in own], [row[i] for row in gap]) for i in range(k)]


@given(st.integers(1, 9), RATIOS)
@FAST
def test_the_variance_is_that_of_corollary_1(k, ratio):
    for own, gap in weights(k, ratio):
        # Noise i of the selection is in gap i, and in gap i - 1 with the other sign.
        mixed = [a - b for a, b in zip([*gap, 0], [0, *gap], strict=True)]
        variance = sum(w * w for w in own) + ratio * sum(w * w for w in mixed)
        assert variance == error_ratio(k, ratio)


@pytest.mark.parametrize(("noise", "variance"), [("laplace", 2), ("exponential", 1)])
def test_the_ratio_is_one_of_variances(noise, variance):
    """Noise of rate r has the variance 2 / r**2 (Laplace) or 1 / r**2; a gap has two noises."""
    for rates in ((Fraction(1, 3),), (Fraction(1, 3), Fraction(5, 2))):
        gap = sum(variance / rate**2 for rate in rates)
        for own in (Fraction(1, 3), Fraction(7)):
            assert variance_ratio(*rates, noise=noise, measured_rate=own) == gap / (2 / own**2)


@given(st.integers(2, 9), RATIOS, st.data())
@FAST
def test_what_rounding_gaps_down_may_do(k, ratio, data):
    """The largest error by the theorem is reached, with and without half a step added."""
    step = data.draw(st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(7, 3)]))
    lost = data.draw(st.lists(st.sampled_from([Fraction(0), step / 3, step]), min_size=k - 1))
    lost = (lost * k)[: k - 1]

    def errors(parts, **grid):
        # Linear: the error of the estimates is the estimate of the errors.
        return estimate_fixed_from_gaps(
            [0] * k, [-part for part in parts], variance_ratio=ratio, **grid
        )

    for i in range(1, k + 1):
        whole = step / (2 * k * (1 + ratio))
        low, high = -whole * (k - i) * (k - i + 1), whole * i * (i - 1)
        assert low <= errors(lost)[i - 1] <= high
        assert abs(errors(lost, gap_grid=step)[i - 1]) <= (high - low) / 2
        # The worst cases: all that pulls down is lost in full, or all that pulls up.
        down = [Fraction(0)] * (i - 1) + [step] * (k - i)
        up = [step - part for part in down]
        assert (errors(down)[i - 1], errors(up)[i - 1]) == (low, high)
        assert errors(up, gap_grid=step)[i - 1] == (high - low) / 2
        assert errors(down, gap_grid=step)[i - 1] == (low - high) / 2


@given(NUMBERS, NUMBERS, st.fractions(0, 50, max_denominator=9), RATIOS, RATIOS)
@FAST
def test_the_average_with_a_threshold(measured, threshold, gap, ratio, step):
    found = estimate_from_threshold(measured, gap, threshold=threshold, variance_ratio=ratio)
    weight = 1 / (1 + ratio)
    assert found == (1 - weight) * measured + weight * (threshold + gap)
    centred = estimate_from_threshold(
        measured, gap, threshold=threshold, variance_ratio=ratio, gap_grid=step
    )
    assert centred - found == weight * step / 2
    # The best weight: the variance is the smallest there, and is what it is said to be.
    variance = threshold_error_ratio(ratio)
    assert variance == (1 - weight) ** 2 + weight**2 * ratio
    for other in (weight + Fraction(1, 99), weight - Fraction(1, 99)):
        assert (1 - other) ** 2 + other**2 * ratio > variance


# --------------------------------------------------------------------------- what may be handed in


# Two winners or more are 5 nats above the best loser, or none: r is one number for all of them.
RELEASES = [
    ([195], [9]),
    ([195, 90], [90, 80]),
    ([195, 90, 85], [12, 0, 3]),
    ([400, 310, 290, 120, 60, 33], [95, 15, 170, 60, 30, 90]),
]


def test_the_width_is_the_measurements_own_times_what_gaps_leave_half_way() -> None:
    """ln(1 / alpha) / rate, times (1 + r) / 2 for the error r**2 over 2 / rate**2 - 1 / 6."""
    public = {"rate": "1/10", "noise": "exponential", "measured_rate": "1/8", "gap_grid": 1}
    shares = []
    for measured, gaps in RELEASES:
        error = error_from_gaps(measured, gaps, **public)
        shares.append(min(1.0, float(error) / (2 * 8**2 - 1 / 6)) ** 0.5)
        for alpha in ("0.05", "0.01", "1/3"):
            half = math.log(1 / Fraction(alpha)) * 8 * (1 + shares[-1]) / 2
            for low, high in intervals_from_gaps(measured, gaps, **public, alpha=alpha):
                assert float(high - low) / 2 == pytest.approx(half, rel=1e-8)
    assert shares[0] == 1
    assert min(shares) < 0.9
