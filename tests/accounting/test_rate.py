"""The rate that a total allows: certified, nearly the largest, and found in bounded time."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from composed import composed_epsilon
from effort import pairs, some
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import BoundedRange, GaussianDP, LaplaceDominated, PureDP, calibrate, compose
from safeselect.accounting import rate as rates
from safeselect.accounting.bounds import known_bounds
from safeselect.accounting.moments import epsilon_at_order
from safeselect.accounting.rate import per_draw_epsilon

FAMILIES = (BoundedRange, LaplaceDominated, PureDP)
MILLIONTH = Fraction(1, 10**6)
MANY = [(10, "0.1", "1e-9"), (2, "1", "1e-6"), (100, "1", "0.1"), (10, "8", "1e-6")]
TOTALS = [("0.1", "1e-9"), ("1", "1e-6"), ("1", "0.1"), ("8", "1e-6"), ("0.01", "0.3")]
FAST = settings(derandomize=True, deadline=None, max_examples=25)


def best_over_orders(family, each: Fraction, count: int, delta: Fraction) -> Fraction:
    """The smallest certified epsilon on a fine scale of orders, from above."""
    best = None
    orders, step = [Fraction(2) ** x for x in range(-10, 20)], Fraction(1, 2)
    for _ in range(5):
        found = min(
            orders, key=lambda x: epsilon_at_order([(family(each), count)], delta, x, 128).upper
        )
        best = epsilon_at_order([(family(each), count)], delta, found, 128).fractions()[1]
        orders = [found * (1 + step * x / 8) for x in range(-8, 9) if step * x > -8]
        step /= 5
    return best


@pytest.mark.claim("C2")
@pytest.mark.parametrize(("total", "family"), some(product(MANY, FAMILIES), 2))
def test_epsilon_with_delta_over_many_draws(total, family):
    count, epsilon, delta = total[0], Fraction(total[1]), Fraction(total[2])
    each = per_draw_epsilon(family, count, epsilon=epsilon, delta=delta)
    # Certified, by whoever adds it up.
    assert composed_epsilon([(family(each), count)], delta) <= epsilon
    # Never below what needs no delta.
    assert each >= epsilon / count
    # Maximal: a millionth more is not certified at any order.
    more = each * (1 + MILLIONTH)
    assert best_over_orders(family, more, count, delta) > epsilon
    assert count * more > epsilon


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("epsilon", "delta"), TOTALS)
def test_epsilon_with_delta_for_one_draw(family, epsilon, delta):
    """One draw is billed by its exact curve, which allows more than the accountant would."""
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    each = per_draw_epsilon(family, 1, epsilon=epsilon, delta=delta)
    assert each >= epsilon
    assert family(each).approximate(delta).epsilon <= epsilon
    assert family(each * (1 + MILLIONTH)).approximate(delta).epsilon > epsilon
    assert each > per_draw_epsilon(family, 2, epsilon=epsilon, delta=delta)


EXTREMES = [
    (Fraction(1, 10**40), Fraction(1, 10**300)),
    (Fraction(1, 10**40), Fraction(1, 10**20)),
    (Fraction(3, 10), 1 - Fraction(1, 2**60)),
    (Fraction(10**6), Fraction(1, 10**300)),
    (Fraction(10**6), 1 - Fraction(1, 2**60)),
    (Fraction(1, 2**1000), Fraction(1, 2)),
]


@pytest.mark.parametrize(
    ("family", "count", "total"), pairs([BoundedRange, PureDP], [1, 2, 5000], EXTREMES)
)
def test_extreme_totals_end_and_hold(family, count, total):
    """The search for an order is a search on rounded numbers: it must end all the same."""
    epsilon, delta = total
    each = per_draw_epsilon(family, count, epsilon=epsilon, delta=delta)
    assert each >= epsilon / count
    if count == 1:
        assert family(each).approximate(delta).epsilon <= epsilon
    else:
        assert composed_epsilon([(family(each), count)], delta) <= epsilon


@given(
    family=st.sampled_from(FAMILIES),
    size=st.integers(-28, 6),
    digits=st.integers(10**6, 10**7 - 1),
    count=st.sampled_from([1, 2, 7, 1000]),
)
@FAST
def test_the_epsilon_of_a_rho_is_the_largest_of_32_digits(family, size, digits, count):
    """But where the next number costs the total up to 2**-60 of it, which a guess may miss."""
    rho = count * Fraction(digits, 10**6) * Fraction(10) ** (size // 2)
    each = per_draw_epsilon(family, count, rho=rho)
    assert count * family(each).zcdp.rho <= rho
    bits = each.numerator.bit_length() - each.denominator.bit_length()
    assert count * family(each + Fraction(2) ** (bits - 31)).zcdp.rho > rho


@pytest.mark.claim("C2")
def test_what_a_search_finds_beyond_the_total_is_cut_until_it_is_within(monkeypatch):
    """No total is known for which a search goes beyond it; this one is made to."""
    total, delta, tried = Fraction(2), Fraction(1, 10**6), []

    def known(parts, *given):
        tried.append(parts[0][0].epsilon)
        return known_bounds(parts, *given)

    monkeypatch.setattr(rates, "_within_other_bounds", lambda *given: Fraction(6, 5))
    monkeypatch.setattr(rates, "known_bounds", known)
    per_draw_epsilon.cache_clear()
    try:
        each = per_draw_epsilon(LaplaceDominated, 5, epsilon=total, delta=delta)
    finally:
        per_draw_epsilon.cache_clear()
    assert composed_epsilon([(LaplaceDominated(each), 5)], delta) <= total
    assert total / 5 <= each < Fraction(6, 5)
    # Cuts begin with the last digit of a rate, and double.
    assert tried[0] == Fraction(6, 5)
    assert Fraction(6, 5) - tried[1] < Fraction(1, 2**30)
    assert 20 < len(tried) < 40


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


@pytest.mark.parametrize("epsilon", [2**26, 2**27, 2**30, 2**45, 2**50, 10**100])
def test_totals_whose_exponentials_no_number_holds_are_calibrated(epsilon: int) -> None:
    """The guess of a search must end, too."""
    for family in (BoundedRange, LaplaceDominated):
        each = calibrate(family, k=2, epsilon=epsilon, delta="1e-6")
        assert each >= Fraction(epsilon, 2)
        assert compose([family(each)] * 2, "1e-6").guarantee.epsilon <= epsilon
        assert 0 < 2 * family(calibrate(family, k=2, rho=epsilon)).zcdp.rho <= epsilon
    below, above = GaussianDP(2**30).delta(2**26), GaussianDP(2**30).delta(2**26 + 1)
    assert 0 < above <= 1
    assert below <= 1
    assert Fraction(49, 100) < GaussianDP(2 * epsilon).delta(epsilon) < Fraction(51, 100)


@pytest.mark.slow("brackets of rows of a thousand ranges")
@pytest.mark.parametrize(("k", "epsilon", "delta"), some([(10, 1, "1e-6"), (100, 8, "1e-9")], 2))
def test_a_calibrated_rate_is_near_what_the_lower_end_allows(k, epsilon, delta):
    """At most 1/2 % below: at a rate as much larger the lower end is above the total."""
    each = calibrate(BoundedRange, k=k, epsilon=epsilon, delta=delta)
    assert compose([BoundedRange(each)] * k, delta, 1).guarantee.epsilon <= epsilon
    larger = Fraction(round(each * 2**40 * Fraction(1000, 995)), 2**40)
    assert compose([BoundedRange(larger)] * k, delta).lower > epsilon
