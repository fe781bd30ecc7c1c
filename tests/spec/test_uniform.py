"""uniform_below: exactly 1/n for every n up to 64, by walking every bit."""

from fractions import Fraction

import pytest
from exact_pmf import bit_tree, restarted
from sampler_laws import agrees, scripted

from safeselect.samplers import uniform_attempt, uniform_below

pytestmark = pytest.mark.claim("C1")


def uniform_mass(n):
    return lambda value: (Fraction(1, n),) * 2 if value in range(n) else (Fraction(0),) * 2


def attempt_law(attempt, n):
    return restarted(bit_tree(lambda bits: attempt(bits, n), max_leaves=512))


def at_most(bits, n):
    """Mutant: <= for <."""
    value = bits.take((n - 1).bit_length())
    return value if value <= n else None


def modulo(bits, n):
    """Mutant: a remainder in the place of a rejection."""
    return bits.take(n.bit_length() + 2) % n


@pytest.mark.parametrize("n", range(1, 65))
def test_every_value_has_probability_one_over_n(n):
    law = attempt_law(uniform_attempt, n)
    assert law.unfinished == 0
    assert agrees(law, uniform_mass(n), range(n))


@pytest.mark.parametrize("n", [3, 5, 6, 7, 60])
@pytest.mark.parametrize("mutant", [at_most, modulo])
def test_the_checker_sees_mutants(mutant, n):
    assert not agrees(attempt_law(mutant, n), uniform_mass(n), range(n))


def test_values_from_n_on_are_rejected_and_bits_are_not_skipped():
    assert uniform_below(scripted(5, 7, 4, size=3), 5) == 4
    assert uniform_below(scripted(4, size=3), 5) == 4
    bits = scripted(5, 3, size=3)
    assert uniform_below(bits, 4) == 2  # 10|1011
    assert uniform_below(bits, 4) == 2


def test_one_value_needs_no_bits():
    bits = scripted()
    assert (uniform_below(bits, 1), bits.consumed) == (0, 0)
