"""Never above another valid bound, never below what an adversary reaches.

The other bounds are those of the same list taken for less than it is: each follows from a theorem
of its own, and none is computed by the recursion that is tested here.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from effort import LONG

from safeselect import BoundedRange, GaussianDP, LaplaceDominated, PureDP, compose
from safeselect.accounting import DiscreteLaplace, RandomizedResponse, compose_delta

pytestmark = pytest.mark.claim("C2")


# ------------------------------------------------------------------------------------- adversaries


def phi(x):
    """The normal distribution function, to 1e-7 (Abramowitz and Stegun 1964, 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    terms = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    tail = (
        np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * sum(c * t ** (i + 1) for i, c in enumerate(terms))
    )
    return np.where(x >= 0, 1 - tail, tail)


def laplace(x):
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def two_outcomes(part, u, v):
    """Chances of the first of two outcomes on both data sets; u and v are the adversary's choice.

    Ranges: an exponential mechanism of two candidates.  Pure guarantees: any two losses within the
    range.  Noise: whether the number is below a place.
    """
    if isinstance(part, BoundedRange):
        e = float(part.epsilon)
        t = e * np.clip(0.5 + (u - 0.5) / 2, 0, 1)
        p = (1 - np.exp(t - e)) / (1 - np.exp(-e))
        return p, p * np.exp(-t)
    if isinstance(part, PureDP):
        e = float(part.epsilon)
        up, down = e * np.maximum(np.sqrt(u), 1e-3), e * np.maximum(np.sqrt(v), 1e-3)
        p = np.expm1(down) / (np.exp(down) - np.exp(-up))
        return p, p * np.exp(-up)
    if isinstance(part, RandomizedResponse):
        other = float(part.p / part.n)
        kept = 1 - float(part.p) + other
        return np.where(u < 0.5, kept, other), np.where(u < 0.5, other, kept)
    if isinstance(part, LaplaceDominated):
        e = float(part.epsilon)
        place = e * (3 * u - 1)
        return laplace(place), laplace(place - e)
    if isinstance(part, DiscreteLaplace):
        e, moved = float(part.epsilon), part.shift
        place = np.floor(u * (moved + 1))

        def below(x):  # P(X < x)
            ratio = np.exp(-e)
            low, high = ratio ** (1 - np.minimum(x, 0)), ratio ** np.maximum(x, 1)
            return np.where(x <= 0, low, 1 + ratio - high) / (1 + ratio)

        return below(place), below(place - moved)
    mu = float(part.mu_squared) ** 0.5
    place = mu / 2 + 2 * (u - 0.5)
    return phi(place), phi(place - mu)


def adversaries(parts, number, generator):
    """At every history one of the parts that are left, and what to do with it, by chance."""
    p, q = np.ones((number, 1)), np.ones((number, 1))
    left = np.ones((number, 1, len(parts)), bool)
    for _ in parts:
        pick = (generator.random(left.shape) * left).argmax(axis=2)
        u, v = generator.random(pick.shape), generator.random(pick.shape)
        laws = np.array([two_outcomes(part, u, v) for part in parts])
        ours, theirs = np.take_along_axis(laws, pick[np.newaxis, np.newaxis], axis=0)[0]
        # Either data set may be the one whose outcome is likelier.
        turn = v * 7 % 1 < 0.5
        ours, theirs = np.where(turn, 1 - theirs, ours), np.where(turn, 1 - ours, theirs)
        p = np.concatenate([p * ours, p * (1 - ours)], axis=1)
        q = np.concatenate([q * theirs, q * (1 - theirs)], axis=1)
        left = left.copy()
        np.put_along_axis(left, pick[:, :, np.newaxis], False, axis=2)
        left = np.concatenate([left, left], axis=1)
    return p, q


LISTS = [
    ([BoundedRange(2), *[BoundedRange("0.4")] * 3], "0.7", 0.8),
    ([BoundedRange(1), PureDP("1/2"), LaplaceDominated(1)], "0.4", 0.8),
    ([BoundedRange("0.7"), BoundedRange("0.3"), GaussianDP("0.5")], "0.3", 0.6),
    ([DiscreteLaplace("0.4", 3), RandomizedResponse("0.5", 2), BoundedRange("0.8")], "0.5", 0.6),
    ([PureDP("0.6"), PureDP("0.3"), BoundedRange("0.5"), LaplaceDominated("0.4")], "0.4", 0.6),
]


@pytest.mark.parametrize(("parts", "at", "near"), LISTS, ids=str)
def test_no_adversary_of_mixed_mechanisms_exceeds_the_bound(parts, at, near):
    """100 000 that choose mechanism and order as they go on; 5 000 000 in `make nightly`."""
    generator = np.random.default_rng(2402)
    best = 0.0
    for _ in range(1000 if LONG else 20):
        p, q = adversaries(parts, 5_000, generator)
        assert np.allclose(p.sum(1), 1)
        assert np.allclose(q.sum(1), 1)
        best = max(best, np.maximum(p - np.exp(float(Fraction(at))) * q, 0).sum(1).max())
    upper = float(compose_delta(parts, at, "1e-3").guarantee.delta)
    assert best <= upper * (1 + 1e-6)
    assert best >= near * upper


@pytest.mark.slow("forty unlike laws, multiplied")
def test_many_unlike_parts_reach_the_precision():
    """Forty Laplace parts: they were made equal, and the two ends 1.5 % apart."""
    found = compose(
        [LaplaceDominated(Fraction(100 + 5 * i, 10007)) for i in range(40)], "1e-6", "1e-4"
    )
    epsilon = found.guarantee.epsilon
    assert epsilon - found.lower <= epsilon * Fraction(1, 10**4)


def test_a_large_part_is_added_alone():
    """It used to leave the optimum out for everything beside it, and said a lower end of 0."""
    small = [BoundedRange("0.1")] * 12
    rest = compose(small, "1e-6", "1e-3")
    for large in (PureDP(5), LaplaceDominated(5), BoundedRange(5)):
        found = compose([*small, large], "1e-6", "1e-3")
        assert found.guarantee.epsilon <= 5 + rest.guarantee.epsilon
        assert rest.lower <= found.lower <= found.guarantee.epsilon
    alone = compose([PureDP(5), PureDP(6)], "1e-6")
    assert alone.guarantee.epsilon <= 11
    other = compose_delta([*small, PureDP(5)], Fraction("5.6"), "1e-3")
    assert other.guarantee.delta <= compose_delta(small, Fraction("0.6"), "1e-3").guarantee.delta
