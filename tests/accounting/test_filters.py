"""Caps fixed at the opening, and the counterexample that shows why they must be."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest

from safeselect import (
    ApproximateDP,
    BoundedRange,
    BudgetError,
    LaplaceDominated,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
    compose,
)
from safeselect.accounting.filters import (
    ApproximateFilter,
    EpsilonFilter,
    OrderFilter,
    RhoFilter,
    charged,
)
from safeselect.accounting.orders import epsilon_by_orders, log_moment

FILTERS = [
    EpsilonFilter(1),
    RhoFilter("0.1"),
    ApproximateFilter(1, "1e-6"),
    OrderFilter(20, 1, "1e-6"),
]


def spend(filter_, guarantees):
    """What is spent after all of them, or None where one is refused."""
    spent = None
    for guarantee in guarantees:
        try:
            spent = charged(filter_, spent, guarantee)
        except BudgetError:
            return None
    return spent


# ------------------------------------------------------------------------- the counterexample

FIRST = PureDP("0.044")
AFTER = {True: [PureDP("0.3214")] * 3, False: [PureDP("0.1363")] * 8}
"""What is asked next, by whether the first randomized response had a positive loss."""
REPORTED = Fraction("8.379e-4")


def true_delta(at) -> mpmath.mpf:
    """Of randomized response of FIRST, then of those that its answer asks for."""
    total = mpmath.mpf(0)
    for positive, rest in AFTER.items():
        each, count = mpmath.mpf(str(float(rest[0].epsilon))), len(rest)
        first = mpmath.mpf("0.044") * (1 if positive else -1)
        for flips in range(count + 1):
            loss = first + (count - 2 * flips) * each
            chance = comb(count, flips) / (1 + mpmath.exp(-first))
            chance *= mpmath.exp(-flips * each) / (1 + mpmath.exp(-each)) ** count
            total += chance * max(0, 1 - mpmath.exp(at - loss))
    return total


def test_the_best_order_of_the_realised_list_is_wrong():
    """Each list alone, its best order chosen afterwards, seems to cost epsilon 1 at 8.379e-4."""
    for rest in AFTER.values():
        parts = [(FIRST, 1), (rest[0], len(rest))]
        assert epsilon_by_orders(parts, REPORTED)[0] <= 1
    with mpmath.workdps(30):
        true = true_delta(1)
    assert mpmath.mpf("9.594e-4") < true < mpmath.mpf("9.595e-4")
    assert true > float(REPORTED) * 1.14


@pytest.mark.parametrize("order", ["6.5", 8, 10, "14.7", 20, 40, 118, 119, 150, 300])
def test_an_order_fixed_in_advance_refuses_what_would_break_the_promise(order):
    filter_ = OrderFilter(order, 1, REPORTED)
    spent = [spend(filter_, [FIRST, *rest]) for rest in AFTER.values()]
    assert None in spent
    # Where both are let through, the promise is true.
    larger = OrderFilter(order, 1, "0.01")
    if None not in [spend(larger, [FIRST, *rest]) for rest in AFTER.values()]:
        assert true_delta(1) <= 0.01


def test_some_fixed_order_lets_both_through_at_an_honest_delta():
    filter_ = OrderFilter(20, 1, "0.003")
    assert None not in [spend(filter_, [FIRST, *rest]) for rest in AFTER.values()]
    assert true_delta(1) <= 0.003


# --------------------------------------------------------------------------------- each filter


@pytest.mark.parametrize("filter_", FILTERS, ids=lambda each: type(each).__name__)
def test_costs_add_up_to_the_cap_and_not_beyond(filter_):
    part, spent, charges = BoundedRange("0.07"), None, 0
    while True:
        try:
            after = charged(filter_, spent, part)
        except BudgetError:
            break
        spent, charges = after, charges + 1
        assert all(have <= cap for have, cap in zip(spent, filter_.caps, strict=True))
    assert charges >= 1
    assert spent == tuple(charges * cost for cost in filter_.costs(part))
    with pytest.raises(BudgetError, match="beyond its cap"):
        charged(filter_, spent, part)
    # A refusal spends nothing: something smaller still fits.
    assert charged(filter_, spent, PureDP(0)) == spent
    # What was spent is worth the promise: the same list, fixed in advance, costs no more.
    promise = filter_.guarantee
    if isinstance(promise, ApproximateDP):
        assert compose([part] * charges, promise.delta).guarantee.epsilon <= promise.epsilon
    elif isinstance(promise, ZeroConcentratedDP):
        assert charges * part.zcdp.rho <= promise.rho
    else:
        assert charges * part.epsilon <= promise.epsilon


def test_one_order_allows_more_than_a_sum():
    order = compose([BoundedRange("0.05")] * 100, "1e-6").order
    filter_ = OrderFilter(
        order, compose([BoundedRange("0.05")] * 100, "1e-6").guarantee.epsilon, "1e-6"
    )
    assert spend(filter_, [BoundedRange("0.05")] * 99) is not None
    assert spend(filter_, [BoundedRange("0.05")] * 102) is None
    assert spend(EpsilonFilter(filter_.epsilon), [BoundedRange("0.05")] * 60) is None


def test_costs_are_rounded_up_and_caps_down():
    filter_ = OrderFilter(5, 3, "1e-3")
    for part in (
        BoundedRange("0.3"),
        LaplaceDominated("0.3"),
        PureDP("0.3"),
        ZeroConcentratedDP(1),
    ):
        (cost,) = filter_.costs(part)
        low, high = log_moment(part, Fraction(4), 200).fractions()
        assert low <= cost <= high * (1 + Fraction(1, 2**60))
    with mpmath.workdps(40):
        exact = 4 * 3 + mpmath.log(mpmath.mpf(1) / 1000) - 4 * mpmath.log(4) + 5 * mpmath.log(5)
        (cap,) = filter_.caps
        ours = mpmath.mpf(cap.numerator) / cap.denominator
        assert exact * (1 - mpmath.mpf(2) ** -60) <= ours <= exact


@pytest.mark.parametrize(
    ("filter_", "guarantee"),
    [
        (EpsilonFilter(1), ZeroConcentratedDP(1)),
        (EpsilonFilter(1), ApproximateDP(1, "1e-9")),
        (RhoFilter(1), ApproximateDP(1, "1e-9")),
        (ApproximateFilter(1, "1e-6"), ZeroConcentratedDP("0.1")),
        (OrderFilter(20, 1, "1e-6"), ApproximateDP("0.1", "1e-9")),
    ],
)
def test_what_does_not_fit_is_refused(filter_, guarantee):
    with pytest.raises(ParameterError, match="cannot be charged with"):
        charged(filter_, None, guarantee)


def test_deltas_have_a_cap_of_their_own():
    filter_ = ApproximateFilter(10, "2.5e-9")
    parts = [ApproximateDP("0.1", "1e-9")]
    assert spend(filter_, parts * 2) == (Fraction(2, 10), Fraction(2, 10**9))
    assert spend(filter_, parts * 3) is None


def test_parameters_of_filters():
    for make in (
        lambda: EpsilonFilter(0),
        lambda: RhoFilter(-1),
        lambda: ApproximateFilter(1, 1),
        lambda: OrderFilter(1, 1, "1e-6"),
        lambda: OrderFilter(20, 0, "1e-6"),
    ):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(ParameterError, match="leaves nothing to spend"):
        OrderFilter(2, 1, "1e-6")
