"""Floats for other libraries: rounded towards privacy, never to the nearest."""

from __future__ import annotations

import math
from fractions import Fraction


def at_least(value: Fraction) -> float:
    """Return the smallest float that is at least the value; infinity beyond the largest.

    Requires: value >= 0.
    """
    try:
        nearest = value.numerator / value.denominator  # correctly rounded for integers of any size
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def at_most(value: Fraction) -> float:
    """Return the largest float that is at most the value; 0 below the smallest.

    Requires: value >= 0.
    """
    least = at_least(value)
    if math.isinf(least) or Fraction(least) > value:
        return math.nextafter(least, 0)
    return least
