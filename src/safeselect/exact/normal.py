"""The normal distribution function, enclosed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from gmpy2 import mpfr

from safeselect.exact.interval import Interval, contexts


def normal(value: Interval) -> Interval:
    """Enclose the normal distribution function: half of erfc(-value / sqrt(2))."""
    precision = value.precision
    argument = -value * _root_of_half(precision)
    down, up = contexts(precision)
    # One erfc for both ends: it takes most of the time.  Its logarithm falls by at most
    # 2 (|a| + 1) per unit (Birnbaum 1942: the hazard rate is below a + sqrt(a**2 + 2)).
    most = up.erfc(argument.lower)
    size = max(up.minus(argument.lower), argument.upper)
    fall = up.mul(up.mul(2, up.add(size, 1)), up.sub(argument.upper, argument.lower))
    # Rounding up added less than this share; where the number is too small for MPFR, all of it, and
    # the product is 0.
    rounded = down.sub(1, Fraction(1, 2 ** (precision - 2)))
    low = down.mul(down.mul(most, rounded), down.sub(1, fall))
    half = mpfr("0.5")
    return Interval(down.mul(low, half), up.mul(most, half), precision)


@lru_cache(maxsize=16)
def _root_of_half(precision: int) -> Interval:
    """1 / sqrt(2)."""
    return 1 / Interval.of(2, precision).sqrt()
