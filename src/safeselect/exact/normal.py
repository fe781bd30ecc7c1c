"""The normal distribution function, enclosed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import gmpy2
from gmpy2 import mpfr

from safeselect.exact.interval import Interval, contexts

_FAR = 5  # deviations from which on a continued fraction is quicker than erfc


def normal(value: Interval) -> Interval:
    """Enclose the normal distribution function: half of erfc(-value / sqrt(2))."""
    if -value.upper >= _FAR and value.bounded:
        return _far_tail(-value)
    precision = value.precision
    argument = -value * _constants(precision)[0]
    down, up = contexts(precision)
    # One erfc for both ends: it takes most of the time.  Its logarithm falls by at most
    # 2 (|a| + 1) per unit (Birnbaum 1942: the hazard rate is below a + sqrt(a**2 + 2)).
    nearly = mpfr(down.erfc(argument.lower), 0, down)
    size = max(up.minus(argument.lower), argument.upper)
    fall = up.mul(up.mul(2, up.add(size, 1)), up.sub(argument.upper, argument.lower))
    one_more = up.mul(
        nearly, up.add(1, Interval.of(Fraction(1, 2 ** (precision - 2)), precision).upper)
    )
    half = mpfr("0.5")
    low, high = down.mul(nearly, down.sub(1, fall)), min(one_more, mpfr(2))
    return Interval(down.mul(low, half), up.mul(high, half), precision)


@lru_cache(maxsize=16)
def _constants(precision: int) -> tuple[Interval, Interval]:
    """1 / sqrt(2), and 1 / sqrt(2 pi)."""
    down, up = contexts(precision)
    one, two = Interval.of(1, precision), Interval.of(2, precision)
    pi = Interval(down.const_pi(), up.const_pi(), precision)
    return one / two.sqrt(), one / (two * pi).sqrt()


def _far_tail(z: Interval) -> Interval:
    """Enclose the chance of a deviation above z: density / (z + 1/(z + 2/(z + 3/(z + ...)))).

    All terms are positive, so truncating the fraction after an even and after an odd number of
    terms gives bounds on the two sides.  Each bound takes as many roundings as terms; the last step
    covers them.
    Source: Laplace; Abramowitz and Stegun (1964), 26.2.14.
    """
    precision = z.precision
    down, up = contexts(precision)
    # With so many terms the difference is about 2**-precision; fewer only make it wider.
    squared = int(z.lower) ** 2
    needed = max(24, precision - 18 * squared // 25)
    terms = 2 * (needed * needed // (10 * squared) + needed // 12 + 1)
    # After an even number of terms the fraction below is too small, after an odd one too large.
    most = _broken_off(z.lower, terms, down)
    least = _broken_off(z.upper, terms + 1, up)
    slack = Interval.of(Fraction(2 * terms + 4, 2 ** (precision - 1)), precision)
    one = Interval.of(1, precision)
    ratio = Interval(down.div(1, least), up.div(1, most), precision)
    density = (-(z * z) / Interval.of(2, precision)).exp() * _constants(precision)[1]
    wide = Interval((one - slack).lower, (one + slack).upper, precision)
    return density * ratio * wide


def _broken_off(z: mpfr, terms: int, context: gmpy2.context) -> mpfr:
    value = z
    for number in range(terms, 0, -1):
        value = context.add(z, context.div(number, value))
    return value
