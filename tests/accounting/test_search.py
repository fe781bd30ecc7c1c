"""A search returns nothing that costs more."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safeselect.accounting.search import nearer, rounded


@pytest.mark.parametrize("power", [Fraction(1), Fraction(3, 2), Fraction(4)])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(2), Fraction(9)])
@pytest.mark.parametrize("first", ["1/1000", "9/10", "11/10", "50"])
def test_a_search_returns_nothing_that_costs_more(power, growth, first):
    """Whatever it is told of the cost, and wherever it begins."""

    def cost(at: Fraction) -> Fraction:
        scaled = rounded(at, 40)
        return scaled**power.numerator if power.denominator == 1 else scaled + scaled**2 / 3

    near = Fraction(1, 2**9)
    for limit in (Fraction(1), Fraction(7, 5)):
        least = Fraction(1, 10**4)
        found = nearer(cost, limit, least, Fraction(first), near, growth)
        assert least <= found
        assert cost(found) <= limit
        if first in ("9/10", "11/10") and growth <= 2:
            assert cost(found) >= limit * (1 - 2 * near)
