"""Enclosures of real numbers, rounded outwards, and bounds taken from them.

Every operation rounds the lower end down and the upper end up.  It uses MPFR contexts of its own,
never the thread's current context.  So neither the caller's gmpy2 settings nor another thread can
move a bound.  (The operators of bare MPFR numbers do use the current context.  No file of the
package uses them; comparisons are exact.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
from gmpy2 import mpfr, mpq

from safeselect.errors import ParameterError

_FAR = 5  # deviations from which on a continued fraction is quicker than erfc
# A bound closer to zero would not fit into a guarantee, so it is rounded up to this.
_SMALLEST_BOUND = Fraction(1, 2**4000)


@lru_cache(maxsize=64)
def contexts(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    """Contexts that round down and up.  Only their sticky flags ever change."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """A real number x with lower <= x <= upper; both ends are MPFR numbers of `precision` bits.

    An operation returns an interval that contains its value at every point of the operands.  It
    may be undefined at some point (a logarithm at or below zero, a divisor that contains zero), or
    an end may overflow.  The result is then unbounded rather than wrong.
    """

    lower: mpfr
    upper: mpfr
    precision: int

    @classmethod
    def of(cls, value: Fraction | int, precision: int) -> Interval:
        """Enclose a rational."""
        down, up = contexts(precision)
        exact = mpq(value.numerator, value.denominator)
        return cls(mpfr(exact, 0, down), mpfr(exact, 0, up), precision)

    def __add__(self, other: Interval) -> Interval:
        return self._rounded("add", (self.lower, other.lower), (self.upper, other.upper))

    def __sub__(self, other: Interval) -> Interval:
        return self._rounded("sub", (self.lower, other.upper), (self.upper, other.lower))

    def __neg__(self) -> Interval:
        return self._rounded("minus", (self.upper,), (self.lower,))

    def __mul__(self, other: Interval) -> Interval:
        if self.lower >= 0 and other.lower >= 0:
            # The same ends as below, found without trying all four corners.
            return self._rounded("mul", (self.lower, other.lower), (self.upper, other.upper))
        return self._hull("mul", other)

    def __truediv__(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            return self._unbounded()
        if self.lower >= 0 and other.lower > 0:
            return self._rounded("div", (self.lower, other.upper), (self.upper, other.lower))
        return self._hull("div", other)

    def exp(self) -> Interval:
        """Enclose e**x."""
        return self._rounded("exp", (self.lower,), (self.upper,))

    def expm1(self) -> Interval:
        """Enclose e**x - 1 without the cancellation near zero."""
        return self._rounded("expm1", (self.lower,), (self.upper,))

    def log(self) -> Interval:
        """Enclose the natural logarithm."""
        if not self.lower > 0:
            return self._unbounded()
        return self._rounded("log", (self.lower,), (self.upper,))

    def sqrt(self) -> Interval:
        """Enclose the square root."""
        if not self.lower >= 0:
            return self._unbounded()
        return self._rounded("sqrt", (self.lower,), (self.upper,))

    def scaled(self, bits: int) -> tuple[int, int]:
        """Integers (low, high) with low <= x * 2**bits <= high; the interval must be bounded."""
        return _floor_scaled(self.lower, bits), -_floor_scaled((-self).lower, bits)

    def on_one_scale(self) -> tuple[int, int, int]:
        """Integers (low, high, exponent): the ends over 2**exponent; it must be bounded."""
        (low, at), (high, to) = self.lower.as_mantissa_exp(), self.upper.as_mantissa_exp()
        exponent = int(min(at, to))
        return int(low) << int(at) - exponent, int(high) << int(to) - exponent, exponent

    def fractions(self) -> tuple[Fraction, Fraction]:
        """The two ends as rationals; the interval must be bounded."""
        low, high, exponent = self.on_one_scale()
        return _dyadic(low, exponent), _dyadic(high, exponent)

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return bool(gmpy2.is_finite(self.lower) and gmpy2.is_finite(self.upper))

    def _rounded(self, name: str, least: tuple[mpfr, ...], most: tuple[mpfr, ...]) -> Interval:
        """The result at `least`, rounded down, and the result at `most`, rounded up."""
        down, up = contexts(self.precision)
        low, high = getattr(down, name)(*least), getattr(up, name)(*most)
        # A NaN (such as infinity minus infinity) bounds nothing, so the result must be unbounded.
        # NaN is the one number that differs from itself.
        if low != low or high != high:
            return self._unbounded()
        return Interval(low, high, self.precision)

    def _hull(self, name: str, other: Interval) -> Interval:
        """The least and the largest result at the four corners."""
        pairs = [(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        found = [self._rounded(name, pair, pair) for pair in pairs]
        low, high = min(each.lower for each in found), max(each.upper for each in found)
        return Interval(low, high, self.precision)

    def _unbounded(self) -> Interval:
        return Interval(mpfr("-inf"), mpfr("inf"), self.precision)


def _floor_scaled(end: mpfr, bits: int) -> int:
    mantissa, exponent = end.as_mantissa_exp()
    shift = int(exponent) + bits
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift


def log_order_constant(excess: Fraction, precision: int) -> Interval:
    """ln((a - 1)**(a - 1) / a**a) for the Rényi order a = 1 + excess.

    The constant of the conversion to (epsilon, delta): its exponential times e**(-(a - 1) epsilon)
    is the maximum of (x - e**epsilon) / x**a.
    """
    order = Interval.of(1 + excess, precision)
    below = Interval.of(excess, precision)
    return below * below.log() - order * order.log()


def rounded_up(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The smallest rational of so many significant bits that is surely at least a real number.

    `evaluate(precision)` encloses the number.  The precision is doubled until the enclosure is
    narrower than the rounding.  If it never is, the upper end is returned: it is a bound too.
    """
    precision = 2 * significant
    while True:
        interval = evaluate(precision)
        if interval.bounded:
            low, high, exponent = interval.on_one_scale()
            if high - low << significant + 8 <= abs(low) or precision > 1 << 15:
                dropped = max(0, high.bit_length() - significant)
                return _dyadic(-(-high >> dropped) << dropped, exponent)
        elif precision > 1 << 15:
            raise ParameterError("a bound is too large to be computed; use smaller parameters")
        precision *= 2


def _dyadic(number: int, exponent: int) -> Fraction:
    """number * 2**exponent."""
    return Fraction(number << exponent) if exponent >= 0 else Fraction(number, 1 << -exponent)


def rounded_down(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The largest rational of so many significant bits that is surely at most a real number."""
    return -rounded_up(lambda precision: -evaluate(precision), significant)


def above_zero(bound: Callable[[int], Interval]) -> Fraction:
    """The bound, rounded up; zero where the bound is surely not positive."""
    first = bound(128)
    if first.bounded and first.upper <= 0:
        return Fraction(0)
    # `rounded_up` begins with this precision, and need not compute it again.
    found = rounded_up(lambda precision: first if precision == 128 else bound(precision))
    return max(_SMALLEST_BOUND, found)


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
