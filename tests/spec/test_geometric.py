"""Geometric noise: the two routes, each by parts and as a whole, and their laws against each other.

Below `exact_*` the shipped loops run on exact choices; the coins they replace are proved bit by bit
here and in test_bernoulli.py.
"""

import sys
from fractions import Fraction
from functools import partial

import pytest
from exact_pmf import bit_tree, choice_tree, combined, restarted
from sampler_laws import (
    agrees,
    coin_mass,
    digit_mass,
    endless,
    exp_minus,
    geometric_mass,
    scripted,
    shortened,
)

from safeselect import samplers
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

MODULE = sys.modules["safeselect.samplers"]

E_DECAYS = [NoiseRate(Fraction(*r)) for r in ((1, 1), (2, 1), (1, 2), (2, 3), (5, 7), (1, 10))]
BASE_DECAYS = [
    NoiseRate(Fraction(1), Fraction(1, 2)),
    NoiseRate(Fraction(1), Fraction(9, 10)),
    NoiseRate(Fraction(1, 4), Fraction(3, 7)),
    NoiseRate(Fraction(3), Fraction(2, 3)),
]


def exp_choice(choices, numerator, denominator):
    return choices.enclosed(*shortened(exp_minus(Fraction(numerator, denominator))))


@pytest.fixture
def exact_parts(monkeypatch):
    """Run the loops of the CKS route on exact choices."""
    monkeypatch.setattr(MODULE, "uniform_below", lambda choices, n: choices.below(n))
    monkeypatch.setattr(MODULE, "bernoulli_exp", exp_choice)


def remainder_law(t, attempt=samplers.remainder_attempt, leaves=200):
    return restarted(choice_tree(lambda c: attempt(c, t), max_leaves=leaves))


def cks_law(noise_rate, quotients=45):
    """The law of `geometric_exp` from those of its remainder and its quotient."""
    s, t = noise_rate.rate.numerator, noise_rate.rate.denominator
    quotient = choice_tree(lambda c: samplers.geometric_exp(c, 1, 1), max_leaves=quotients)
    return combined(remainder_law(t), quotient, lambda u, v: (u + t * v) // s)


# ------------------------------------------------------------------------- the CKS route


@pytest.mark.parametrize("noise_rate", E_DECAYS)
def test_the_cks_route_from_its_parts(exact_parts, noise_rate):
    law = cks_law(noise_rate)
    assert law.unfinished < Fraction(1, 2**50)
    assert agrees(law, partial(geometric_mass, noise_rate), range(40))


# ----------------------------------------------------------------------- the digit route
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("noise_rate", [E_DECAYS[0], E_DECAYS[5], *BASE_DECAYS])
@pytest.mark.nightly("tests/test_mission.py has its answers")
def test_each_digit_bit_by_bit(noise_rate, step):
    for numerator, level in ((1, 0), (4, 0), (1, 1), (1, 5)):
        coin = samplers.Coin.of(partial(samplers.digit_chance, noise_rate, numerator, level), step)
        law = bit_tree(coin.toss, max_leaves=60 if step == 1 else 120)
        assert law.unfinished < Fraction(1, 2**24)
        assert agrees(law, coin_mass(digit_mass(noise_rate, numerator, level)), (False, True))


def test_a_tied_digit_goes_on_to_the_next_word():
    noise_rate = NoiseRate(Fraction(1, 2))  # one digit, then the quotient with chance 1/e
    value = digit_mass(noise_rate, 1, 0)[0]
    tie, second = int(value * 2**64), int(value * 2**128) % 2**64
    stop = 2**64 - 1
    for script, outcome in (
        ([tie - 1, stop], 1),
        ([tie + 1, stop], 0),
        ([tie, second - 1, stop], 1),
        ([tie, second + 1, stop], 0),
        ([tie, 0, 0, stop], 3),
    ):
        bits = scripted(*script)
        assert (samplers.geometric_digits(bits, noise_rate), bits.consumed) == (
            outcome,
            64 * len(script),
        )


# ------------------------------------------------------------------------------ the door
def test_the_decay_chooses_the_route():
    for noise_rate in E_DECAYS:
        s, t = noise_rate.rate.numerator, noise_rate.rate.denominator
        one, two = endless("route"), endless("route")
        for _ in range(20):
            assert samplers.geometric(one, noise_rate) == samplers.geometric_exp(two, s, t)
        assert one.consumed == two.consumed
    for noise_rate in BASE_DECAYS:
        one, two = endless("route"), endless("route")
        for _ in range(20):
            assert samplers.geometric(one, noise_rate) == samplers.geometric_digits(two, noise_rate)
