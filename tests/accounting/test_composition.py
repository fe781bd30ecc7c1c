"""What many releases cost: every stated epsilon is recomputed, and compared with the optimum."""

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

from safeselect import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.accounting import composed_epsilon
from safeselect.accounting.moments import epsilon_at_order, epsilon_by_orders, log_moment

pytestmark = pytest.mark.claim("C2")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())
FAST = settings(derandomize=True, deadline=None, max_examples=25)
KINDS = (BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP)
DELTAS = ("1e-12", "1e-6", "0.01", "0.4")


def mp(value) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


# ------------------------------------------ the accountant once more, with mpmath, from the paper


def moment(guarantee, a: mpmath.mpf) -> mpmath.mpf:
    """E[(ratio)**(a - 1)] of the worst pair, as written in docs/mathematics.md."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return mpmath.exp(a * (a - 1) * mp(guarantee.rho))
    e = mp(guarantee.epsilon)
    if isinstance(guarantee, LaplaceDominated):
        return a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(
            -a * e
        )
    if isinstance(guarantee, PureDP):
        return (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
    upper = 1 - mpmath.exp(-a * e)
    lower = mpmath.exp(-e) - mpmath.exp(-a * e)
    constant = (a - 1) ** (a - 1) / a**a
    return constant * upper**a / (lower ** (a - 1) * (1 - mpmath.exp(-e)))


def certified(parts, delta, a: mpmath.mpf) -> mpmath.mpf:
    """The epsilon that one order certifies."""
    log_product = mpmath.fsum(count * mpmath.log(moment(each, a)) for each, count in parts)
    constant = (a - 1) * mpmath.log(a - 1) - a * mpmath.log(a)
    return (log_product + constant - mpmath.log(mp(delta))) / (a - 1)


def best_certificate(parts, delta) -> mpmath.mpf:
    """The smallest over all orders, by golden section on a logarithmic scale."""
    golden = (mpmath.sqrt(5) - 1) / 2

    def at(x):
        return certified(parts, delta, 1 + mpmath.exp(x))

    start = min((mpmath.mpf(x) / 2 for x in range(-40, 60)), key=at)
    low, high = start - 1, start + 1
    for _ in range(70):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at((low + high) / 2)


PARTS = [
    [(BoundedRange("0.1"), 10)],
    [(BoundedRange(1), 2)],
    [(BoundedRange(3), 40)],
    [(LaplaceDominated("0.05"), 100)],
    [(LaplaceDominated(2), 5)],
    [(PureDP("0.2"), 30)],
    [(PureDP(5), 3)],
    [(ZeroConcentratedDP("0.1"), 1)],
    [(ZeroConcentratedDP("0.001"), 50)],
    [(BoundedRange("0.1"), 10), (LaplaceDominated(1), 1), (PureDP("0.3"), 4)],
    [(BoundedRange("0.5"), 3), (ZeroConcentratedDP("0.02"), 2)],
]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_the_stated_epsilon_is_certified_and_nearly_the_best(parts, delta):
    ours, _ = epsilon_by_orders(parts, Fraction(delta))
    assert composed_epsilon(parts, delta) <= ours * (1 + Fraction(1, 10**9))
    with mpmath.workdps(50):
        best = best_certificate(parts, delta)
        best = max(best, mpmath.mpf(0))  # at a large delta nothing is left to pay for
        assert mp(ours) >= best * (1 - mpmath.mpf(10) ** -14)
        assert mp(ours) <= best * (1 + mpmath.mpf(10) ** -6)


def test_a_long_list_is_certified_and_nearly_the_best():
    """So long that the order is searched on a summary; the bound is that of the list itself."""
    kinds = (BoundedRange, LaplaceDominated, PureDP)
    parts = [(kinds[i % 3](Fraction(i, 9000)), 1 + i % 2) for i in range(1, 151)]
    ours, excess = epsilon_by_orders(parts, Fraction(1, 10**6))
    low, high = epsilon_at_order(parts, Fraction(1, 10**6), excess, 200).fractions()
    assert low <= ours <= high * (1 + Fraction(1, 2**60))
    with mpmath.workdps(25):
        grid = [mp(excess) * (1 + mpmath.mpf(i) / 200) for i in range(-4, 5)]
        best = min(certified(parts, "1e-6", 1 + x) for x in grid)
        assert mp(ours) <= best * (1 + mpmath.mpf(10) ** -6)


@pytest.mark.parametrize("excess", [Fraction(1, 100), Fraction(1, 2), Fraction(7), Fraction(300)])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_every_order_is_the_paper_s_formula(parts, excess):
    low, high = epsilon_at_order(parts, Fraction(1, 10**6), excess, 300).fractions()
    with mpmath.workdps(60):
        true = certified(parts, "1e-6", 1 + mp(excess))
        assert mp(low) - abs(true) / 10**40 <= true <= mp(high) + abs(true) / 10**40
        assert mp(high) - mp(low) <= abs(true) / 10**40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_a_count_is_a_loop(kind, count):
    """Many equal parts at once, one by one, and in two heaps cost the same."""
    each = kind("0.3")
    together = composed_epsilon([(each, count)], "1e-6")
    assert together == composed_epsilon([(each, 1)] * count, "1e-6")
    if count > 1:
        assert together == composed_epsilon([(each, 1), (each, count - 1)], "1e-6")
    low, high = log_moment(each, Fraction(3), 200).fractions()
    whole = [count * low, count * high]
    total = epsilon_at_order([(each, 1)] * count, Fraction(1, 2), Fraction(3), 200)
    apart = epsilon_at_order([], Fraction(1, 2), Fraction(3), 200)
    middle = (total - apart).fractions()
    assert middle[0] * 3 <= whole[1]
    assert whole[0] <= middle[1] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_more_parts_and_less_delta_cost_more(kind):
    costs = [composed_epsilon([(kind("0.3"), count)], "1e-6") for count in (1, 2, 5, 20)]
    assert costs == sorted(set(costs))
    costs = [composed_epsilon([(kind("0.3"), 5)], delta) for delta in DELTAS]
    assert all(less <= more for more, less in itertools.pairwise(costs))


def test_nothing_costs_nothing():
    assert composed_epsilon([], "1e-6") == 0
    assert composed_epsilon([(PureDP(0), 5), (BoundedRange(0), 2)], "1e-6") == 0


@pytest.mark.parametrize("kind", [BoundedRange, LaplaceDominated, PureDP])
@pytest.mark.parametrize("count", [1, 2, 10])
@pytest.mark.parametrize("delta", ["1e-300", "1e-100"])
def test_never_more_than_the_plain_sum(kind, count, delta):
    assert composed_epsilon([(kind("0.5"), count)], delta) <= Fraction(count, 2)


def test_approximate_dp_has_no_moments():
    with pytest.raises(ParameterError, match="no Rényi moments"):
        log_moment(ApproximateDP(1, "1e-9"), Fraction(3), 100)


@pytest.mark.parametrize("delta", [0, 1, -1, True, None, "x", float("nan"), 2])
def test_delta_is_checked(delta):
    with pytest.raises(ParameterError, match="delta"):
        composed_epsilon([(PureDP(1), 1)], delta)


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "2", None, Fraction(1)])
def test_a_count_is_a_positive_integer(count):
    """A negative one would give budget back."""
    with pytest.raises(ParameterError, match="count"):
        composed_epsilon([(PureDP(1), 1), (PureDP(1), count)], "1e-6")


# ------------------------------------------------------------- soundness: never below the optimum


def optimal_pure_delta(epsilon, k: int, at) -> mpmath.mpf:
    """The smallest delta of k adaptive epsilon-DP mechanisms (Kairouz, Oh and Viswanath 2015)."""
    e, s = mp(epsilon), mp(at)
    terms = (
        comb(k, i) * max(mpmath.exp((k - i) * e) - mpmath.exp(s + i * e), 0) for i in range(k + 1)
    )
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k


@pytest.mark.parametrize("name", VECTORS["f1_optimal_composition_pure_dp"]["cases"])
def test_the_optimum_of_this_file_is_the_published_one(name):
    case = VECTORS["f1_optimal_composition_pure_dp"]["cases"][name]
    with mpmath.workdps(40):
        found = optimal_pure_delta(case["eps"], case["k"], case["eps_g"])
        assert abs(found - mpmath.mpf(case["delta"])) < mpmath.mpf(10) ** -28


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("epsilon", "count"), [("0.1", 1), ("0.1", 40), (1, 5), (3, 3), (6, 2)])
def test_pure_parts_are_never_billed_below_the_optimum(epsilon, count, delta):
    ours = composed_epsilon([(PureDP(epsilon), count)], delta)
    with mpmath.workdps(40):
        assert optimal_pure_delta(epsilon, count, ours) <= mp(delta)
        # And the check can fail: a third of our epsilon is too little.
        if 0 < ours < count * Fraction(epsilon):
            assert optimal_pure_delta(epsilon, count, ours / 3) > mp(delta)


@pytest.mark.parametrize("name", VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"])
def test_adaptive_bounded_range_parts_are_never_billed_below_the_optimum(name):
    case = VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"][name]
    for key in ("delta_adaptive", "delta_nonadaptive"):
        ours = composed_epsilon([(BoundedRange(case["eps"]), 2)], case[key])
        assert ours >= Fraction(case["eps_g"])


@pytest.mark.parametrize("name", VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"])
def test_better_than_the_closed_forms_for_bounded_range(name):
    case = VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"][name]
    epsilon, count, delta = (part.split("=")[1] for part in name.split(","))
    ours = composed_epsilon([(BoundedRange(epsilon), int(count))], delta)
    assert ours < Fraction(case["ddr20"]) < Fraction(case["dr19"])
    assert ours > Fraction(case["ddr20"]) / 2


@given(
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100),
    delta=st.sampled_from(DELTAS),
)
@FAST
def test_one_part_is_never_billed_below_its_exact_curve(epsilon, delta):
    for kind in (BoundedRange, LaplaceDominated, PureDP):
        composed = composed_epsilon([(kind(epsilon), 1)], delta)
        assert composed >= kind(epsilon).approximate(delta).epsilon * (1 - Fraction(1, 2**60))
        # zCDP keeps less than the whole curve.
        assert composed <= kind(epsilon).zcdp.approximate(delta).epsilon * (1 + Fraction(1, 10**6))
