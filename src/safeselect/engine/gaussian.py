"""Gaussian noise on the integers, for arrays: discrete, and rounded from the continuous law.

They are different laws with different guarantees: only the rounded one is Gaussian-DP.

Method: inversion, one word of 64 bits each through a table.  V is uniform on (0, 1) and the
magnitude is the number of thresholds T_1 > T_2 > ... above V, T_d = P(|X| >= d); the sign is a fair
coin.  A word is the leading 64 digits of V.  A word that no threshold's enclosure touches decides
the magnitude.  Any other word, and any in the tail beyond the
table, gets 64 more digits, and the thresholds are enclosed more closely, until they decide.  So the
law is exact.

Reveals: the size of the requests follows from n, except for refinements, whose probability is below
2**-40 a number.  Where a law has no table, each number is searched for, and the time follows from
the noise.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.arrays import fill, random_lanes
from safeselect.exact.interval import Interval
from safeselect.exact.normal import normal
from safeselect.randomness.bits import Bits, exhausted, rounds

MOST_TABLED = Fraction(2**20)
"""Up to this sigma squared a table is made: about 8000 thresholds."""

_GUARD = 96  # places beyond those asked for: roundings grow with the square of the number


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(X = x) proportional to exp(-x**2 / (2 sigma_squared)).

    `samplers.discrete_gaussian` has the same law.

    Args:
        sigma_squared: rational, positive and at most `MOST_TABLED`.
    """

    sigma_squared: Fraction

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

    def threshold(self, d: int, size: int) -> tuple[int, int]:
        """Enclose P(|X| >= d) in units of 2**-size."""
        precision = size + 32
        edge = Interval.of(Fraction(1 - 2 * d, 2), precision)
        tail = normal(edge / Interval.of(self.sigma_squared, precision).sqrt())
        return (tail + tail).scaled(size)


_WORD = 64
_SPARE = 8  # places beyond a word to which thresholds of the table are enclosed
_LAST = 20  # the table ends with the first threshold below 2**-44


GaussianLaw = DiscreteGaussian | RoundedGaussian


def draw_symmetric(
    n: int, law: GaussianLaw, bits: Bits, *, tabled: Fraction = MOST_TABLED
) -> NDArray[np.int64]:
    """Draw n independent numbers of this law, int64.

    Bits: 72 each.

    Args:
        tabled: up to this sigma squared they are looked up in a table.
    """
    words = random_lanes(n, bits)
    signs = np.empty(n, dtype=np.uint8)
    fill(signs, bits)
    found = np.zeros(n, dtype=np.int64)
    unsure = np.ones(n, dtype=np.bool_)
    if law.sigma_squared <= tabled:
        leads, margin = _table(law)
        below = np.searchsorted(leads, words, side="right")
        found = np.subtract(leads.size, below).astype(np.int64)
        distance = np.subtract(words, np.take(leads, np.maximum(below, 1) - 1))
        unsure = np.logical_or(np.less(distance, margin), np.equal(below, 0))
    for place in np.flatnonzero(unsure).tolist():
        found[place] = _magnitude(int(words[place]), law, bits)
    # -x is the complement of x, and 1.
    minus = np.bitwise_and(signs, np.uint8(1)).astype(np.int64)
    return np.add(np.bitwise_xor(found, np.negative(minus)), minus)


@lru_cache(maxsize=8)
def _table(law: GaussianLaw) -> tuple[NDArray[np.uint64], np.uint64]:
    """Lower ends of the thresholds, ascending, in units of 2**-64, and a margin.

    A threshold lies less than the margin above its lower end.
    """
    leads: list[int] = []
    margin = d = 1
    while d == 1 or leads[-1] >> _LAST:
        low, high = law.threshold(d, _WORD + _SPARE)
        leads.append(low >> _SPARE)
        margin = max(margin, -(-high >> _SPARE) - leads[-1])
        d += 1
    # The last threshold is one of the tail, below which all words are searched for.
    ascending = np.array(leads[::-1], dtype=np.uint64)
    ascending.flags.writeable = False
    return ascending, np.uint64(margin)


def _magnitude(v: int, law: GaussianLaw, bits: Bits) -> int:
    """The number of thresholds above V, whose leading digits are v."""
    size = _WORD
    for _ in rounds(_WORD):
        found = _surely_above(v, law, size)
        if law.threshold(found + 1, size)[1] <= v:
            return found
        v, size = v << _WORD | bits.take(_WORD), size + _WORD
    raise exhausted()


def _surely_above(v: int, law: GaussianLaw, size: int) -> int:
    """The last d with T_d surely above every V that begins with v; 0 where there is none."""

    def not_above(d: int) -> bool:
        return law.threshold(d, size)[0] <= v

    high = next(1 << power for power in count() if not_above(1 << power))
    return bisect_left(range(high), True, lo=high // 2 + 1, key=not_above) - 1
