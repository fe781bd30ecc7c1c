"""Floats for other libraries are rounded towards privacy."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeselect.adapters._numbers import at_least, at_most


@given(st.fractions(min_value=0))
def test_floats_are_next_to_the_value(value: Fraction) -> None:
    high, low = at_least(value), at_most(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert low == high or math.nextafter(low, math.inf) == high
    assert (low == high) == (Fraction(high) == value)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (Fraction(0), 0.0, 0.0),
        (Fraction(1, 10**400), 0.0, 5e-324),
        (Fraction(10) ** 400, sys.float_info.max, math.inf),
        (Fraction(2**53 + 1), 2.0**53, 2.0**53 + 2),
        (Fraction(1, 10), math.nextafter(0.1, 0), 0.1),
        (Fraction(3, 10), 0.3, math.nextafter(0.3, 1)),
    ],
)
def test_floats_at_the_ends(value: Fraction, low: float, high: float) -> None:
    assert (at_most(value), at_least(value)) == (low, high)
