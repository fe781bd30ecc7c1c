"""The expected numbers of bits that the docstrings state, measured on a fixed stream."""

from fractions import Fraction

import pytest
from sampler_laws import endless

from safeselect import samplers
from safeselect.exact.interval import NoiseRate

ONE, HALF = NoiseRate(Fraction(1)), NoiseRate(Fraction(1, 2))
SLOW = NoiseRate(Fraction(1, 1000))

STATED = [
    ("uniform 5", lambda b: samplers.uniform_below(b, 5), 4.8),
    ("uniform 1000", lambda b: samplers.uniform_below(b, 1000), 10.24),
    ("exp 1", lambda b: samplers.bernoulli_exp(b, 1, 1), 2.9),
    ("exp 1/2", lambda b: samplers.bernoulli_exp(b, 1, 2), 2.5),
    ("exp 1/1000", lambda b: samplers.bernoulli_exp(b, 1, 1000), 10.2),
    ("exp 2**64", lambda b: samplers.bernoulli_exp(b, 2**64, 1), 4.6),
    ("power", lambda b: samplers.bernoulli_power(b, HALF, 3), 64),
    ("geometric 1", lambda b: samplers.geometric_exp(b, 1, 1), 4.6),
    ("geometric 1/2", lambda b: samplers.geometric_exp(b, 1, 2), 7.3),
    ("geometric 1/1000", lambda b: samplers.geometric_exp(b, 1, 1000), 49),
    ("digits 1", lambda b: samplers.geometric_digits(b, ONE), 101),
    ("digits 1/1000", lambda b: samplers.geometric_digits(b, SLOW), 64 * 11.56),
    ("laplace 1", lambda b: samplers.discrete_laplace(b, ONE), 8.2),
    ("laplace 1/1000", lambda b: samplers.discrete_laplace(b, SLOW), 50),
    ("gaussian 1", lambda b: samplers.discrete_gaussian(b, Fraction(1)), 27),
    ("gaussian 10", lambda b: samplers.discrete_gaussian(b, Fraction(100)), 72),
    ("gaussian 1000", lambda b: samplers.discrete_gaussian(b, Fraction(10**6)), 135),
    ("permutation 10", lambda b: samplers.permutation(b, 10), 34.4),
    ("permutation 100", lambda b: samplers.permutation(b, 100), 833),
    ("lazy exponential", lambda b: samplers.LazyExponential(b, ONE).refine(b, 8), 4.6 + 8 * 64),
    ("lazy Laplace", lambda b: samplers.LazyLaplace(b, ONE).refine(b, 8), 5.6 + 8 * 64),
    ("lazy Gumbel", lambda b: samplers.LazyGumbel(b, ONE).refine(b, 8), 64),
]


@pytest.mark.parametrize(("name", "draw", "stated"), STATED)
@pytest.mark.nightly("tests/test_mission.py counts the bits of each call")
def test_expected_bits(name, draw, stated):
    bits, n = endless(f"bits {name}"), 2000
    for _ in range(n):
        draw(bits)
    assert abs(bits.consumed / n - stated) < 0.06 * stated
