"""Laws among many candidates: against enumeration for few, and closed forms for many."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest
from checks.cells import ranking_law
from checks.leaders import gap_of_equals, leader_among

NOISES = pytest.mark.parametrize("noise", ["exponential", "laplace", "gumbel"])


def overlap(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


@NOISES
@pytest.mark.parametrize("k", [1, 2])
def test_one_ahead_of_two(noise, k):
    law = ranking_law(noise, [2, 0, 0], Fraction(1, 2), k=k)
    chosen = [mass for order, mass in law.items() if 0 in order]
    exact = tuple(sum(side) for side in zip(*chosen, strict=True))
    found = leader_among(noise, 0.5, 2, 2, k)
    assert overlap(found, exact)
    assert not overlap(leader_among(noise, 1, 2, 2, k), exact)
    assert found[1] - found[0] < Fraction(1, 1000)


@NOISES
def test_the_gap_of_three_equals(noise):
    law = ranking_law(noise, [0, 0, 0], Fraction(1), gaps=3, fineness=7)
    wide = [mass for (_, gap), mass in law.items() if gap >= 1]
    exact = tuple(sum(side) for side in zip(*wide, strict=True))
    assert overlap(gap_of_equals(noise, 1, 3, 1), exact)
    assert not overlap(gap_of_equals(noise, 2, 3, 1), exact)


@pytest.mark.parametrize("n", [10, 5000, 300_000])
def test_closed_forms_of_many(n):
    """Gumbel noise is the exponential mechanism; exponential gaps are exponential."""
    low, high = leader_among("gumbel", 1, n, log(n) - 1)
    assert low <= Fraction(1 / (1 + exp(1))) <= high
    low, high = gap_of_equals("exponential", 1, n, 1)
    assert low <= Fraction(exp(-1)) <= high
    low, high = gap_of_equals("gumbel", 1, n, 1)
    assert low <= Fraction(n * exp(-1) / (exp(-1) + n - 1)) <= high


def test_rounds_of_peeling_are_rounds():
    low, high = leader_among("gumbel", 1, 9, 2, 2, anew=True)
    first, second = exp(2) / (exp(2) + 9), exp(2) / (exp(2) + 8)
    assert low <= Fraction(1 - (1 - first) * (1 - second)) <= high
