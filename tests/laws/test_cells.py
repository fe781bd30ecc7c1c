"""Enclosed laws against closed forms, and their brackets against each other."""

from fractions import Fraction
from itertools import permutations
from math import exp

import mpmath
import pytest
from checks.cells import ranking_law

HALF = Fraction(1, 2)
SCORES = [3, 1, 0]


def softmax(scores, rate):
    weights = [mpmath.exp(rate * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip(scores, rate):
    """McKenna and Sheldon's law, by its integral."""
    best = max(scores)
    p = [mpmath.exp(-rate * (best - score)) for score in scores]
    return [
        p[r]
        * mpmath.quad(
            lambda t, r=r: mpmath.fprod(1 - p[j] * t for j in range(len(p)) if j != r), [0, 1]
        )
        for r in range(len(p))
    ]


@pytest.mark.parametrize(("noise", "law"), [("exponential", permute_and_flip), ("gumbel", softmax)])
def test_one_winner_by_closed_forms(noise, law):
    enclosed = ranking_law(noise, SCORES, HALF, fineness=7)
    for i, chance in enumerate(law(SCORES, 0.5)):
        low, high = enclosed[(i,)]
        assert low < chance < high
        assert high / low < 1 + Fraction(1, 30)


def test_two_winners_by_peeled_softmax():
    enclosed = ranking_law("gumbel", SCORES, HALF, k=2)
    first = softmax(SCORES, 0.5)
    for one, two in permutations(range(3), 2):
        rest = [score for i, score in enumerate(SCORES) if i != one]
        place = [i for i in range(3) if i != one].index(two)
        low, high = enclosed[one, two]
        assert low < first[one] * softmax(rest, 0.5)[place] < high


def test_gaps_of_two_by_the_difference_of_two_exponentials():
    """Equal scores: the gap of two exponential variables is exponential, the winner fair."""
    enclosed = ranking_law("exponential", [0, 0], HALF, gaps=5)
    for gap in range(4):
        chance = (exp(-gap / 2) - exp(-(gap + 1) / 2)) / 2
        low, high = enclosed[0, gap]
        assert low < chance < high
    low, high = enclosed[1, 4]
    assert low < exp(-2) / 2 < high
