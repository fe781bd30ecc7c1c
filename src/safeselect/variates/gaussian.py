"""Two laws of Gaussian noise on the integers: discrete, and rounded from the continuous one.

They are different laws with different guarantees: only the rounded one is Gaussian-DP.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from safeselect.exact.interval import Interval
from safeselect.exact.normal import normal

MOST_TABLED = Fraction(2**20)
"""Up to this sigma squared a table is made: about 8000 thresholds."""

_GUARD = 96  # places beyond those asked for: roundings grow with the square of the number


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(X = x) proportional to exp(-x**2 / (2 sigma_squared)).

    Scalar twin: `spec.samplers.discrete_gaussian`.

    Args:
        sigma_squared: rational, positive and at most `MOST_TABLED`.
    """

    sigma_squared: Fraction
    tabled = True

    def threshold(self, d: int, size: int) -> tuple[int, int]:
        """Enclose P(|X| >= d) in units of 2**-size."""
        found = _tails(self.sigma_squared, size)
        return found[d - 1] if d <= len(found) else (0, found[-1][1])


@lru_cache(maxsize=8)
def _tails(sigma_squared: Fraction, size: int) -> tuple[tuple[int, int], ...]:
    """Enclose P(|X| >= d) for d = 1, 2, ... until it is below a unit of 2**-size.

    Weights are products of ratios, in fixed point, rounded down and up; the sum of all weights
    beyond the last is at most that of a geometric series.
    """
    places = size + _GUARD
    one = 1 << places

    def power(numerator: int) -> tuple[int, int]:
        exponent = -Fraction(numerator) / (2 * sigma_squared)
        return Interval.of(exponent, places + 32).exp().scaled(places)

    ratio, fall = power(1), power(2)
    weights = [(one, one)]
    while weights[-1][1] >> (_GUARD // 2):
        weights.append(_times(weights[-1], ratio, places))
        ratio = _times(ratio, fall, places)
    # All weights beyond: at most w r / (1 - r) for the last weight w and the next ratio r.
    low, high = 0, weights[-1][1] * ratio[1] // (one - ratio[1]) + 1
    sums = []
    for below, above in reversed(weights[1:]):
        low, high = low + below, high + above
        sums.append((2 * low, 2 * high))
    sums.reverse()
    least, most = one + sums[0][0], one + sums[0][1]
    return tuple(((a << size) // most, -((-b << size) // least)) for a, b in sums)


def _times(left: tuple[int, int], right: tuple[int, int], places: int) -> tuple[int, int]:
    return left[0] * right[0] >> places, -(-left[1] * right[1] >> places)


@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """X = round(sigma Z), Z normal: P(|X| >= d) = 2 P(Z >= (d - 1/2) / sigma).

    Args:
        sigma_squared: rational, positive.
    """

    sigma_squared: Fraction

    @property
    def tabled(self) -> bool:
        """Whether a table is made."""
        return self.sigma_squared <= MOST_TABLED

    def threshold(self, d: int, size: int) -> tuple[int, int]:
        """Enclose P(|X| >= d) in units of 2**-size."""
        precision = size + 32
        edge = Interval.of(Fraction(1 - 2 * d, 2), precision)
        tail = normal(edge / Interval.of(self.sigma_squared, precision).sqrt())
        return (tail + tail).scaled(size)
