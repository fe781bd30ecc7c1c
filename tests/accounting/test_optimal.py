"""The optimal bounds: published numbers, every outcome enumerated, and what they must never do."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from math import comb
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import ParameterError
from safeselect.accounting import optimal_bounded_range_delta, optimal_pure_delta
from safeselect.accounting.optimal import EqualPure, smallest_delta, smallest_epsilon
from safeselect.accounting.ranges import EqualBoundedRange
from safeselect.accounting.unequal import UnequalPure

pytestmark = pytest.mark.claim("C2")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())
FAST = settings(derandomize=True, deadline=None, max_examples=25)
EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)


def mp(value) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def holds(ours: Fraction, exact: mpmath.mpf, slack: str = "1e-15") -> None:
    """At least the exact value (known to 40 digits), and next to nothing more."""
    assert mp(ours) >= exact * (1 - mpmath.mpf(10) ** -28)
    assert mp(ours) <= exact * (1 + mpmath.mpf(slack))


@pytest.mark.parametrize(
    ("group", "function"),
    [
        ("f1_optimal_composition_pure_dp", optimal_pure_delta),
        ("f2_optimal_composition_BR_nonadaptive", optimal_bounded_range_delta),
    ],
)
def test_published_numbers(group, function):
    for case in VECTORS[group]["cases"].values():
        with mpmath.workdps(40):
            holds(function(case["eps"], case["k"], case["eps_g"]), mpmath.mpf(case["delta"]))


def test_the_headline_of_sixteen_times_as_many_queries():
    """k = 400 selections at 1/20 each: 0.0525 as bounded range, 0.599 as classical pure DP."""
    classical = optimal_pure_delta("1/10", 400, "1/2")  # twice the sensitivity
    ranged = optimal_bounded_range_delta("1/20", 400, "1/2")
    assert Fraction("0.05252") < ranged < Fraction("0.05253")
    assert Fraction("0.5994") < classical < Fraction("0.5995")
    few = optimal_pure_delta("1/20", 400, "1/2")
    many = optimal_bounded_range_delta("1/40", 16 * 400, "1/2")
    assert Fraction("0.238130") < few < Fraction("0.238132")
    assert Fraction("0.238435") < many < Fraction("0.238436")
    assert abs(many - few) < few / 200


# ------------------------------------------------------------------------- by every outcome


def by_outcomes(epsilons, at) -> mpmath.mpf:
    """Murtagh and Vadhan's sum over all subsets."""
    total = mpmath.mpf(0)
    for kept in itertools.product((True, False), repeat=len(epsilons)):
        gained = mpmath.fsum(mp(e) for e, keep in zip(epsilons, kept, strict=True) if keep)
        lost = mpmath.fsum(mp(e) for e, keep in zip(epsilons, kept, strict=True) if not keep)
        total += max(mpmath.exp(gained) - mpmath.exp(mp(at) + lost), 0)
    return total / mpmath.fprod(1 + mpmath.exp(mp(e)) for e in epsilons)


@given(
    epsilons=st.lists(EPSILONS, min_size=1, max_size=7),
    at=st.fractions(min_value=0, max_value=5, max_denominator=20),
)
@FAST
def test_unequal_pure_guarantees(epsilons, at):
    counted = {e: epsilons.count(e) for e in epsilons}
    tails = UnequalPure.of(list(counted.items()))
    with mpmath.workdps(40):
        exact = by_outcomes(epsilons, at)
        if exact < mpmath.mpf(10) ** -30:
            assert smallest_delta(tails, at) < Fraction(1, 10**29)
        else:
            holds(smallest_delta(tails, at), exact)


def test_equal_is_a_case_of_unequal():
    for at in (0, Fraction(1, 2), Fraction(9, 10), 2):
        equal = smallest_delta(EqualPure(Fraction(3, 10), 9), Fraction(at))
        split = smallest_delta(UnequalPure.of([(Fraction(3, 10), 9)]), Fraction(at))
        assert abs(equal - split) <= equal / 2**60
        assert equal == optimal_pure_delta("0.3", 9, at)


