"""Brackets of lists: unlike ranges on one grid, finer precisions, and where the answer is exact."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from safeselect import (
    ApproximateDP,
    BoundedRange,
    GaussianDP,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
    calibrate,
    compose,
)
from safeselect.accounting import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
from safeselect.accounting.optimum.problem import Problem, ranges_of

DELTA = Fraction(1, 10**6)
UNLIKE = {
    "two": [BoundedRange("0.613")] * 8 + [BoundedRange("0.417")] * 8,
    "three": [BoundedRange(f"0.{digits}") for digits in (613, 417, 251) for _ in range(4)],
    "many digits": [BoundedRange(Fraction(2**40 + 1, 2**41))] * 6 + [BoundedRange("1/3")] * 6,
    "with a pair": [BoundedRange("1/2")] * 5
    + [BoundedRange("1/3")] * 5
    + [LaplaceDominated("0.3141")] * 3,
    "alone, of many digits": [BoundedRange(Fraction(7**30, 8**30))] * 4,
}


@pytest.mark.parametrize("name", UNLIKE)
def test_unlike_ranges_are_as_near_as_like_ones(name):
    found = compose(UNLIKE[name], DELTA, "1e-3")
    assert 0 < found.lower <= found.guarantee.epsilon <= found.lower * Fraction(1001, 1000)


@pytest.mark.slow("grids that double")
@pytest.mark.parametrize("name", UNLIKE)
def test_a_finer_precision_is_never_worse(name):
    found = [compose(UNLIKE[name], DELTA, p) for p in ("1", "1e-2", "2e-3", "5e-4", "1e-4")]
    uppers = [each.guarantee.epsilon for each in found]
    lowers = [each.lower for each in found]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("cells", [16, 64, 100])
def test_ranges_are_rounded_to_the_side_of_the_bound(name, cells):
    parts = [(part, 1) for part in UNLIKE[name]]
    problem = Problem.of(parts, DELTA, Fraction(8))
    true = sorted(
        epsilon for part, _ in parts if isinstance(part, BoundedRange) for epsilon in [part.epsilon]
    )
    for upwards in (True, False):
        step, listed = problem.on_grid(cells, upwards=upwards)
        found = sorted(e for e, n in ranges_of(listed) for _ in range(n))
        assert len(found) == len(true)
        assert all((a >= b) if upwards else (a <= b) for a, b in zip(found, true, strict=True))
        assert all(abs(a - b) <= b / 50 for a, b in zip(found, true, strict=True))
        if all(not each % step for each in true):
            assert found == true


def exact(part, delta: Fraction) -> mpmath.mpf:
    """The least epsilon by the published formulas, at forty digits."""
    d = mpmath.mpf(delta.numerator) / delta.denominator
    if isinstance(part, GaussianDP):
        mu = mpmath.sqrt(mpmath.mpf(part.mu_squared.numerator) / part.mu_squared.denominator)

        def off(e):
            tail = mpmath.ncdf(mu / 2 - e / mu)
            return mpmath.log((tail - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)) / d)

        return mpmath.findroot(off, (mu * 3, mu * 5), solver="secant")
    e = mpmath.mpf(part.epsilon.numerator) / part.epsilon.denominator
    if isinstance(part, LaplaceDominated):
        return e + 2 * mpmath.log(1 - d)
    if isinstance(part, BoundedRange):
        return e + 2 * mpmath.log(1 - mpmath.sqrt(d * (1 - mpmath.exp(-e))))
    return e + mpmath.log(1 - d * (1 + mpmath.exp(-e)))


@pytest.mark.parametrize(
    "part",
    [
        PureDP(1),
        PureDP("0.01"),
        LaplaceDominated("0.5"),
        BoundedRange("0.5"),
        BoundedRange(6),
        GaussianDP("1/25"),
    ],
)
@pytest.mark.parametrize("precision", ["1e-6", None])
def test_one_part_has_its_formula_from_both_sides(part, precision):
    found = compose([part], DELTA, precision)
    with mpmath.workdps(40):
        true = exact(part, DELTA)
        low, high = (
            mpmath.mpf(x.numerator) / x.denominator for x in (found.lower, found.guarantee.epsilon)
        )
        assert (
            true * (1 - mpmath.mpf(10) ** -8)
            < low
            < true
            <= high
            < true * (1 + mpmath.mpf(10) ** -8)
        )


def test_gaussian_parts_have_that_of_their_sum():
    squares = [Fraction(1, 25), Fraction(1, 7), Fraction(3, 11)]
    found = compose([GaussianDP(each) for each in squares], DELTA)
    alone = compose([GaussianDP(sum(squares))], DELTA)
    assert found.lower == alone.lower > found.guarantee.epsilon * (1 - Fraction(1, 10**8))


@pytest.mark.parametrize("own", ["1e-6", "1e-7", "1e-30"])
def test_an_approximate_part_has_its_randomized_response(own):
    found = compose([ApproximateDP(1, own)], DELTA)
    rest = (DELTA - Fraction(own)) / (1 - Fraction(own))
    response = PureDP(1).approximate(rest).epsilon if rest else Fraction(1)
    assert response * (1 - Fraction(1, 10**8)) <= found.lower <= response
    assert found.lower <= found.guarantee.epsilon


def test_several_approximate_parts_have_a_lower_end_too():
    found = compose([ApproximateDP("1/2", "1e-8")] * 3 + [PureDP("1/4")], DELTA)
    assert (
        found.guarantee.epsilon * (1 - Fraction(1, 10**8)) < found.lower < found.guarantee.epsilon
    )


@pytest.mark.parametrize(
    "law", [DiscreteGaussian(25), DiscreteLaplace("1/2", 3), RandomizedResponse("1/4", 5)]
)
def test_one_known_law_has_a_lower_end(law):
    found = compose([law], DELTA, "1e-3")
    assert found.guarantee.epsilon * Fraction(99, 100) < found.lower <= found.guarantee.epsilon


def test_nothing_better_than_nothing_is_known_of_zcdp():
    assert compose([ZeroConcentratedDP("1/10")], DELTA).lower == 0


@pytest.mark.slow("brackets of rows of a thousand ranges")
@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), [(10, 1, "1e-6"), (100, 8, "1e-9"), (1000, 1, "1e-6")]
)
def test_a_calibrated_rate_is_near_what_the_lower_end_allows(k, epsilon, delta):
    """At most 1/2 % below: at a rate as much larger the lower end is above the total."""
    each = calibrate(BoundedRange, k=k, epsilon=epsilon, delta=delta)
    assert compose([BoundedRange(each)] * k, delta, 1).guarantee.epsilon <= epsilon
    larger = Fraction(round(each * 2**40 * Fraction(1000, 995)), 2**40)
    assert compose([BoundedRange(larger)] * k, delta).lower > epsilon
