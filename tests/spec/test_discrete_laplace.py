"""Two-sided noise: the discrete Laplace law and the floor of the continuous one."""

import sys
from fractions import Fraction
from functools import partial

import pytest
from exact_pmf import bit_tree, choice_tree, restarted
from sampler_laws import agrees, exp_minus, laplace_floor_mass, laplace_mass, shortened

from safeselect.exact.interval import NoiseRate
from safeselect.samplers import geometric_exp, laplace_attempt, laplace_floor

pytestmark = pytest.mark.claim("C1")

RATES = [(1, 1), (2, 1), (1, 2), (3, 1)]


@pytest.fixture
def exact_parts(monkeypatch):
    module = sys.modules["safeselect.samplers"]
    monkeypatch.setattr(module, "uniform_below", lambda choices, n: choices.below(n))
    monkeypatch.setattr(
        module, "bernoulli_exp", lambda c, a, b: c.enclosed(*shortened(exp_minus(Fraction(a, b))))
    )


def loop_law(attempt, rate, leaves=300):
    return restarted(
        choice_tree(lambda c: attempt(c, lambda: geometric_exp(c, *rate)), max_leaves=leaves)
    )


@pytest.mark.parametrize("rate", RATES)
def test_the_law_on_exact_parts(exact_parts, rate):
    law = loop_law(laplace_attempt, rate)
    assert law.unfinished < (1e-9 if rate[1] == 1 else 1e-3)
    assert agrees(law, partial(laplace_mass, NoiseRate(Fraction(*rate))), range(-12, 13))


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
