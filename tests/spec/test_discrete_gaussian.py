"""The discrete Gaussian, on exact parts and bit by bit."""

import sys
from collections import Counter
from fractions import Fraction
from functools import lru_cache, partial

import pytest
from chances import fits
from exact_pmf import choice_tree, restarted
from sampler_laws import agrees, endless, exp_minus, gaussian_mass, laplace_mass, shortened

from safeselect.exact.interval import NoiseRate
from safeselect.samplers import discrete_gaussian, gaussian_attempt

pytestmark = pytest.mark.claim("C1")

SIGMAS = [
    Fraction(1, 100),
    Fraction(1, 2),
    Fraction(1),
    Fraction(2),
    Fraction(100, 7),
    Fraction(16),
]


def exp_choice(choices, numerator, denominator):
    return choices.enclosed(*shortened(exp_minus(Fraction(numerator, denominator))))


@lru_cache
def laplace_masses(noise_rate, reach):
    masses = [shortened(laplace_mass(noise_rate, x))[0] for x in range(-reach, reach + 1)]
    return [*masses, 1 - sum(masses)]


def laplace_choice(choices, numerator, denominator):
    """An exact discrete Laplace choice; what is too far out, or not known, is left unfinished."""
    masses = laplace_masses(NoiseRate(Fraction(numerator, denominator)), 24 * denominator)
    index = choices.choose(masses)
    if index == len(masses) - 1:
        choices.enclosed(Fraction(0), Fraction(1))
    return index - 24 * denominator


@pytest.fixture
def exact_parts(monkeypatch):
    module = sys.modules["safeselect.samplers"]
    monkeypatch.setattr(module, "discrete_laplace_exp", laplace_choice)
    monkeypatch.setattr(module, "bernoulli_exp", exp_choice)


def loop_law(attempt, sigma_squared, leaves=150):
    return restarted(choice_tree(lambda c: attempt(c, sigma_squared), max_leaves=leaves))


@pytest.mark.parametrize("sigma_squared", SIGMAS)
def test_the_law_on_exact_parts(exact_parts, sigma_squared):
    law = loop_law(gaussian_attempt, sigma_squared)
    assert law.unfinished < 1e-4
    assert agrees(law, partial(gaussian_mass, sigma_squared), range(-12, 13))


def test_big_parameters():
    bits, sigma = endless("gauss"), 2**2000 + 1
    values = [discrete_gaussian(bits, Fraction(sigma**2, 1)) for _ in range(400)]
    beyond = 0.31731050786291415
    for far, right in ((sigma, True), (sigma // 2, False)):
        counts = Counter(abs(x) > far for x in values)
        assert fits(counts, {True: beyond, False: 1 - beyond}, sees=0.26) == right
    assert [discrete_gaussian(bits, Fraction(1, 2**4000)) for _ in range(20)] == [0] * 20
