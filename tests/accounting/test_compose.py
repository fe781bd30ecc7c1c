"""The public function: the best valid bound, whatever the list, its order and its length."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction
from pathlib import Path

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
    calibrate,
    compose,
    permute_and_flip,
    top_k,
)
from safeselect.accounting import optimal_pure_delta
from safeselect.accounting.moments import bun_steinke_epsilon, dong_durfee_rogers_epsilon

pytestmark = pytest.mark.claim("C2")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())
FAST = settings(derandomize=True, deadline=None, max_examples=25)
SMALL = st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50)
ANY = st.one_of(
    SMALL.map(BoundedRange),
    SMALL.map(LaplaceDominated),
    SMALL.map(PureDP),
    SMALL.map(ZeroConcentratedDP),
    SMALL.map(lambda epsilon: ApproximateDP(epsilon, Fraction(1, 10**9))),
)
FREE = [PureDP(0), LaplaceDominated(0), BoundedRange(0), ZeroConcentratedDP(0)]


# --------------------------------------------------------------------------- without a delta


def test_without_delta_the_strongest_kind_that_is_proved():
    third = Fraction(1, 3)
    assert compose([BoundedRange(third)]).guarantee == BoundedRange(third)
    assert compose([BoundedRange(third), LaplaceDominated(1)]).guarantee == LaplaceDominated(
        Fraction(4, 3)
    )
    assert compose([BoundedRange(third)] * 3 + [PureDP(1)]).guarantee == PureDP(2)
    assert compose([ZeroConcentratedDP("0.1")] * 3).guarantee == ZeroConcentratedDP("0.3")
    mixed = compose([ZeroConcentratedDP("0.1"), BoundedRange(1)])
    assert mixed.guarantee.rho == Fraction(1, 10) + BoundedRange(1).zcdp.rho
    both = compose([ApproximateDP(1, "0.1"), ApproximateDP(2, "0.2"), PureDP(1)])
    assert both.guarantee == ApproximateDP(4, 1 - Fraction(9, 10) * Fraction(8, 10))
    with pytest.raises(ParameterError, match="need a delta"):
        compose([ApproximateDP(1, "0.1"), ZeroConcentratedDP(1)])


def test_the_sum_of_laplace_dominated_guarantees_is_one():
    """By the pair itself: the product of two Laplace pairs is below the pair of the sum.

    P has losses of two Laplace laws; delta of the sum of two losses, on a fine lattice of outcomes
    that is coarser than the truth, stays below 1 - e**((s - sum) / 2).
    """
    one, two, grid = 0.7, 0.4, 400

    def law(epsilon):
        # quantile cells of Laplace(0, 1): loss |x - epsilon| - |x| at the cells' middles
        from math import log

        def quantile(v):
            return log(2 * v) if v < 0.5 else -log(2 - 2 * v)

        points = [quantile((i + 0.5) / grid) for i in range(grid)]
        return [abs(x - epsilon) - abs(x) for x in points]

    from math import exp

    losses = [a + b for a in law(one) for b in law(two)]
    for at in (0.0, 0.3, 0.6, 0.9):
        delta = sum(max(0.0, 1 - exp(at - loss)) for loss in losses) / grid**2
        whole = float(
            compose([LaplaceDominated("0.7"), LaplaceDominated("0.4")]).guarantee.delta(str(at))
        )
        assert delta <= whole + 0.005
    assert whole < 0.2  # the last, so the comparison is not with 1


# ------------------------------------------------------------------------- list, order, identity


@given(st.lists(ANY, min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(FAST, max_examples=6)
def test_order_does_not_matter_and_free_parts_are_the_identity(parts, shuffler):
    together = compose(parts, "1e-6")
    other = [*parts, *FREE]
    shuffler.shuffle(other)
    assert compose(other, "1e-6") == together


@given(ANY, st.integers(1, 30))
@FAST
def test_copies_are_a_loop(each, count):
    loop = []
    for _ in range(count):
        loop.append(each)
    assert compose([each] * count, "1e-6") == compose(iter(loop), "1e-6")
    if count > 1:
        fewer = compose([each] * (count - 1), "1e-6").guarantee
        assert fewer.epsilon <= compose(loop, "1e-6").guarantee.epsilon


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_nothing_costs_nothing(delta):
    for parts in ([], FREE):
        composed = compose(parts, delta)
        assert composed.guarantee.epsilon == 0
        assert composed.theorem == "nothing was released"


@given(st.lists(ANY, min_size=1, max_size=5), st.sampled_from(["1e-8", "1e-6", "0.05"]))
@settings(FAST, max_examples=12)
def test_stronger_parts_cost_no_more(parts, delta):
    """BoundedRange is LaplaceDominated is PureDP, so weakening a part cannot make it cheaper."""
    weaker = [
        PureDP(each.epsilon) if isinstance(each, (BoundedRange, LaplaceDominated)) else each
        for each in parts
    ]
    ours = compose(parts, delta).guarantee.epsilon
    assert ours <= compose(weaker, delta).guarantee.epsilon * (1 + Fraction(1, 10**5))


def test_a_part_must_be_a_guarantee():
    for wrong in (1, "PureDP", None, PureDP, compose([PureDP(1)])):
        with pytest.raises(ParameterError, match="every part must be a guarantee"):
            compose([PureDP(1), wrong])
    for delta in (0, 1, -1, True, "x", float("nan")):
        with pytest.raises(ParameterError, match="delta"):
            compose([PureDP(1)], delta)
    for precision in (0, -1, "x", True):
        with pytest.raises(ParameterError, match="precision"):
            compose([PureDP(1)], "1e-6", precision)


# --------------------------------------------------------------------------------- best and valid


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.01"])
@pytest.mark.parametrize("count", [2, 10, 300])
def test_pure_parts_are_billed_at_the_optimum(count, delta):
    composed = compose([PureDP("0.1")] * count, delta)
    epsilon = composed.guarantee.epsilon
    assert optimal_pure_delta("0.1", count, epsilon) <= Fraction(delta)
    assert optimal_pure_delta("0.1", count, epsilon * (1 - Fraction(1, 10**6))) > Fraction(delta)
    assert "Kairouz" in composed.theorem


def test_up_to_twenty_unequal_parts_are_billed_at_their_optimum():
    parts = [PureDP(Fraction(i, 40)) for i in range(1, 21)]
    few, many = (
        compose(parts, "1e-3"),
        compose([*parts, *(PureDP(Fraction(i, 41)) for i in range(1, 21))], "1e-3"),
    )
    assert "Murtagh" in few.theorem
    assert "dominating pairs" in many.theorem
    assert few.guarantee.epsilon < many.guarantee.epsilon
    assert few.lower < few.guarantee.epsilon < few.lower * (1 + Fraction(1, 10**8))
    assert many.lower < many.guarantee.epsilon


@pytest.mark.parametrize("name", VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"])
def test_two_ranges_are_billed_at_their_adaptive_optimum(name):
    """f3: at the delta of the adaptive optimum `compose` asks for its epsilon, and no less."""
    case = VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"][name]
    at = Fraction(case["eps_g"])
    composed = compose([BoundedRange(case["eps"])] * 2, case["delta_adaptive"])
    assert composed.lower <= at * (1 + Fraction(1, 10**9))
    assert at <= composed.guarantee.epsilon <= at + Fraction(1, 10**5)


@pytest.mark.parametrize(("epsilon", "k", "delta"), [("0.1", 100, "1e-6"), ("0.5", 30, "1e-5")])
def test_never_worse_than_a_closed_form(epsilon, k, delta):
    ours = compose([BoundedRange(epsilon)] * k, delta).guarantee.epsilon
    assert ours < dong_durfee_rogers_epsilon(epsilon, k, delta)
    rho = k * BoundedRange(epsilon).zcdp.rho
    assert (
        ours < ZeroConcentratedDP(rho).approximate(delta).epsilon < bun_steinke_epsilon(rho, delta)
    )


# ----------------------------------------------------------------------------- approximate parts


def test_approximate_parts_take_their_delta_from_the_total():
    """As Kairouz, Oh and Viswanath: delta = 1 - (1 - rest) prod (1 - delta_i)."""
    own = Fraction(1, 10**7)
    parts = [ApproximateDP("0.1", own)] * 5
    composed = compose(parts, "1e-6").guarantee
    rest = 1 - (1 - Fraction(1, 10**6)) / (1 - own) ** 5
    assert optimal_pure_delta("0.1", 5, composed.epsilon) <= rest
    assert optimal_pure_delta("0.1", 5, composed.epsilon * (1 - Fraction(1, 10**6))) > rest
    # One alone may use all of it, and two need a little less than the sum of theirs.
    assert compose(parts[:1], own).guarantee == parts[0]
    least = compose(parts[:2]).guarantee.delta
    assert least == 2 * own - own * own
    assert compose(parts[:2], least).guarantee.epsilon == Fraction(2, 10)
    with pytest.raises(ParameterError, match="delta must be at least"):
        compose(parts[:2], least - own / 1000)


def test_approximate_parts_with_moments():
    parts = [ZeroConcentratedDP("0.01"), BoundedRange("0.1"), ApproximateDP("0.1", "1e-7")]
    composed = compose(parts, "1e-6").guarantee
    weaker = compose([ZeroConcentratedDP("0.01"), BoundedRange("0.1"), PureDP("0.1")], "9e-7")
    assert abs(composed.epsilon - weaker.guarantee.epsilon) < weaker.guarantee.epsilon / 10**6
    with pytest.raises(ParameterError, match="larger than"):
        compose(parts, "1e-7")


def test_ten_thousand_approximate_parts():
    parts = [
        ApproximateDP(Fraction(1, 10**4 + i % 7), Fraction(1, 10**10 + i)) for i in range(10**4)
    ]
    composed = compose(parts, "1e-5").guarantee
    plain = compose(parts).guarantee
    assert composed.epsilon < plain.epsilon / 2
    assert plain.delta < Fraction(1, 10**6)
    assert plain.delta > Fraction(999, 10**9)


def test_deltas_that_leave_nothing_are_refused():
    """Far below the smallest step of the product, which must not be taken for a fresh start."""
    parts = [ApproximateDP(1, Fraction(999, 1000))] * 3000 + [ApproximateDP(2, "1e-9")]
    for delta in (None, "0.99999"):
        with pytest.raises(ParameterError, match="leave nothing"):
            compose(parts, delta)


def test_thousands_of_unlike_fractions_stay_short():
    """A common denominator would have a hundred thousand digits."""
    seeded = random.Random(7)
    parts = [PureDP(Fraction(1, seeded.randrange(10**6, 10**7))) for _ in range(2000)]
    exact = sum(each.epsilon for each in parts[:300])
    some = compose(parts[:300]).guarantee.epsilon
    assert exact <= some <= exact * (1 + Fraction(1, 2**60))
    assert compose(parts).guarantee.epsilon.numerator.bit_length() <= 64


# ------------------------------------------------------------------------- parts and calibration


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_the_parts_of_a_result_come_to_its_total(mechanism):
    best = top_k(
        [5, 3, 1, 0],
        k=3,
        epsilon=1,
        delta="1e-6",
        sensitivity=1,
        monotonic=True,
        mechanism=mechanism,
    )
    # Calibration works on a coarse grid, which gives a little away.
    assert Fraction(99, 100) < compose(best.parts, "1e-6").guarantee.epsilon <= 1


def test_permute_and_flip_is_never_billed_as_bounded_range():
    """Its own guarantee, and with it a composition, costs nearly twice the exponential one's."""
    chosen = permute_and_flip([3, 1], epsilon="0.1", sensitivity=1)
    assert type(chosen.guarantee) is LaplaceDominated
    for k in (2, 50):
        best = top_k(list(range(k)), k=k, rho="0.1", sensitivity=1, mechanism="permute_and_flip")
        assert {type(part) for part in best.parts} == {LaplaceDominated}
    flips, draws = (
        compose([chosen.guarantee] * 100, "1e-6"),
        compose([BoundedRange("0.1")] * 100, "1e-6"),
    )
    assert flips.guarantee.epsilon > draws.guarantee.epsilon * Fraction(19, 10)


