"""The noise rate: how much less likely each further grid step is.

One public number describes every noise of this library: the factor rho by which the density falls
from one grid step to the next.  It is exp(-rate), or base**rate for a rational base.  Only
enclosures of its powers are computed from it, so an irrational rho is as exact as a rational one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval

MIN_RATE = Fraction(1, 2**40)
MAX_RATE = Fraction(2**20)


@dataclass(frozen=True, slots=True)
class NoiseRate:
    """rho = exp(-rate), or rho = base**rate where a rational base in (0, 1) is given.

    Args:
        rate: positive rational, per grid step.
        base: rational in (0, 1), or None for 1/e.

    Raises:
        ParameterError: -ln(rho) is not between 2**-40 and 2**20 per grid step.
    """

    rate: Fraction
    base: Fraction | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The limits are for convenience, so an enclosure that only touches the range may pass.
        low = high = self.rate
        if self.base is not None:
            nats = self.nats(64)
            low, high = nats.fractions() if nats.bounded else (Fraction(0), Fraction(0))
        if high < MIN_RATE or low > MAX_RATE:
            raise ParameterError(
                "the noise rate must be between 2**-40 and 2**20 per grid step; "
                "choose a grid= nearer to the scale of the noise, or another epsilon"
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
