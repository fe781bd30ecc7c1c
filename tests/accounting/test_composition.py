"""The public function: the best valid bound, whatever the list, its order and its length."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from composed import composed_epsilon
from effort import some
from hypothesis import given, settings
from hypothesis import strategies as st

import safeselect as s
from safeselect.accounting import DiscreteLaplace, compose_delta
from safeselect.accounting.moments import epsilon_at_order, log_moment
from safeselect.accounting.pure import equal_pure, smallest_delta
from vectors import vectors

pytestmark = pytest.mark.claim("C2")
VECTORS = vectors("guarantees")
FAST = settings(derandomize=True, deadline=None, max_examples=25)
FREE = [s.PureDP(0), s.LaplaceDominated(0), s.BoundedRange(0), s.ZeroConcentratedDP(0)]


def test_without_delta_the_strongest_kind_that_is_proved():
    third = Fraction(1, 3)
    assert s.compose([s.BoundedRange(third)]).guarantee == s.BoundedRange(third)
    assert s.compose(
        [s.BoundedRange(third), s.LaplaceDominated(1)]
    ).guarantee == s.LaplaceDominated(Fraction(4, 3))
    assert s.compose([s.BoundedRange(third)] * 3 + [s.PureDP(1)]).guarantee == s.PureDP(2)
    assert s.compose([s.ZeroConcentratedDP("0.1")] * 3).guarantee == s.ZeroConcentratedDP("0.3")
    mixed = s.compose([s.ZeroConcentratedDP("0.1"), s.BoundedRange(1)])
    assert mixed.guarantee.rho == Fraction(1, 10) + s.BoundedRange(1).zcdp.rho
    both = s.compose([s.ApproximateDP(1, "0.1"), s.ApproximateDP(2, "0.2"), s.PureDP(1)])
    assert both.guarantee == s.ApproximateDP(4, 1 - Fraction(9, 10) * Fraction(8, 10))
    with pytest.raises(s.ParameterError, match="guarantees, pass delta="):
        s.compose([s.ApproximateDP(1, "0.1"), s.ZeroConcentratedDP(1)])


def test_order_does_not_matter_and_free_parts_are_the_identity():
    parts = [
        s.BoundedRange("1/3"),
        s.PureDP("0.7"),
        s.ZeroConcentratedDP("0.02"),
        s.LaplaceDominated(1),
    ]
    parts.append(s.ApproximateDP("0.3", Fraction(1, 10**9)))
    for some_parts in some((parts[:2], parts, parts[3:]), 2):
        other = [*FREE[2:], *reversed(some_parts), *FREE[:2]]
        assert s.compose(other, "1e-6") == s.compose(some_parts, "1e-6")


def test_a_part_must_be_a_guarantee():
    for wrong in (1, "PureDP", None, s.PureDP, s.compose([s.PureDP(1)])):
        with pytest.raises(s.ParameterError, match="every part must be a guarantee"):
            s.compose([s.PureDP(1), wrong])
    for delta in (0, 1, -1, True, "x", float("nan")):
        with pytest.raises(s.ParameterError, match="delta"):
            s.compose([s.PureDP(1)], delta)
    for precision in (0, -1, "x", True):
        with pytest.raises(s.ParameterError, match="precision"):
            s.compose([s.PureDP(1)], "1e-6", precision)


@pytest.mark.parametrize("name", VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"])
def test_two_ranges_are_billed_at_their_adaptive_optimum(name):
    """f3: at the delta of the adaptive optimum `compose` asks for its epsilon, and no less."""
    case = VECTORS["f3_BR_adaptive_vs_nonadaptive_k2"]["cases"][name]
    at = Fraction(case["eps_g"])
    composed = s.compose([s.BoundedRange(case["eps"])] * 2, case["delta_adaptive"])
    assert composed.lower <= at * (1 + Fraction(1, 10**9))
    assert at <= composed.guarantee.epsilon <= at + Fraction(1, 10**5)


def test_approximate_parts_take_their_delta_from_the_total():
    """As Kairouz, Oh and Viswanath: delta = 1 - (1 - rest) prod (1 - delta_i)."""
    own = Fraction(1, 10**7)
    parts = [s.ApproximateDP("0.1", own)] * 5
    composed = s.compose(parts, "1e-6").guarantee
    rest = 1 - (1 - Fraction(1, 10**6)) / (1 - own) ** 5
    tails = equal_pure(Fraction("0.1"), 5)
    assert smallest_delta(tails, composed.epsilon) <= rest
    assert smallest_delta(tails, composed.epsilon * (1 - Fraction(1, 10**6))) > rest
    # One alone may use all of it, and two need a little less than the sum of theirs.
    assert s.compose(parts[:1], own).guarantee == parts[0]
    # At a larger delta it costs no more than with a part beside it that costs nearly nothing.
    alone = s.compose([large := s.ApproximateDP("1/4", own)], "1/10")
    beside = s.compose([large, s.PureDP("1e-9")], "1/10").guarantee.epsilon
    assert 0 < alone.lower <= alone.guarantee.epsilon < beside < Fraction(6, 100)
    least = s.compose(parts[:2]).guarantee.delta
    assert least == 2 * own - own * own
    assert s.compose(parts[:2], least).guarantee.epsilon == Fraction(2, 10)
    with pytest.raises(s.ParameterError, match="delta must be at least"):
        s.compose(parts[:2], least - own / 1000)


KINDS = (s.BoundedRange, s.LaplaceDominated, s.PureDP, s.ZeroConcentratedDP)
DELTAS = ("1e-12", "1e-6", "0.01", "0.4")


@pytest.mark.parametrize(("kind", "count"), some(itertools.product(KINDS, [1, 2, 7, 20]), 5))
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
    middle = (total - epsilon_at_order([], Fraction(1, 2), Fraction(3), 200)).fractions()
    assert middle[0] * 3 <= whole[1]
    assert whole[0] <= middle[1] * 3


@given(
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100),
    delta=st.sampled_from(DELTAS),
)
@FAST
def test_one_part_is_never_billed_below_its_exact_curve(epsilon, delta):
    for kind in (s.BoundedRange, s.LaplaceDominated, s.PureDP):
        composed = composed_epsilon([(kind(epsilon), 1)], delta)
        assert composed >= kind(epsilon).approximate(delta).epsilon * (1 - Fraction(1, 2**60))
        # zCDP keeps less than the whole curve.
        assert composed <= kind(epsilon).zcdp.approximate(delta).epsilon * (1 + Fraction(1, 10**6))


@pytest.mark.slow("forty unlike laws, multiplied")
def test_many_unlike_parts_reach_the_precision():
    """Forty Laplace parts: they were made equal, and the two ends 1.5 % apart."""
    found = s.compose(
        [s.LaplaceDominated(Fraction(100 + 5 * i, 10007)) for i in range(40)], "1e-6", "1e-4"
    )
    epsilon = found.guarantee.epsilon
    assert epsilon - found.lower <= epsilon * Fraction(1, 10**4)


def test_a_large_part_is_added_alone():
    """It used to leave the optimum out for everything beside it, and said a lower end of 0."""
    small = [s.BoundedRange("0.1")] * 12
    rest = s.compose(small, "1e-6", "1e-3")
    for large in (s.PureDP(5), s.LaplaceDominated(5), s.BoundedRange(5), DiscreteLaplace(5)):
        found = s.compose([*small, large], "1e-6", "1e-3")
        assert found.guarantee.epsilon <= 5 + rest.guarantee.epsilon
        assert rest.lower <= found.lower <= found.guarantee.epsilon
    assert s.compose([s.PureDP(5), s.PureDP(6)], "1e-6").guarantee.epsilon <= 11
    other = compose_delta([*small, s.PureDP(5)], Fraction("5.6"), "1e-3")
    assert other.guarantee.delta <= compose_delta(small, Fraction("0.6"), "1e-3").guarantee.delta
