"""Enclosures of real numbers, rounded outwards; bounds taken from them; the noise rate.

Every operation rounds the lower end down and the upper end up.  It uses MPFR contexts of its own,
never the thread's current context.  So neither the caller's gmpy2 settings nor another thread can
move a bound.  (The operators of bare MPFR numbers do use the current context.  No file of the
package uses them; comparisons are exact.)

One public number describes every noise of this library: the factor rho by which the density falls
from one grid step to the next.  It is exp(-rate), or base**rate for a rational base.  Only
enclosures of its powers are computed from it, so an irrational rho is as exact as a rational one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import gmpy2
from gmpy2 import mpfr, mpq

from safeselect.errors import ParameterError

MIN_RATE = Fraction(1, 2**40)
MAX_RATE = Fraction(2**20)

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

    An operation returns an interval that contains its value at every point of the operands, of
    which one may be a rational: it is enclosed to the precision of the other.  The operation may be
    undefined at some point (a logarithm at or below zero, a divisor that contains zero), or an end
    may overflow.  The result is then unbounded rather than wrong.
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

    def __add__(self, number: Interval | Fraction | int) -> Interval:
        other = self._enclosed(number)
        return self._rounded("add", (self.lower, other.lower), (self.upper, other.upper))

    __radd__ = __add__

    def __sub__(self, number: Interval | Fraction | int) -> Interval:
        other = self._enclosed(number)
        return self._rounded("sub", (self.lower, other.upper), (self.upper, other.lower))

    def __rsub__(self, number: Fraction | int) -> Interval:
        return self._enclosed(number) - self

    def __neg__(self) -> Interval:
        return self._rounded("minus", (self.upper,), (self.lower,))

    def __mul__(self, number: Interval | Fraction | int) -> Interval:
        other = self._enclosed(number)
        if self.lower >= 0:  # the same ends as below, found without trying all four corners
            one, two = (self.lower, self.upper), (other.lower, other.upper)
            return self._rounded("mul", (one[two[0] < 0], two[0]), (one[two[1] >= 0], two[1]))
        return self._hull("mul", other)

    def __rmul__(self, number: Fraction | int) -> Interval:
        return self._enclosed(number) * self

    def __truediv__(self, number: Interval | Fraction | int) -> Interval:
        other = self._enclosed(number)
        if other.lower <= 0 <= other.upper:
            return self._unbounded()
        if self.lower >= 0 and other.lower > 0:
            return self._rounded("div", (self.lower, other.upper), (self.upper, other.lower))
        return self._hull("div", other)

    def __rtruediv__(self, number: Fraction | int) -> Interval:
        return self._enclosed(number) / self

    def _enclosed(self, number: Interval | Fraction | int) -> Interval:
        return number if isinstance(number, Interval) else Interval.of(number, self.precision)

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
            raise ParameterError("a bound is too large to compute; use smaller parameters")
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


@dataclass(frozen=True, slots=True)
class NoiseRate:
    """rho = exp(-rate), or rho = base**rate where a rational base in (0, 1) is given.

    Args:
        rate: positive rational, per grid step.
        base: rational in (0, 1), or None for 1/e.

    Raises:
        ParameterError: another type, or -ln(rho) is not between 2**-40 and 2**20 per grid step.
    """

    rate: Fraction
    base: Fraction | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if {type(self.rate), type(self.base or 1)} - {int, Fraction}:
            raise ParameterError("rate and base must be Fractions, such as Fraction(1, 2)")
        # The limits are for convenience, so an enclosure that only touches the range may pass.
        low = high = self.rate
        if self.base is not None:
            nats = self.nats(64)
            low, high = nats.fractions() if nats.bounded else (Fraction(0), Fraction(0))
        if high < MIN_RATE or low > MAX_RATE:
            raise ParameterError(
                "the noise rate must be between 2**-40 and 2**20 per grid step; choose a grid= "
                "closer to the scale of the noise, or another epsilon"
            )

        # A rate is looked up in each call, and the hash of a fraction takes a microsecond.
        object.__setattr__(self, "_hash", hash((self.rate, self.base)))

    def __hash__(self) -> int:
        return self._hash

    def nats(self, precision: int) -> Interval:
        """Enclose -ln(rho), the rate in nats per grid step."""
        rate = Interval.of(self.rate, precision)
        return rate if self.base is None else rate * -Interval.of(self.base, precision).log()

    def scaled(self, bits: int) -> tuple[int, int]:
        """Integers (low, high) with low <= nats * 2**bits <= high; at most 2 apart."""
        if self.base is not None:
            return self.nats(bits + 64).scaled(bits)
        above, below = self.rate.numerator << bits, self.rate.denominator
        return above // below, -(-above // below)

    def power(self, numerator: int, level: int, precision: int) -> Interval:
        """Enclose rho ** (numerator / 2**level) to about `precision` significant bits.

        Requires: level >= 0; numerator any integer, negative ones included.
        """
        exponent = self.rate * Fraction(numerator, 1 << level)
        # An absolute error of the exponent is a relative error of the power: so a larger exponent
        # needs more bits.
        extra = max(0, abs(exponent.numerator).bit_length() - exponent.denominator.bit_length()) + 8
        working = precision + min(extra, 96)
        power = Interval.of(exponent, working)
        if self.base is not None:
            power = power * -Interval.of(self.base, working).log()
        return (-power).exp()
