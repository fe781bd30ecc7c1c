"""The adaptive optimum: known values, adversaries, and what must never happen."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from composed import composed_epsilon
from effort import some

from safeselect import (
    ApproximateDP,
    BoundedRange,
    GaussianDP,
    LaplaceDominated,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
    compose,
)
from safeselect.accounting import (
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
    compose_delta,
)
from safeselect.accounting.optimum.curve import backward, start
from vectors import vectors

pytestmark = pytest.mark.claim("C2")
VECTORS = vectors("accounting")


def named(name: str, number: int = 0) -> dict[str, dict[str, str]]:
    return [case for case in VECTORS if case["name"].startswith(name)][number]


def between(composed, value: str, width: Fraction, digits: int = 15) -> None:
    """The bracket of a delta holds the value, which is known to so many digits, and is narrow."""
    slack, true = Fraction(1, 10**digits), Fraction(value)
    upper = composed.guarantee.delta
    assert composed.lower <= true * (1 + slack)
    assert upper >= true * (1 - slack)
    assert upper <= composed.lower * (1 + width)


@pytest.mark.parametrize(
    ("parts", "epsilon", "value"),
    [
        ([LaplaceDominated(1)] * 2, 1, "0.24183667535920822050"),
        ([LaplaceDominated("1/2"), PureDP("1/2")], "1/2", "0.13768751663174727211"),
        ([BoundedRange(1)] * 2, 0, "0.30336549648318225911"),
        ([BoundedRange(1)] * 2, "1/2", "0.15245190679866558650"),
        ([BoundedRange(1), BoundedRange("1/2")], "1/2", "0.096530846010741452506"),
        ([BoundedRange(1), GaussianDP(Fraction(16, 9))], 5, "0.00086851931021696992602"),
        ([BoundedRange("1/2")] * 3, 0, "0.1855680258250338"),
    ],
)
def test_vectors_of_several_parts(parts, epsilon, value):
    """Groups m2 and m3: worked out in 256 bits, elsewhere, from the recursion."""
    assert any(value in map(str, case["output"].values()) for case in VECTORS)
    between(compose_delta(parts, epsilon, "1e-5"), value, Fraction(1, 10**5))


def test_of_unlike_ranges_the_order_that_costs_more():
    """Group m3: of two unlike ranges, the order that costs more is the optimum."""
    case = named("ranges 1 first, 1/2 last")["output"]
    step, one, half = Fraction(1, 200), (200, 1), (100, 1)
    for name, first, last in (("one_then_half", one, half), ("half_then_one", half, one)):
        row = backward(backward(start(step), *last, 400), *first, 400)
        value = float(case[name])
        assert row.lower[100] <= value * (1 + 1e-12)
        assert value * (1 - 1e-12) <= row.upper[100] <= value * (1 + 1e-4)
    # The same in the other order of the list, and in both the bound covers the worse order.
    for parts in ([BoundedRange(1), BoundedRange("1/2")], [BoundedRange("1/2"), BoundedRange(1)]):
        between(compose_delta(parts, "1/2"), case["half_then_one"], Fraction(1, 10**5))
    assert float(case["half_then_one"]) > 1.05 * float(case["one_then_half"])


def test_equal_pure_parts_have_their_optimum_exactly():
    value = Fraction(named("k pure, optimum")["output"]["epsilon"])
    composed = compose([PureDP("1/2")] * 16, "1e-6")
    assert value * (1 - Fraction(1, 10**19)) <= composed.guarantee.epsilon
    assert composed.guarantee.epsilon <= value * (1 + Fraction(1, 10**9))
    assert value * (1 - Fraction(1, 10**8)) <= composed.lower <= value


def test_approximate_parts():
    """Groups m2 and m4: the delta of each part is an infinite loss."""
    two, mixed = [ApproximateDP(".5", "1e-4")] * 2, [ApproximateDP(".5", ".001"), PureDP(".5")]
    cases = (two, "3/5", "2 approximate"), (mixed, "1/2", "ApproximateDP(1/2,1e-3)")
    for parts, at, name in cases:
        value, found = Fraction(named(name)["output"]["delta"]), compose_delta(parts, at)
        assert value * (1 - Fraction(1, 10**18)) <= found.guarantee.delta
        assert found.guarantee.delta <= value * (1 + Fraction(1, 10**9))


BRACKETS = {
    "16 ranges": ([BoundedRange("1/2")] * 16, "4.752039333", "4.752040183"),
    "with noise": ([BoundedRange(".5"), GaussianDP(".04")] * 16, "6.452592387", "6.452593051"),
    "16 Laplace": ([LaplaceDominated("1/2")] * 16, "7.94541", "7.94541564"),
}


@pytest.mark.parametrize("name", some(BRACKETS, 6))
def test_brackets_overlap_those_of_another_program_and_are_as_narrow_as_asked(name):
    parts, lower, upper = BRACKETS[name]
    composed = compose(parts, "1e-6")
    assert composed.lower <= Fraction(upper)
    assert composed.guarantee.epsilon >= Fraction(lower)
    assert composed.guarantee.epsilon <= composed.lower * (1 + Fraction(1, 10**6))
    assert "optimum" in composed.theorem or "dominating pairs" in composed.theorem


def recursion(ranges: list[float], x: mpmath.mpf) -> mpmath.mpf:
    """T of the first range on T of the others, by search over the offset: no grid, no chord."""
    if not ranges:
        return max(1 - x, mpmath.mpf(0))
    e = ranges[0]
    whole = 1 - mpmath.exp(-e)
    if len(ranges) == 1:
        if x >= mpmath.exp(e):
            return mpmath.mpf(0)
        if x <= mpmath.exp(-e):
            return 1 - x
        return (1 - mpmath.sqrt(x * mpmath.exp(-e))) ** 2 / whole

    def value(t):
        p, one = (1 - mpmath.exp(t - e)) / whole, recursion(ranges[1:], x * mpmath.exp(-t))
        return p * one + (1 - p) * recursion(ranges[1:], x * mpmath.exp(e - t))

    offsets = [e * i / 24 for i in range(25)]
    best = max(range(25), key=lambda i: value(offsets[i]))
    low, high = offsets[max(0, best - 1)], offsets[min(24, best + 1)]
    for _ in range(40):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if value(left) < value(right) else (low, right)
    return value((low + high) / 2)


@pytest.mark.parametrize(
    ("ranges", "at"), [(("0.7", "0.7"), "0.2"), (("2", "2"), "1.3"), (("0.9", "0.3"), "0.4")]
)
def test_two_ranges_against_the_recursion(ranges, at):
    """Values that are on no list.  With unequal ranges the better order is the optimum."""
    with mpmath.workdps(25):
        orders = [ranges, ranges[::-1]]
        true = max(
            recursion([mpmath.mpf(e) for e in o], mpmath.exp(mpmath.mpf(at))) for o in orders
        )
        value = mpmath.nstr(true, 18)
    between(
        compose_delta([BoundedRange(e) for e in ranges], at, "1e-5"), value, Fraction(1, 10**5), 12
    )


def test_delta_at_the_sum_is_nothing():
    assert compose_delta([BoundedRange("0.3")] * 3, "0.9").guarantee == PureDP("0.9")
    assert compose_delta([], 1).guarantee == PureDP(1)
    with pytest.raises(ParameterError, match="no delta below 1"):
        compose_delta([ZeroConcentratedDP(100)], 0)
    for wrong in (-1, "x", None, True):
        with pytest.raises(ParameterError, match="epsilon"):
            compose_delta([PureDP(1)], wrong)


@pytest.mark.slow("a product of long laws")
def test_lists_of_a_thousand_million_end():
    """Losses of tens of millions of steps, of which no list of places is made."""
    parts = [(DiscreteLaplace("1/7", 2), 5000), (DiscreteLaplace("1/5"), 10**9)]
    found = composed_epsilon([*parts, (LaplaceDominated("1/2"), 6)], "1/10", Fraction(1, 100))
    assert 19_000_000 < found < 21_000_000


def test_deltas_too_small_to_be_stated_are_the_least():
    least = Fraction(1, 2**4000)
    for epsilon in (10**4, 10**6, 10**30):
        assert GaussianDP(1).delta(epsilon) == least
    assert least < GaussianDP(1).delta(70) < Fraction(1, 2**3000)
    noise = [ZeroConcentratedDP("0.01"), GaussianDP(9)]
    assert compose_delta(noise, 10**6).guarantee.delta == least
    large = [*noise, BoundedRange(10**30)]
    assert compose_delta(large, 10**30 + 10**29).guarantee.delta == least
    with pytest.raises(ParameterError, match="no delta below 1 is proved"):
        compose_delta(large, 10**6)
    assert compose([GaussianDP(1)] * 2, "1e-300").guarantee.epsilon < 60


@pytest.mark.parametrize(
    "parts",
    [
        [(GaussianDP(10**12), 513), (LaplaceDominated("23/7"), 2)],
        [(LaplaceDominated(3), 10**15), (BoundedRange(1), 10**15)],
        [(LaplaceDominated(3), 10**8), (GaussianDP(10**7), 2)],
    ],
)
def test_lists_whose_exponentials_no_number_holds_have_a_bound(parts):
    for delta in ("1e-30", "0.1"):
        assert 10**6 < composed_epsilon(parts, delta, Fraction(1, 100)) < 10**16
    assert compose([part for part, _ in parts], "1e-30", "1e-2").guarantee.epsilon > 0
    with pytest.raises(ParameterError, match="no delta below 1 is proved"):
        compose_delta([GaussianDP(10**12), LaplaceDominated(1)], 1)


DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("own", ["1e-6", "1e-7", "1e-30"])
def test_an_approximate_part_has_its_randomized_response(own):
    found = compose([ApproximateDP(1, own)], DELTA)
    rest = (DELTA - Fraction(own)) / (1 - Fraction(own))
    response = PureDP(1).approximate(rest).epsilon if rest else Fraction(1)
    assert response * (1 - Fraction(1, 10**8)) <= found.lower <= response
    assert found.lower <= found.guarantee.epsilon


@pytest.mark.parametrize(
    "law", [DiscreteGaussian(25), DiscreteLaplace("1/2", 3), RandomizedResponse("1/4", 5)]
)
def test_one_known_law_has_a_lower_end(law):
    found = compose([law], DELTA, "1e-3")
    assert found.guarantee.epsilon * Fraction(99, 100) < found.lower <= found.guarantee.epsilon
