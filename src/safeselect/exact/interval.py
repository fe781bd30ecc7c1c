"""Enclosures of real numbers, rounded outwards, and bounds taken from them.

Every operation rounds the lower end down and the upper end up through MPFR contexts of its own,
never through the thread's current context, so neither the caller's gmpy2 settings nor another
thread can move a bound.  (The operators of bare MPFR numbers do use the current context: none is
used here or anywhere else in the package; comparisons are exact.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

import gmpy2
from gmpy2 import mpfr, mpq

from safeselect.errors import ParameterError

__all__ = ["Interval", "above_zero", "argmin", "contexts", "rounded_down", "rounded_up"]

# A bound closer to zero is rounded up to this, because it would not fit into a guarantee.
_SMALLEST_BOUND = Fraction(1, 2**4000)
_MOST_STEPS = 500  # of a search that need not find the best; 60 are usual


@lru_cache(maxsize=64)
def contexts(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    """Contexts that round down and up.  Nothing but sticky flags ever changes in them."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """A real number x with lower <= x <= upper; both ends are MPFR numbers of `precision` bits.

    An operation returns an interval that contains its value at every point of the operands.  Where
    it is undefined somewhere in them (a logarithm at or below zero, a divisor that contains zero),
    or where an end overflows, the result is unbounded rather than wrong.
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
        down, up = contexts(self.precision)
        return self._between(down.add(self.lower, other.lower), up.add(self.upper, other.upper))

    def __sub__(self, other: Interval) -> Interval:
        down, up = contexts(self.precision)
        return self._between(down.sub(self.lower, other.upper), up.sub(self.upper, other.lower))

    def __neg__(self) -> Interval:
        down, up = contexts(self.precision)
        return self._between(down.minus(self.upper), up.minus(self.lower))

    def __mul__(self, other: Interval) -> Interval:
        down, up = contexts(self.precision)
        if self.lower >= 0 and other.lower >= 0:
            # The same ends as below, found without trying all four corners.
            return self._between(down.mul(self.lower, other.lower), up.mul(self.upper, other.upper))
        pairs = [(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return self._hull([down.mul(a, b) for a, b in pairs], [up.mul(a, b) for a, b in pairs])

    def __truediv__(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            return self._unbounded()
        down, up = contexts(self.precision)
        if self.lower >= 0 and other.lower > 0:
            return self._between(down.div(self.lower, other.upper), up.div(self.upper, other.lower))
        pairs = [(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return self._hull([down.div(a, b) for a, b in pairs], [up.div(a, b) for a, b in pairs])

    def exp(self) -> Interval:
        """Enclose e**x."""
        down, up = contexts(self.precision)
        return self._between(down.exp(self.lower), up.exp(self.upper))

    def expm1(self) -> Interval:
        """Enclose e**x - 1 without the cancellation near zero."""
        down, up = contexts(self.precision)
        return self._between(down.expm1(self.lower), up.expm1(self.upper))

    def log(self) -> Interval:
        """Enclose the natural logarithm."""
        if not self.lower > 0:
            return self._unbounded()
        down, up = contexts(self.precision)
        return self._between(down.log(self.lower), up.log(self.upper))

    def sqrt(self) -> Interval:
        """Enclose the square root."""
        if not self.lower >= 0:
            return self._unbounded()
        down, up = contexts(self.precision)
        return self._between(down.sqrt(self.lower), up.sqrt(self.upper))

    def scaled(self, bits: int) -> tuple[int, int]:
        """Integers (low, high) with low <= x * 2**bits <= high; the interval must be bounded."""
        return _floor_scaled(self.lower, bits), -_floor_scaled(
            contexts(self.precision)[0].minus(self.upper), bits
        )

    def fractions(self) -> tuple[Fraction, Fraction]:
        """The two ends as rationals; the interval must be bounded."""
        return _fraction(self.lower), _fraction(self.upper)

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return bool(gmpy2.is_finite(self.lower) and gmpy2.is_finite(self.upper))

    def _between(self, low: mpfr, high: mpfr) -> Interval:
        # A NaN (such as infinity minus infinity) says nothing, so it must widen to everything; it
        # is the one number that differs from itself.
        if low != low or high != high:
            return self._unbounded()
        return Interval(low, high, self.precision)

    def _hull(self, lows: list[mpfr], highs: list[mpfr]) -> Interval:
        if any(gmpy2.is_nan(end) for end in lows + highs):
            return self._unbounded()
        return Interval(min(lows), max(highs), self.precision)

    def _unbounded(self) -> Interval:
        return Interval(mpfr("-inf"), mpfr("inf"), self.precision)


def _fraction(end: mpfr) -> Fraction:
    mantissa, exponent = end.as_mantissa_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _floor_scaled(end: mpfr, bits: int) -> int:
    mantissa, exponent = end.as_mantissa_exp()
    shift = int(exponent) + bits
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift


def rounded_up(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The smallest rational of so many significant bits that is surely at least a real number.

    `evaluate(precision)` encloses the number; the precision is doubled until the enclosure is
    narrower than the rounding.  If it never is, the upper end still holds and is returned.
    """
    precision = 2 * significant
    while True:
        interval = evaluate(precision)
        if interval.bounded:
            low, high = interval.fractions()
            if (high - low) * 2 ** (significant + 8) <= abs(low) or precision > 1 << 15:
                unit = _unit(high, significant)
                return ceil(high / unit) * unit
        elif precision > 1 << 15:
            raise ParameterError("a bound is too large to be computed; use smaller parameters")
        precision *= 2


def rounded_down(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The largest rational of so many significant bits that is surely at most a real number."""
    return -rounded_up(lambda precision: -evaluate(precision), significant)


def _unit(value: Fraction, significant: int) -> Fraction:
    """The last place of a dyadic number of so many significant bits."""
    # 2**(size - 1) <= |value| < 2**size, because the denominator is a power of 2.
    size = abs(value.numerator).bit_length() - value.denominator.bit_length() + 1
    return Fraction(2) ** (size - significant)


def above_zero(bound: Callable[[int], Interval]) -> Fraction:
    """The bound rounded up, or zero where it is surely not positive."""
    low_precision = bound(128)
    if low_precision.bounded and low_precision.upper <= 0:
        return Fraction(0)
    return max(_SMALLEST_BOUND, rounded_up(bound))


def argmin(objective: Callable[[Fraction], Interval], guess: Fraction) -> Fraction:
    """A point near `guess` where a unimodal bound is small; any point would be a valid choice.

    Works on a geometric scale, comparing upper ends only, so it needs no floating point.  Between
    three points with the least value in the middle the next try is the vertex of their parabola.
    """
    best, factor = _short(guess), Fraction(4)
    value = objective(best).upper
    for _ in range(_MOST_STEPS):
        # Shortened before it is judged: what is compared is what is kept, so no step is undone.
        sides = [_short(best * factor), _short(best / factor)]
        uppers = [objective(side).upper for side in sides]
        nearest = 0 if uppers[0] < uppers[1] else 1
        if uppers[nearest] < value:
            best, value = sides[nearest], uppers[nearest]
            continue
        if factor - 1 <= Fraction(1, 2**10):
            break
        tried = _short(_vertex(best, factor, value, uppers))
        upper = objective(tried).upper
        if upper < value:
            best, value = tried, upper
        factor = 1 + (factor - 1) / 8
    return best


def _vertex(best: Fraction, factor: Fraction, value: mpfr, uppers: list[mpfr]) -> Fraction:
    """The vertex of the parabola through best / factor, best and best * factor."""
    if not all(gmpy2.is_finite(end) for end in (value, *uppers)):
        return best
    middle, above, below = (_fraction(end) for end in (value, *uppers))
    bend = above + below - 2 * middle
    if bend <= 0:
        return best
    share = (below - above) / (2 * bend)  # of a step by the factor; between -1/2 and 1/2
    stretch = 1 + abs(share) * (factor - 1)
    return best * stretch if share >= 0 else best / stretch


def _short(value: Fraction) -> Fraction:
    """The value rounded to 32 significant bits, so that numbers stay small."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - 32)
    return round(value / unit) * unit