@pytest.mark.parametrize("family", [BoundedRange, LaplaceDominated, PureDP])
@pytest.mark.parametrize("total", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}])
def test_calibrate_is_the_inverse_of_compose(family, total):
    near = {"precision": "1e-4"} if "delta" in total else {}
    each = calibrate(family, k=12, **total, **near)
    for rate, fits in ((each, True), (each * (1 + Fraction(1, 10**4)), False)):
        composed = compose([family(rate)] * 12, total.get("delta"), "1e-4").guarantee
        if "rho" in total:
            assert (12 * family(rate).zcdp.rho <= Fraction("0.1")) == fits
        else:
            assert (composed.epsilon <= 1) == fits


def test_calibrate_checks_its_parameters():
    for wrong in (
        {"epsilon": 1, "rho": 1},
        {},
        {"delta": "0.1"},
        {"rho": 1, "delta": "0.1"},
        {"epsilon": 0},
        {"epsilon": 1, "k": 0},
        {"epsilon": 1, "k": True},
        {"epsilon": 1, "delta": 1},
    ):
        with pytest.raises(
            ParameterError, match=r"delta must|epsilon must|give exactly one|k must"
        ):
            calibrate(PureDP, **{"k": 3, **wrong})
    for family in (ZeroConcentratedDP, ApproximateDP, "PureDP", PureDP(1), int):
        with pytest.raises(ParameterError, match="family must be one of"):
            calibrate(family, k=3, epsilon=1)


def test_more_parts_cost_more():
    costs = [compose([BoundedRange("0.2")] * n, "1e-6").guarantee.epsilon for n in (1, 2, 3, 9, 40)]
    assert all(less < more for less, more in itertools.pairwise(costs))
