"""Geometric noise: the two routes, each by parts and as a whole, and their laws against each other.

Below `exact_*` the shipped loops run on exact choices; the coins they replace are proved bit by bit
here and in test_bernoulli.py.
"""

import json
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from exact_pmf import bit_tree, choice_tree, combined, restarted
from sampler_laws import (
    agrees,
    coin_mass,
    digit_mass,
    endless,
    exp_minus,
    geometric_mass,
    power,
    scripted,
    shortened,
)

from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.spec.samplers import (
    Coin,
    digit_chance,
    geometric,
    geometric_digits,
    geometric_exp,
    remainder_attempt,
)

pytestmark = pytest.mark.claim("C1")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "samplers.json").read_text())
MODULE = sys.modules["safeselect.spec.samplers"]

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


class ChoiceCoin:
    """A coin of known chance for `choice_tree`."""

    def __init__(self, chance):
        self.chance = shortened(chance)

    def toss(self, choices):
        return choices.enclosed(*self.chance)


@pytest.fixture
def exact_coins(monkeypatch):
    """Run the loop of the digit route on exact choices with the chances of the shipped coins."""
    real = MODULE._digit_coins

    def fake(noise_rate, step):
        return tuple(ChoiceCoin(coin.enclose(96).fractions()) for coin in real(noise_rate, step))

    monkeypatch.setattr(MODULE, "_digit_coins", fake)


def remainder_law(t, attempt=remainder_attempt, leaves=200):
    return restarted(choice_tree(lambda c: attempt(c, t), max_leaves=leaves))


def remainder_mass(t):
    terms = [exp_minus(Fraction(u, t)) for u in range(t)]
    low, high = sum(a for a, _ in terms), sum(b for _, b in terms)

    def mass(u):
        return (terms[u][0] / high, terms[u][1] / low)

    return mass