def test_twenty_unequal_are_few_enough_and_forty_are_not():
    assert UnequalPure.of([(Fraction(i, 7), 1) for i in range(1, 21)]) is not None
    assert UnequalPure.of([(Fraction(i, 7), 1) for i in range(1, 41)]) is None


def worst_at(epsilon: Fraction, k: int, at: Fraction, t: mpmath.mpf) -> mpmath.mpf:
    """Delta of k equal two-point laws of this offset."""
    e = mp(epsilon)
    p = (mpmath.exp(-t) - mpmath.exp(-e)) / (1 - mpmath.exp(-e))
    return mpmath.fsum(
        comb(k, i)
        * p ** (k - i)
        * (1 - p) ** i
        * max(mpmath.exp(k * t - i * e) - mpmath.exp(mp(at)), 0)
        for i in range(k + 1)
    )


@pytest.mark.parametrize(
    ("epsilon", "k", "at"),
    [("1/10", 30, "1/3"), (1, 12, 1), (3, 9, 4), (6, 5, 2), ("1/2", 20, 0), (1, 1, 0), (2, 4, 7)],
)
def test_bounded_range_is_the_largest_over_all_offsets(epsilon, k, at):
    epsilon, at = Fraction(epsilon), Fraction(at)
    ours = optimal_bounded_range_delta(epsilon, k, at)
    with mpmath.workdps(40):
        offsets = [mp((at + (cut + 1) * epsilon) / (k + 1)) for cut in range(k + 1)]
        holds(ours, max(worst_at(epsilon, k, at, t) for t in offsets if t < mp(epsilon)))
        # And no offset beside those does better.
        grid = [mp(epsilon) * i / 200 for i in range(1, 200)]
        assert max(worst_at(epsilon, k, at, t) for t in grid) <= mp(ours)


@pytest.mark.parametrize(
    ("epsilon", "k", "at"), [(1, 40, 1), (3, 60, 20), ("1/10", 100, 0), (6, 30, 2), ("1/5", 70, 3)]
)
def test_proved_signs_are_those_of_the_heights(epsilon, k, at):
    """The shortcut may only skip truncations that a neighbour exceeds."""
    family, at = EqualBoundedRange(Fraction(epsilon), k), Fraction(at)
    last = family.truncations(at)[-1]
    heights = [family._height(cut, at, 128) for cut in range(last + 1)]
    signs = dict(family._signs(1, last, at))
    assert set(signs) == set(range(1, last + 1))
    for cut, sign in signs.items():
        if sign > 0:
            assert heights[cut].lower > heights[cut - 1].upper
        if sign < 0:
            assert heights[cut].upper < heights[cut - 1].lower
    assert {1, -1} <= set(signs.values())  # it does prove something
    whole = family.optimum(at, 128)
    assert whole.upper >= max(height.upper for height in heights)


# ------------------------------------------------------------------------------- the inverse


@given(
    epsilon=EPSILONS,
    k=st.integers(1, 200),
    delta=st.sampled_from(["1e-12", "1e-6", "0.01", "0.4", "0.999"]),
)
@FAST
def test_the_smallest_epsilon_inverts_delta(epsilon, k, delta):
    delta, tails = Fraction(delta), EqualPure(epsilon, k)
    found = smallest_epsilon(tails, delta, epsilon * k)
    assert smallest_delta(tails, found) <= delta
    if found:
        less = found * (1 - Fraction(1, 10**6))
        assert smallest_delta(tails, less) > delta * (1 - Fraction(1, 10**9))


def test_a_guess_that_is_better_is_kept():
    assert smallest_epsilon(EqualPure(Fraction(1), 3), Fraction(1, 10**6), Fraction(1)) is None


@pytest.mark.parametrize("function", [optimal_pure_delta, optimal_bounded_range_delta])
def test_parameters_are_checked(function):
    assert function(1, 3, 3) == 0
    assert function(1, 3, 100) == 0
    for wrong in (
        {"epsilon": 0},
        {"epsilon": -1},
        {"k": 0},
        {"k": 1.5},
        {"k": 10**7},
        {"epsilon_g": -1},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            function(**{"epsilon": 1, "k": 3, "epsilon_g": 1, **wrong})
