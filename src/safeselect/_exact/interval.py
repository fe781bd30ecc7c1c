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

import gmpy2
from gmpy2 import mpfr, mpq

from safeselect.errors import ParameterError

__all__ = ["Interval", "argmin", "rounded_down", "rounded_up"]

_MOST_STEPS = 500  # of a search that need not find the best; 60 are usual


@lru_cache(maxsize=64)
def _contexts(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
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
        down, up = _contexts(precision)
        exact = mpq(value.numerator, value.denominator)
        return cls(mpfr(exact, 0, down), mpfr(exact, 0, up), precision)

    def __add__(self, other: Interval) -> Interval:
        down, up = _contexts(self.precision)
        return self._hull([down.add(self.lower, other.lower)], [up.add(self.upper, other.upper)])

    def __sub__(self, other: Interval) -> Interval:
        down, up = _contexts(self.precision)
        return self._hull([down.sub(self.lower, other.upper)], [up.sub(self.upper, other.lower)])

    def __neg__(self) -> Interval:
        down, up = _contexts(self.precision)
        return self._hull([down.minus(self.upper)], [up.minus(self.lower)])

    def __mul__(self, other: Interval) -> Interval:
        down, up = _contexts(self.precision)
        pairs = [(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return self._hull([down.mul(a, b) for a, b in pairs], [up.mul(a, b) for a, b in pairs])

    def __truediv__(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            return self._unbounded()
        down, up = _contexts(self.precision)
        pairs = [(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return self._hull([down.div(a, b) for a, b in pairs], [up.div(a, b) for a, b in pairs])

    def exp(self) -> Interval:
        """Enclose e**x."""
        down, up = _contexts(self.precision)
        return self._hull([down.exp(self.lower)], [up.exp(self.upper)])

    def expm1(self) -> Interval:
        """Enclose e**x - 1 without the cancellation near zero."""
        down, up = _contexts(self.precision)
        return self._hull([down.expm1(self.lower)], [up.expm1(self.upper)])

    def log(self) -> Interval:
        """Enclose the natural logarithm."""
        if not self.lower > 0:
            return self._unbounded()
        down, up = _contexts(self.precision)
        return self._hull([down.log(self.lower)], [up.log(self.upper)])

    def sqrt(self) -> Interval:
        """Enclose the square root."""
        if not self.lower >= 0:
            return self._unbounded()
        down, up = _contexts(self.precision)
        return self._hull([down.sqrt(self.lower)], [up.sqrt(self.upper)])

    def scaled(self, bits: int) -> tuple[int, int]:
        """Integers (low, high) with low <= x * 2**bits <= high; the interval must be bounded."""
        return _floor_scaled(self.lower, bits), -_floor_scaled(
            _contexts(self.precision)[0].minus(self.upper), bits
        )

    def fractions(self) -> tuple[Fraction, Fraction]:
        """The two ends as rationals; the interval must be bounded."""
        ends = []
        for end in (self.lower, self.upper):
            mantissa, exponent = end.as_mantissa_exp()
            ends.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
        return ends[0], ends[1]

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return bool(gmpy2.is_finite(self.lower) and gmpy2.is_finite(self.upper))

    def _hull(self, lows: list[mpfr], highs: list[mpfr]) -> Interval:
        # A NaN (such as infinity minus infinity) says nothing, so it must widen to everything.
        if any(gmpy2.is_nan(end) for end in lows + highs):
            return self._unbounded()
        return Interval(min(lows), max(highs), self.precision)

    def _unbounded(self) -> Interval:
        return Interval(mpfr("-inf"), mpfr("inf"), self.precision)


def _floor_scaled(end: mpfr, bits: int) -> int:
    mantissa, exponent = end.as_mantissa_exp()
    shift = int(exponent) + bits
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift


def rounded_up(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The smallest rational of so many significant bits that is surely at least a real number.

    `evaluate(precision)` encloses the number; the precision is doubled until the enclosure is
    narrower than the rounding.  If it never is, the upper end still holds and is returned.
    """
    return _rounded(evaluate, significant, upwards=True)


def rounded_down(evaluate: Callable[[int], Interval], significant: int = 64) -> Fraction:
    """The largest rational of so many significant bits that is surely at most a real number."""
    return _rounded(evaluate, significant, upwards=False)


def _rounded(evaluate: Callable[[int], Interval], significant: int, *, upwards: bool) -> Fraction:
    precision = 2 * significant
    while True:
        interval = evaluate(precision)
        if interval.bounded:
            low, high = interval.fractions()
            if (high - low) * 2 ** (significant + 8) <= abs(low) or precision > 1 << 15:
                return _to_bits(high if upwards else low, significant, upwards=upwards)
        elif precision > 1 << 15:
            raise ParameterError("a bound is too large to be computed; use smaller parameters")
        precision *= 2


def _to_bits(value: Fraction, significant: int, *, upwards: bool) -> Fraction:
    size = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) >= Fraction(2) ** size:
        size += 1  # now 2**(size - 1) <= |value| < 2**size
    unit = Fraction(2) ** (size - significant)
    steps = value / unit
    return (
        -((-steps.numerator) // steps.denominator)
        if upwards
        else steps.numerator // steps.denominator
    ) * unit


def argmin(objective: Callable[[Fraction], Interval], guess: Fraction) -> Fraction:
    """A point near `guess` where a unimodal bound is small; any point would be a valid choice.

    Works on a geometric scale, comparing upper ends only, so it needs no floating point.
    """
    best = _short(guess)
    value, factor = objective(best).upper, Fraction(4)
    for _ in range(_MOST_STEPS):
        # Shortened before it is judged: what is compared is what is kept, so no step is undone.
        for candidate in (_short(best * factor), _short(best / factor)):
            upper = objective(candidate).upper
            if upper < value:
                best, value = candidate, upper
                break
        else:
            if factor - 1 <= Fraction(1, 2**12):
                break
            factor = 1 + (factor - 1) / 2
    return best


def _short(value: Fraction) -> Fraction:
    """The value rounded to 32 significant bits, so that numbers stay small."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - 32)
    return round(value / unit) * unit
