"""Certificates: they hold for the shipped laws and refute broken ones."""

from fractions import Fraction

import pytest
from checks import privacy
from checks.cells import ranking_law
from checks.privacy import certify, neighbours

ONE = Fraction(1)


def law(noise, rate, **options):
    return lambda scores: ranking_law(noise, scores, rate, **options)


@pytest.mark.parametrize(
    ("noise", "monotonic", "rate"),
    [("exponential", False, ONE / 2), ("gumbel", True, ONE), ("laplace", False, ONE / 2)],
)
@pytest.mark.claim("C2")
def test_the_right_rate_holds_and_the_double_is_refuted(noise, monotonic, rate):
    pairs = list(neighbours(2, 3, monotonic=monotonic))
    right = certify(law(noise, rate), pairs, ONE)
    assert right.holds(Fraction(1, 50))
    assert not right.refuted
    assert right.pairs == len(pairs)
    double = certify(law(noise, 2 * rate), pairs, ONE)
    assert double.refuted
    assert not double.holds()


@pytest.mark.nightly("the small instances have their bounds with and without gaps in test_rows.py")
@pytest.mark.slow("enumerates laws with gaps")
def test_a_gap_costs_more_than_bounded_range():
    """With its gap the exponential mechanism reaches the pure cost that it stays below without."""
    pairs = list(neighbours(2, 2, monotonic=True))
    plain = certify(law("gumbel", ONE), pairs, ONE)
    gap = certify(law("gumbel", ONE, gaps=6, fineness=7), pairs, ONE)
    assert plain.at_most < gap.at_least
    assert not gap.refuted


def test_a_gap_of_the_wrong_scale_is_refuted():
    """The gap of noise at the rate for one winner, released by a mechanism that doubled it."""
    pairs = list(neighbours(2, 2, monotonic=False))
    assert certify(law("exponential", ONE, gaps=6), pairs, ONE).refuted


FASTER = Fraction(103, 100)
SHARP = {
    ("exponential", False): ((0, 2), (0, 3)),
    ("gumbel", False): ((0, 12), (0, 13)),
    ("laplace", False): ((0, 5, 5), (0, 6, 6)),
    ("exponential", True): ((0, 2), (0, 3)),
    ("gumbel", True): ((0, 7), (0, 8)),
    ("laplace", True): ((0, 3, 4), (0, 4, 5)),
}
"""By law, and whether there are gaps: neighbours that cost nearly all, if all scores move one way.

Where they need not, the first score moves down as well.
"""
ONE_WINNER = [each for each in privacy.instances() if each.k == 1]


@pytest.mark.claim("C2")
@pytest.mark.parametrize("instance", ONE_WINNER, ids=lambda each: each.name)
def test_noise_that_is_three_per_cent_too_small_is_refuted(instance, monkeypatch):
    """By a pair that is proved to cost more, not by bounds that are too far apart to tell."""
    one, (first, *others) = SHARP[instance.noise, instance.gap]
    two = (first if instance.monotonic else first - 1, *others)
    pairs = [(one, two), (two, one)]
    right = certify(instance.law(7), pairs, Fraction(1))
    assert not right.refuted
    assert right.at_least > Fraction(97, 100)
    law = privacy.ranking_law
    monkeypatch.setattr(
        privacy, "ranking_law", lambda n, s, rate, **more: law(n, s, rate * FASTER, **more)
    )
    wrong = certify(instance.law(7), pairs, Fraction(1))
    assert wrong.refuted, (float(wrong.at_least), float(wrong.at_most))
    assert wrong.holds(Fraction(1, 8))  # a tolerance alone would pass it
    said = privacy.verdict(wrong, Fraction(1, 8))
    assert "some pair of neighbours loses more than is claimed" in said
