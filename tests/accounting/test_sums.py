"""Sums of many parameters and products of many deltas: short, and rounded towards privacy."""

from __future__ import annotations

import random
from fractions import Fraction
from math import prod

import pytest

from safeselect import ApproximateDP, ParameterError, PureDP, compose

pytestmark = pytest.mark.claim("C2")


def test_ten_thousand_approximate_parts():
    parts = [
        ApproximateDP(Fraction(1, 10**4 + i % 7), Fraction(1, 10**10 + i)) for i in range(10**4)
    ]
    composed, plain = compose(parts, "1e-5", None).guarantee, compose(parts).guarantee
    assert composed.epsilon < plain.epsilon / 2
    assert Fraction(999, 10**9) < plain.delta < Fraction(1, 10**6)


def test_deltas_that_leave_nothing_are_refused():
    """Far below the smallest step of the product, which must not be taken for a fresh start."""
    parts = [ApproximateDP(1, Fraction(999, 1000))] * 3000 + [ApproximateDP(2, "1e-9")]
    for delta in (None, "0.99999"):
        with pytest.raises(ParameterError, match="nothing is guaranteed"):
            compose(parts, delta)


def test_thousands_of_unlike_fractions_stay_short():
    """A common denominator would have a hundred thousand digits."""
    seeded = random.Random(7)
    parts = [PureDP(Fraction(1, seeded.randrange(10**6, 10**7))) for _ in range(2000)]
    twice = [ApproximateDP(1, part.epsilon / 10**6) for part in parts[:500]] * 2
    exact = sum(each.epsilon for each in parts[:300])
    assert exact <= compose(parts[:300]).guarantee.epsilon <= exact * (1 + Fraction(1, 2**60))
    assert compose(parts).guarantee.epsilon.numerator.bit_length() <= 64
    exact = 1 - prod(1 - part.delta for part in twice)
    assert exact <= compose(twice).guarantee.delta <= exact * (1 + Fraction(1, 2**60))