def cks_law(noise_rate, quotients=45):
    """The law of `geometric_exp` from those of its remainder and its quotient."""
    s, t = noise_rate.rate.numerator, noise_rate.rate.denominator
    quotient = choice_tree(lambda c: geometric_exp(c, 1, 1), max_leaves=quotients)
    return combined(remainder_law(t), quotient, lambda u, v: (u + t * v) // s)


def digits_law(noise_rate, leaves=300):
    return choice_tree(lambda c: geometric_digits(c, noise_rate), max_leaves=leaves)


# ------------------------------------------------------------------------- the CKS route
@pytest.mark.parametrize("t", [1, 2, 3, 5, 7, 12])
def test_the_remainder(exact_parts, t):
    law = remainder_law(t)
    assert law.unfinished < Fraction(1, 2**60)
    assert agrees(law, remainder_mass(t), range(t))


@pytest.mark.parametrize(("t", "unfinished"), [(1, 0.0), (2, 2**-13), (4, 2**-6)])
def test_the_remainder_bit_by_bit(t, unfinished):
    law = restarted(bit_tree(lambda bits: remainder_attempt(bits, t), max_leaves=8000))
    assert law.unfinished <= unfinished
    assert agrees(law, remainder_mass(t), range(t))


@pytest.mark.parametrize("noise_rate", E_DECAYS)
def test_the_cks_route_from_its_parts(exact_parts, noise_rate):
    law = cks_law(noise_rate)
    assert law.unfinished < Fraction(1, 2**50)
    assert agrees(law, partial(geometric_mass, noise_rate), range(40))


@pytest.mark.parametrize(
    ("rate", "unfinished"), [((1, 1), 1e-20), ((2, 1), 1e-20), ((1, 2), 1e-8), ((2, 3), 1e-2)]
)
def test_the_cks_route_as_a_whole(exact_parts, rate, unfinished):
    law = choice_tree(lambda c: geometric_exp(c, *rate), max_leaves=300)
    assert law.unfinished < unfinished
    assert agrees(law, partial(geometric_mass, NoiseRate(Fraction(*rate))), range(10))


@pytest.mark.parametrize(("rate", "unfinished"), [((2, 1), 0.03), ((1, 1), 0.03), ((1, 2), 0.08)])
def test_the_cks_route_bit_by_bit(rate, unfinished):
    law = bit_tree(lambda bits: geometric_exp(bits, *rate), max_leaves=10_000)
    assert law.unfinished < unfinished
    assert agrees(law, partial(geometric_mass, NoiseRate(Fraction(*rate))), range(10))


def unconditional(choices, t):
    """Mutant: the remainder is never rejected."""
    return choices.below(t)


def too_kind(choices, t):
    """Mutant: the remainder is accepted with the next one's probability."""
    u = choices.below(t)
    return u if exp_choice(choices, max(u - 1, 0), t) else None


@pytest.mark.parametrize("mutant", [unconditional, too_kind])
def test_the_checker_sees_remainder_mutants(mutant):
    assert not agrees(remainder_law(5, mutant), remainder_mass(5), range(5))


@pytest.mark.parametrize(
    "join",
    [
        lambda u, v: (u + v) // 5,
        lambda u, v: (u + 7 * v) // 7,
        lambda u, v: -(-(u + 7 * v) // 5),
        lambda u, v: (u + 7 * (v + 1)) // 5,
    ],
)
def test_the_checker_sees_wrong_arithmetic(exact_parts, join):
    noise_rate = NoiseRate(Fraction(5, 7))
    quotient = choice_tree(lambda c: geometric_exp(c, 1, 1), max_leaves=100)
    wrong = combined(remainder_law(7), quotient, join)
    assert not agrees(wrong, partial(geometric_mass, noise_rate), range(10))


# ----------------------------------------------------------------------- the digit route
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("noise_rate", [E_DECAYS[0], E_DECAYS[5], *BASE_DECAYS])
def test_each_digit_bit_by_bit(noise_rate, step):
    for numerator, level in ((1, 0), (4, 0), (1, 1), (1, 5)):
        coin = Coin.of(partial(digit_chance, noise_rate, numerator, level), step)
        law = bit_tree(coin.toss, max_leaves=60 if step == 1 else 120)
        assert law.unfinished < Fraction(1, 2**24)
        assert agrees(law, coin_mass(digit_mass(noise_rate, numerator, level)), (False, True))


@pytest.mark.parametrize("noise_rate", [E_DECAYS[5], BASE_DECAYS[1], BASE_DECAYS[2]])
def test_the_shipped_coins_bit_by_bit(noise_rate):
    *digits, quotient = MODULE._digit_coins(noise_rate, 1)
    assert len(digits) >= 3
    chances = [digit_mass(noise_rate, 1 << j, 0) for j in range(len(digits))]
    chances.append(power(noise_rate, 1 << len(digits)))
    for coin, chance in zip([*digits, quotient], chances, strict=True):
        law = bit_tree(coin.toss, max_leaves=50)
        assert law.unfinished < Fraction(1, 2**40)
        assert agrees(law, coin_mass(chance), (False, True))


@pytest.mark.parametrize("name", VECTORS["exponential_bits"])
def test_digits_against_reference_values(name):
    rate, j = (part.partition("=")[2] for part in name.split(","))
    noise_rate, weight = NoiseRate(Fraction(rate)), Fraction(2) ** -int(j)
    value = Fraction(VECTORS["exponential_bits"][name])
    level = weight.denominator.bit_length() - 1
    coin = Coin.of(partial(digit_chance, noise_rate, weight.numerator, level), 1)
    low, high = bit_tree(coin.toss, max_leaves=120).bounds(True)
    assert high - low < Fraction(1, 10**33)
    margin = value / 10**29
    assert value - margin <= low <= high <= value + margin


@pytest.mark.parametrize("noise_rate", [*E_DECAYS, *BASE_DECAYS])
def test_the_digit_route_on_exact_coins(exact_coins, noise_rate):
    law = digits_law(noise_rate)
    assert law.unfinished < Fraction(1, 2**18)
    assert agrees(law, partial(geometric_mass, noise_rate), range(40))


@pytest.mark.parametrize(
    ("noise_rate", "step", "unfinished"),
    [
        (E_DECAYS[1], 1, 2**-14),
        (E_DECAYS[0], 1, 2**-6),
        (BASE_DECAYS[0], 2, 2**-4),
        (BASE_DECAYS[3], 1, 2**-6),
    ],
)
def test_the_digit_route_bit_by_bit(noise_rate, step, unfinished):
    law = bit_tree(lambda bits: geometric_digits(bits, noise_rate, step=step), max_leaves=1500)
    assert law.unfinished < unfinished
    assert agrees(law, partial(geometric_mass, noise_rate), range(6))


@pytest.mark.parametrize("noise_rate", E_DECAYS)
def test_both_routes_have_one_law(exact_parts, exact_coins, noise_rate):
    cks, digits = cks_law(noise_rate), digits_law(noise_rate)
    assert agrees(digits, cks.bounds, range(30))
    assert cks.unfinished + digits.unfinished < Fraction(1, 2**17)


def inverted(noise_rate, j, top):
    """Mutant: the chances of 0 and 1 exchanged."""
    low, high = digit_mass(noise_rate, 1 << j, 0)
    return 1 - high, 1 - low


def not_normalised(noise_rate, j, top):
    """Mutant: x in the place of x / (1 + x)."""
    return power(noise_rate, 1 << j)


def one_weight(noise_rate, j, top):
    """Mutant: every digit is tossed with the chance of the last."""
    return digit_mass(noise_rate, 1, 0)


@pytest.mark.parametrize("mutant", [inverted, not_normalised, one_weight])
def test_the_checker_sees_digit_mutants(monkeypatch, mutant):
    noise_rate, top = NoiseRate(Fraction(1, 10)), 4

    def fake(noise_rate, step):
        digits = [ChoiceCoin(mutant(noise_rate, j, top)) for j in range(top)]
        return (*digits, ChoiceCoin(power(noise_rate, 1 << top)))

    monkeypatch.setattr(MODULE, "_digit_coins", fake)
    assert not agrees(digits_law(noise_rate, 500), partial(geometric_mass, noise_rate), range(10))


def test_the_checker_sees_a_wrong_quotient(monkeypatch):
    noise_rate = NoiseRate(Fraction(1, 10))
    coins = [ChoiceCoin(digit_mass(noise_rate, 1 << j, 0)) for j in range(4)]
    wrong = (*coins, ChoiceCoin(power(noise_rate, 1 << 3)))
    monkeypatch.setattr(MODULE, "_digit_coins", lambda noise_rate, step: wrong)
    assert not agrees(digits_law(noise_rate, 500), partial(geometric_mass, noise_rate), range(40))


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
        assert geometric_digits(bits, noise_rate) == outcome
        assert bits.consumed == 64 * len(script)


# ------------------------------------------------------------------------------ the door
def test_the_decay_chooses_the_route():
    for noise_rate in E_DECAYS:
        s, t = noise_rate.rate.numerator, noise_rate.rate.denominator
        one, two = endless("route"), endless("route")
        for _ in range(20):
            assert geometric(one, noise_rate) == geometric_exp(two, s, t)
        assert one.consumed == two.consumed
    for noise_rate in BASE_DECAYS:
        one, two = endless("route"), endless("route")
        for _ in range(20):
            assert geometric(one, noise_rate) == geometric_digits(two, noise_rate)


@pytest.mark.parametrize(
    "noise_rate",
    [
        NoiseRate(Fraction(1, 2**40), Fraction(1, 4)),
        NoiseRate(Fraction(1, 2**40), Fraction(1, 1000)),
        NoiseRate(Fraction(1, 2**40)),
        NoiseRate(Fraction(2**20)),
        NoiseRate(Fraction(2**20), Fraction(1, 2)),
    ],
)
def test_work_is_bounded_at_the_ends_of_the_range(noise_rate):
    bits = endless("ends")
    values = [geometric_digits(bits, noise_rate) for _ in range(30)]
    # Per value at most 40 digits and a quotient whose mean is below 0.6; 30 quotients of more than
    # 60 words on average have a probability below 2**-1000.
    assert bits.consumed <= 30 * 64 * (40 + 60)
    nats = noise_rate.nats(64).fractions()[0]
    assert max(values) * nats < 60
    assert sum(values) * nats > 1 or nats > 100


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (-1, 2), (1.0, 2), (True, 1), (Fraction(1), 1)])
def test_rates_are_checked(pair):
    bits = scripted()
    with pytest.raises(ParameterError, match=r"must be Python ints|must be at least"):
        geometric_exp(bits, *pair)
    assert bits.consumed == 0


def test_rates_of_4096_bits():
    huge = 2**4095 + 987654321
    bits = endless("bignum")
    assert [geometric_exp(bits, huge, 3) for _ in range(50)] == [0] * 50
    slow = [geometric_exp(bits, 3, huge) for _ in range(50)]
    assert all(4080 < value.bit_length() < 4102 for value in slow)
    level = [geometric_exp(bits, huge, huge - 2) for _ in range(50)]
    assert 0 < sum(level) < 120  # mean 29, standard deviation 6.8
