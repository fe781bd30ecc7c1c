"""The exact factor of base 2: the smallest x / 2**64 that is at least the true one."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from safeselect import ParameterError, exponential_mechanism_base2

pytestmark = pytest.mark.claim("C2")

UNIT = Fraction(1, 2**64)


def factor(epsilon: Fraction) -> Fraction:
    return exponential_mechanism_base2([0], epsilon=epsilon, sensitivity=1, monotonic=True).base


def log_2(halvings: int, bits: int) -> Fraction:
    """ln(2**halvings), rounded down to so many binary places."""
    with mpmath.workprec(bits + 40):
        return Fraction(int(mpmath.floor(halvings * mpmath.ln(2) * mpmath.mpf(2) ** bits)), 2**bits)


@pytest.mark.parametrize("bits", [100, 135, 200, 400])
@pytest.mark.parametrize("halvings", [1, 3, 30])
def test_a_factor_a_little_above_a_multiple_is_rounded_up_to_the_next(
    halvings: int, bits: int
) -> None:
    """Rounding it down would make a step cost more than epsilon; some hundred digits tell."""
    below, at = log_2(halvings, bits), Fraction(1, 2**halvings)
    assert (factor(below), factor(below + Fraction(1, 2**bits))) == (at + UNIT, at)


def test_a_factor_of_no_digits_is_one_unit() -> None:
    assert factor(Fraction(200)) == UNIT


def test_a_factor_that_is_one_up_to_its_digits_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        factor(Fraction(1, 2**70))
