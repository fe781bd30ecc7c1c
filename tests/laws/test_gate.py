"""What all laws are compared with: the gate, and exponentials in integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import comb

import chances
import pytest
from checks import releases
from checks.finding import QUICK, Refuted


def test_the_gate_lets_the_claimed_law_pass_and_stops_a_tenth_more():
    law = {0: (Fraction(1, 2), Fraction(1, 2)), 1: (Fraction(1, 2), Fraction(1, 2))}
    releases.gate(Counter({0: 5050, 1: 4950}), 10_000, law)
    with pytest.raises(Refuted, match="do not follow"):
        releases.gate(Counter({0: 5500, 1: 4500}), 10_000, law)


def test_releases_of_another_law_and_impossible_ones_are_refuted():
    named = {each.name: each for each in releases.releases()}
    half, full = (named[f"permute_and_flip, {each}"] for each in ("general", "monotonic"))
    with pytest.raises(Refuted, match="do not follow"):
        releases.check_releases(replace(half, call=full.call), QUICK)
    other = replace(named["base 2, weights 8, 2, 1"], call=lambda n: [(7,)] * n)
    with pytest.raises(Refuted, match="does not have"):
        releases.check_releases(other, QUICK)


@pytest.mark.parametrize(("total", "p"), [(200, 0.5), (400, 0.1), (1000, 0.02)])
def test_the_smallest_change_is_that_of_the_binomial(total: int, p: float):
    """A right share is refused, and a changed one accepted, as rarely as is stated; not by half."""
    enough = chances.threshold(2)
    accepted = [n for n in range(total + 1) if total * chances.divergence(n / total, p) < enough]

    def chance(true: float) -> float:
        return sum(comb(total, n) * true**n * (1 - true) ** (total - n) for n in accepted)

    change = chances.smallest_change(total, [(p, p)], enough)
    assert 1 - chance(p) <= chances.FALSE_ALARM
    assert chance(p + change) <= chances.MISSED < chance(p + change / 2)
    assert p < change or chance(p - change) <= chances.MISSED
    with pytest.raises(AssertionError, match="too few"):
        chances.fits({0: total}, {0: p, 1: 1 - p}, sees=change - 0.01)
