"""Numbers in a short form for people to read."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

__all__ = ["decimal"]


def decimal(value: Fraction) -> str:
    """Write a number of at least 0 with four significant digits; a whole number in full."""
    if value.denominator == 1 and value < 10**9:
        return str(value)
    above, below = value.as_integer_ratio()
    places, limit = 0, 4 * below.bit_length()
    while above < 1000 * below and places < limit:
        above, places = 10 * above, places + 1
    return f"{Decimal(round(Fraction(above, below))).scaleb(-places):.4g}"
