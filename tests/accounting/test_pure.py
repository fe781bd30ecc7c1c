"""The optimal bounds: published numbers, every outcome enumerated, and what they must never do."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mpmathify as mp

from safeselect.accounting.pure import (
    _walk,
    binomial_below,
    equal_pure,
    smallest_delta,
    smallest_epsilon,
)
from safeselect.exact.interval import Interval
from vectors import vectors

pytestmark = pytest.mark.claim("C2")

VECTORS = vectors("guarantees")
FAST = settings(derandomize=True, deadline=None, max_examples=25)
EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)


def holds(ours: Fraction, exact: mpmath.mpf, slack: str = "1e-15") -> None:
    """At least the exact value (known to 40 digits), and next to nothing more."""
    assert mp(ours) >= exact * (1 - mpmath.mpf(10) ** -28)
    assert mp(ours) <= exact * (1 + mpmath.mpf(slack))


def test_published_numbers():
    for case in VECTORS["f1_optimal_composition_pure_dp"]["cases"].values():
        with mpmath.workdps(40):
            found = smallest_delta(
                equal_pure(Fraction(case["eps"]), case["k"]), Fraction(case["eps_g"])
            )
            holds(found, mpmath.mpf(case["delta"]))


# ------------------------------------------------------------------------------- the inverse


@given(
    epsilon=EPSILONS,
    k=st.integers(1, 200),
    delta=st.sampled_from(["1e-12", "1e-6", "0.01", "0.4", "0.999"]),
)
@FAST
def test_the_smallest_epsilon_inverts_delta(epsilon, k, delta):
    delta, tails = Fraction(delta), equal_pure(epsilon, k)
    found = smallest_epsilon(tails, delta, epsilon * k)
    assert smallest_delta(tails, found) <= delta
    if found:
        less = found * (1 - Fraction(1, 10**6))
        assert smallest_delta(tails, less) > delta * (1 - Fraction(1, 10**9))


def test_a_guess_that_is_better_is_kept():
    assert smallest_epsilon(equal_pure(Fraction(1), 3), Fraction(1, 10**6), Fraction(1)) is None


# --------------------------------------------------------------------------- binomial tails


def below(trials: int, last: int, q: Fraction, precision: int = 128) -> tuple[Fraction, Fraction]:
    hit, miss = Interval.of(q, precision).log(), Interval.of(1 - q, precision).log()
    return binomial_below(trials, last, hit, miss).fractions()


@given(
    trials=st.integers(1, 60),
    last=st.integers(-2, 62),
    q=st.fractions(
        min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000
    ),
)
@example(trials=5, last=-1, q=Fraction(1, 3))
@example(trials=5, last=5, q=Fraction(1, 3))
@example(trials=5, last=6, q=Fraction(1, 3))
@example(trials=2000, last=980, q=Fraction(1, 2))
@example(trials=2000, last=10, q=Fraction(1, 3))
@settings(FAST, max_examples=60)
def test_the_exact_sum_is_enclosed(trials, last, q):
    low, high = below(trials, last, q)
    exact = sum(
        comb(trials, i) * q**i * (1 - q) ** (trials - i) for i in range(min(last, trials) + 1)
    )
    assert low <= exact <= high
    assert high - low <= exact / 2**90


def test_none_and_all_are_certain():
    """Bounds that are exact need no enclosure; none is below zero hits."""
    assert below(5, -1, Fraction(1, 3)) == (0, 0)
    assert below(5, 5, Fraction(1, 3)) == below(5, 6, Fraction(1, 3)) == (1, 1)
    assert binomial_below(5, -1, *[Interval.of(Fraction(1, 2), 96).log()] * 2).precision == 96


@pytest.mark.parametrize("steps", [8, 16, 100])
def test_the_rest_of_a_walk_is_not_forgotten(steps):
    """1/2 + 1/4 + ... in nine bits, where the sum of the first eight terms needs no rounding."""
    walk = _walk([(1, 1)] * steps, Interval.of(Fraction(1, 2), 9))
    low, high = walk.fractions()
    assert low <= 1 - Fraction(1, 2**steps) <= high
    assert high - low <= Fraction(1, 2**5)
    assert walk.precision == 9


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_short_walk_counts_its_last_rounding(steps):
    """No term of these is exact: one step alone has a width already."""
    low, high = _walk([(1, 3)] * steps, Interval.of(1, 64)).fractions()
    assert low < sum(Fraction(1, 3**number) for number in range(1, steps + 1)) < high
