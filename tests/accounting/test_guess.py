"""The guessed epsilon of a rho, against roots of the published formulas."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from safeselect import BoundedRange, LaplaceDominated, PureDP
from safeselect.accounting import rate as rates

FAMILIES = (BoundedRange, LaplaceDominated, PureDP)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rho", ["1e-17", "1e-9", "0.003", "0.1249", "0.125", "0.1251", "3", "4e6"])
def test_a_guess_has_eighteen_digits(family, rho):
    """Against roots of the published formulas; small numbers are guessed in another way."""
    guess = rates.guessed_epsilon(family, Fraction(rho))
    with mpmath.workdps(60):
        wanted, e = mpmath.mpf(rho), mpmath.fraction(*guess.as_integer_ratio())

        def cost(at):
            if family is BoundedRange:
                x = at / mpmath.expm1(at)
                return x - 1 - mpmath.log(x)
            if family is LaplaceDominated:
                return at + mpmath.expm1(-at)
            return at * mpmath.tanh(at / 2)

        assert cost(e * (1 - mpmath.mpf("1e-18"))) < wanted < cost(e * (1 + mpmath.mpf("1e-18")))
