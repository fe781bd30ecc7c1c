"""Two-sided noise: the discrete Laplace law and the floor of the continuous one."""

import json
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from exact_pmf import bit_tree, choice_tree, restarted
from sampler_laws import (
    agrees,
    endless,
    exp_minus,
    laplace_floor_mass,
    laplace_mass,
    plausible,
    shortened,
)

from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.spec.samplers import (
    discrete_laplace,
    discrete_laplace_exp,
    geometric_exp,
    laplace_attempt,
    laplace_floor,
)

pytestmark = pytest.mark.claim("C1")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "samplers.json").read_text())
RATES = [(1, 1), (2, 1), (1, 2), (3, 1)]


@pytest.fixture
def exact_parts(monkeypatch):
    module = sys.modules["safeselect.spec.samplers"]
    monkeypatch.setattr(module, "uniform_below", lambda choices, n: choices.below(n))
    monkeypatch.setattr(
        module, "bernoulli_exp", lambda c, a, b: c.enclosed(*shortened(exp_minus(Fraction(a, b))))
    )


def loop_law(attempt, rate, leaves=300):
    return restarted(
        choice_tree(lambda c: attempt(c, lambda: geometric_exp(c, *rate)), max_leaves=leaves)
    )


def no_restart(choices, magnitude):
    """Mutant: minus zero is kept, so zero counts twice."""
    value = magnitude()
    return -value if choices.coin() else value


def shifted(choices, magnitude):
    """Mutant: the floor of the continuous law in the place of the discrete one."""
    value = magnitude()
    return -value - 1 if choices.coin() else value


def lopsided(choices, magnitude):
    """Mutant: minus zero comes back as minus one."""
    value = magnitude()
    return -max(value, 1) if choices.coin() else value


@pytest.mark.parametrize("rate", RATES)
def test_the_law_on_exact_parts(exact_parts, rate):
    law = loop_law(laplace_attempt, rate)
    assert law.unfinished < (1e-9 if rate[1] == 1 else 1e-3)
    assert agrees(law, partial(laplace_mass, NoiseRate(Fraction(*rate))), range(-12, 13))


@pytest.mark.parametrize("mutant", [no_restart, shifted, lopsided])
@pytest.mark.parametrize("rate", RATES)
def test_the_checker_sees_mutants(exact_parts, rate, mutant):
    law = loop_law(mutant, rate)
    assert not agrees(law, partial(laplace_mass, NoiseRate(Fraction(*rate))), range(-12, 13))


@pytest.mark.parametrize("rate", [(2, 1), (1, 1)])
def test_the_attempt_bit_by_bit(rate):
    law = restarted(
        bit_tree(
            lambda bits: laplace_attempt(bits, lambda: geometric_exp(bits, *rate)),
            max_leaves=10_000,
        )
    )
    assert law.unfinished < 0.06
    assert agrees(law, partial(laplace_mass, NoiseRate(Fraction(*rate))), range(-5, 6))


@pytest.mark.parametrize(
    "noise_rate", [NoiseRate(Fraction(2)), NoiseRate(Fraction(2), Fraction(1, 3))]
)
def test_the_loop_bit_by_bit(noise_rate):
    law = bit_tree(lambda bits: discrete_laplace(bits, noise_rate, step=2), max_leaves=4000)
    assert law.unfinished < 0.25
    assert agrees(law, partial(laplace_mass, noise_rate), range(-4, 5))


@pytest.mark.parametrize("name", VECTORS["discrete_laplace_pmf"])
def test_reference_values(exact_parts, name):
    scale, x = (part.partition("=")[2] for part in name.split(","))
    rate = 1 / Fraction(scale)
    value = Fraction(VECTORS["discrete_laplace_pmf"][name])
    low, high = laplace_mass(NoiseRate(rate), int(x))
    assert abs(low - value) < value / 10**28
    assert abs(high - value) < value / 10**28
    law = loop_law(laplace_attempt, (rate.numerator, rate.denominator))
    seen_low, seen_high = law.bounds(int(x))
    assert seen_low - value / 10**28 <= value <= seen_high + value / 10**28
    assert law.unfinished < (1e-6 if rate > Fraction(1, 10) else 0.6)


@pytest.mark.parametrize(
    "noise_rate", [NoiseRate(Fraction(1)), NoiseRate(Fraction(1), Fraction(1, 2))]
)
def test_the_floor_of_the_continuous_law(exact_parts, noise_rate):
    if noise_rate.base is None:
        law = choice_tree(lambda c: laplace_floor(c, noise_rate).floor, max_leaves=200)
        assert law.unfinished < 1e-6
    else:
        law = bit_tree(lambda bits: laplace_floor(bits, noise_rate, step=1).floor, max_leaves=1200)
        assert law.unfinished < 0.06
    assert agrees(law, partial(laplace_floor_mass, noise_rate), range(-8, 8))
    assert not agrees(law, partial(laplace_mass, noise_rate), range(-8, 8))


def test_a_scale_of_65_bits():
    """Scale 23948285282902934157: quartiles of |x| at multiples of ln 2, and a fair sign."""
    scale, n = 23948285282902934157, 4000
    bits = endless("65 bits")
    values = [discrete_laplace_exp(bits, 1, scale) for _ in range(n)]
    ln2 = Fraction(6931471805599453, 10**16)
    for doublings in (1, 2, 4):
        far = sum(abs(x) > doublings * ln2 * scale for x in values)
        assert plausible(far, n, 0.5**doublings)
        nearer = sum(2 * abs(x) > doublings * ln2 * scale for x in values)
        assert not plausible(nearer, n, 0.5**doublings)
    assert plausible(sum(x > 0 for x in values), n, 0.5)
    assert len({x % 1024 for x in values}) > 950  # no low bits are lost


def test_the_largest_rate_gives_zero():
    bits = endless("zero")
    noise_rate = NoiseRate(Fraction(2**20))
    assert all(discrete_laplace(bits, noise_rate) == 0 for _ in range(2000))


def test_rates_of_4096_bits():
    huge = 2**4095 + 987654321
    bits = endless("laplace bignum")
    assert [discrete_laplace_exp(bits, huge, 3) for _ in range(20)] == [0] * 20
    assert all(abs(discrete_laplace_exp(bits, 3, huge)).bit_length() > 4080 for _ in range(20))


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (1.0, 2), (1, True)])
def test_rates_are_checked(pair):
    with pytest.raises(ParameterError, match=r"must be Python ints|must be at least"):
        discrete_laplace_exp(endless("refused"), *pair)
