"""Coins: rational ones, exp(-x), and those known by enclosures."""

from fractions import Fraction
from functools import partial

import pytest
from effort import some
from exact_pmf import bit_tree
from sampler_laws import agrees, coin_mass, endless, exp_minus, power, scripted

from safeselect.errors import SourceError
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.samplers import bernoulli, bernoulli_enclosed, bernoulli_exp, bernoulli_power

pytestmark = pytest.mark.claim("C1")

BOTH = (False, True)
DECAYS = [
    NoiseRate(Fraction(1)),
    NoiseRate(Fraction(1, 10)),
    NoiseRate(Fraction(1), Fraction(1, 2)),
    NoiseRate(Fraction(1, 4), Fraction(3, 7)),
    NoiseRate(Fraction(1, 2**40), Fraction(1, 4)),
    NoiseRate(Fraction(2**20)),
]
# A chance on a boundary of words, such as 1/2, is approached from both sides: two words are tied.
IRRATIONAL = [DECAYS[0], DECAYS[1], DECAYS[3], DECAYS[4]]


def rational_law(coin, p, leaves=4000):
    return bit_tree(lambda bits: coin(bits, p.numerator, p.denominator), max_leaves=leaves)


def exp_mass(x):
    return coin_mass(exp_minus(x))


# ------------------------------------------------------------------------------ rational


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(3, 8), Fraction(15, 16), Fraction(4, 5)])
def test_rationals_bit_by_bit(p):
    law = rational_law(bernoulli, p)
    assert law.unfinished < Fraction(1, 200)
    assert agrees(law, coin_mass((p, p)), BOTH)


# ------------------------------------------------------------------------------- exp(-x)


@pytest.mark.parametrize(
    ("x", "unfinished"),
    [
        (Fraction(1), 2**-10),
        (Fraction(1, 2), 2**-12),
        (Fraction(1, 4), 2**-13),
        (Fraction(3, 4), 2**-5),
        (Fraction(3, 2), 2**-8),
        (Fraction(5), 2**-5),
    ],
)
@pytest.mark.nightly("tests/test_mission.py has its answers")
def test_exp_bit_by_bit(x, unfinished):
    law = rational_law(bernoulli_exp, x, leaves=8000)
    assert law.unfinished < unfinished
    assert agrees(law, exp_mass(x), BOTH)


def test_zero_is_accepted_unconditionally():
    bits = scripted()
    assert bernoulli_exp(bits, 0, 1)
    assert bernoulli_exp(bits, 0, 2**4096)
    assert bernoulli_power(bits, NoiseRate(Fraction(1)), 0)
    assert bits.consumed == 0


@pytest.mark.parametrize("x", [Fraction(2**64), 2**64 + Fraction(1, 2), Fraction(10**4000)])
def test_a_huge_x_fails_soon(x):
    bits = endless("huge x")
    assert not any(bernoulli_exp(bits, x.numerator, x.denominator) for _ in range(200))
    assert bits.consumed < 200 * 10


# ------------------------------------------------------------------- lazy comparisons
def lazy_law(enclose, step, leaves=100):
    return bit_tree(partial(bernoulli_enclosed, enclose=enclose, step=step), max_leaves=leaves)


@pytest.mark.parametrize(
    ("noise_rate", "step"), some([(rate, step) for rate in DECAYS for step in (1, 2, 4)], 2)
)
@pytest.mark.nightly("tests/test_mission.py has its answers")
def test_powers(noise_rate, step):
    leaves = 150 if step > 1 else 70
    for exponent in (0, 1, 2, 3, 7):
        law = bit_tree(
            lambda bits, e=exponent: bernoulli_power(bits, noise_rate, e, step=step),
            max_leaves=leaves,
        )
        assert law.unfinished < Fraction(1, 2**17)
        assert agrees(law, coin_mass(power(noise_rate, exponent)), BOTH)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 2), Fraction(5, 8), Fraction(1)])
@pytest.mark.parametrize("step", [1, 2, 4])
def test_dyadic_chances_end(p, step):
    law = lazy_law(lambda precision: Interval.of(p, precision), step)
    assert law.unfinished == 0
    assert agrees(law, coin_mass((p, p)), BOTH)


def words(p, count):
    """The first words of 64 bits of p."""
    value = p[0] * 2 ** (64 * count)
    assert value // 1 == p[1] * 2 ** (64 * count) // 1
    return [(value // 1 >> 64 * (count - 1 - i)) % 2**64 for i in range(count)]


@pytest.mark.parametrize("exponent", [1, 5])
@pytest.mark.parametrize("noise_rate", IRRATIONAL)
def test_the_tie_word_goes_on_to_the_next(noise_rate, exponent):
    tie, second, third = words(power(noise_rate, exponent), 3)
    toss = partial(bernoulli_power, noise_rate=noise_rate, exponent=exponent)
    for script, outcome in (
        ([tie - 1], True),
        ([tie + 1], False),
        ([tie, 0], True),
        ([tie, second - 1], True),
        ([tie, second + 1], False),
        ([tie, 2**64 - 1], False),
        ([tie, second, third - 1], True),
        ([tie, second, third + 1], False),
    ):
        bits = scripted(*(word % 2**64 for word in script))
        assert toss(bits) is outcome
        assert bits.consumed == 64 * len(script)
    for script in ([tie], [tie, second]):
        with pytest.raises(SourceError, match="the tape ended"):
            toss(scripted(*script))
