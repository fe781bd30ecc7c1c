"""The pair of zCDP bounds every mechanism that has it, also several of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safeselect import BoundedRange, GaussianDP, PureDP, ZeroConcentratedDP, compose
from safeselect.accounting.optimum.concentrated import hull, values_above
from safeselect.accounting.optimum.pairs import profile

pytestmark = pytest.mark.claim("C2")

BITS = 128


@pytest.mark.parametrize("rho", ["1/2000", "1/50", "1/4", "3"])
def test_bounds_are_above_the_profiles_of_what_has_it(rho: str) -> None:
    """Gaussian noise, and randomized response whose zCDP is no more."""
    own = Fraction(rho)
    epsilon = 4 * own + 1
    while PureDP(epsilon).zcdp.rho > own:
        epsilon /= 2
    step = Fraction(1, 50)
    values = values_above(own, step, 100, BITS)
    for pair in (GaussianDP(2 * own), PureDP(epsilon)):
        for place, value in enumerate(values):
            assert value >= profile(pair, step * place, BITS).scaled(BITS)[0]
    assert values == sorted(values, reverse=True)


def test_bounds_are_those_of_the_best_order() -> None:
    """Within a thousandth of it, wherever that says less than 1."""
    rho, step = Fraction(1, 50), Fraction(1, 10)
    for place, value in enumerate(values_above(rho, step, 16, BITS)[5:], 5):
        s, best = float(step) * place, 1.0
        for tenth in range(1, 4000):
            x = tenth / 40
            log = x * (1 + x) * 0.02 - x * s
            best = min(best, 2.718281828459045**log * x**x / (1 + x) ** (1 + x))
        assert best * 0.999 < value / 2**BITS < best * 1.001


def test_an_envelope_is_below_its_points_and_above_what_is_convex() -> None:
    step = Fraction(1, 4)
    truth = [profile(PureDP(2), step * place, BITS).scaled(BITS)[1] for place in range(9)]
    raised = [value + (value >> 3) * (place % 3 == 1) for place, value in enumerate(truth)]
    found = hull(raised, step, BITS)
    assert all(t <= f <= r for t, f, r in zip(truth, found, raised, strict=True))
    assert found != raised
    assert hull(truth, step, BITS) == truth


@pytest.mark.parametrize("parts", [1, 3])
def test_a_list_with_zcdp_costs_no_less_than_what_has_it(parts: int) -> None:
    """Of Gaussian noise, and of the pure guarantee with the same rho; and no more than moments."""
    ranges, pure = [BoundedRange("1/10")] * 16, PureDP("1/10")
    listed = [*ranges, *[pure.zcdp] * parts]
    found = compose(listed, "1e-6", "1e-3")
    assert found.guarantee.epsilon <= compose(listed, "1e-6", None).guarantee.epsilon
    for other in (pure, GaussianDP(2 * pure.zcdp.rho)):
        assert compose([*ranges, *[other] * parts], "1e-6", "1e-3").lower <= found.guarantee.epsilon
    assert 0 < found.lower <= found.guarantee.epsilon
    assert found.lower > found.guarantee.epsilon * Fraction(9, 10)


def test_the_envelope_is_better_than_moments_beside_ranges() -> None:
    """Moments say 0.888, and nothing is below 0.848: more than half of that is closed."""
    listed = [*[BoundedRange("1/10")] * 16, ZeroConcentratedDP("1/1000")]
    moments = compose(listed, "1e-6", None).guarantee.epsilon
    found = compose(listed, "1e-6", "1e-4")
    assert Fraction("0.887") < moments < Fraction("0.889")
    assert Fraction("0.848") < found.lower < found.guarantee.epsilon < Fraction("0.864")
