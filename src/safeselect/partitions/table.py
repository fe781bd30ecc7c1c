"""The law of partition selection as a table of integers, which certifies itself.

A key with n users is kept with probability p_n / 2**bits.  Neighbours differ by one user of the
key, so (epsilon, delta)-differential privacy of the decision *is* these inequalities, whatever made
the table (E' <= e**epsilon and D <= delta, in units of 2**-bits):

    p_0 = 0,   p_n <= p_(n+1) <= E' p_n + D,   1 - p_n <= E' (1 - p_(n+1)) + D.

The table is the largest that fulfils them: each row is the least of its upper bounds, rounded down.

The decision and the noisy count come from one random threshold J, with P(J <= n) = p_n: the key is
kept if n >= J, and then n + (centre - J) may be released too.  With g_j = P(J = j) and neighbours n
and n + 1, the value v comes from j = n + centre - v or from j + 1.  So the two directions cost

    g_1 + sum_j (g_(j+1) - E' g_j)+     and     sum_j (g_j - E' g_(j+1))+,

the event "not kept" included: its excess upwards is negative, and downwards it is a sum of terms of
the second kind.  Both must be at most D.

Source: Desfontaines, Voss and Gipson (2022), Theorem 1, for the law; `docs/keys.md` for the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt

from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_up

MOST_ROWS = 2**20
_PLACES = 136  # binary places beyond those of delta: a row is exact to 2**-130 of itself
_MOST_EPSILON = 2**14
_TAIL = Fraction(1, 40)  # on each side of an interval of 95 %


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeepTable:
    """The chances to be kept, by the number of users.

    Attributes:
        bits: chances are in units of 2**-bits.
        growth: E', at most e**epsilon, in units of 2**-bits.
        delta: D, at most delta, in units of 2**-bits.
        rows: p_0 = 0, p_1, ..., p_N = 2**bits; a key of N users or more is always kept.
        centre: the last row that the first bound limits; a threshold there adds no noise.
    """

    bits: int
    growth: int
    delta: int
    rows: tuple[int, ...]
    centre: int

    @property
    def certain(self) -> int:
        """N: so many users are always enough."""
        return len(self.rows) - 1

    @property
    def mean_noise(self) -> Fraction:
        """E(centre - J), the mean of the noise of a count, rounded down to 2**-32."""
        return _noise_of(self)[0]

    @property
    def standard_deviation(self) -> Fraction:
        """The standard deviation of that noise, rounded up to a thousandth."""
        return _noise_of(self)[1]

    @property
    def noise_95(self) -> tuple[int, int]:
        """Two numbers between which that noise lies with a probability of 0.95 or more."""
        # P(J <= n) is row n, and the noise is centre - J.
        return self.centre - self.first_row(1 - _TAIL), self.centre - self.first_row(_TAIL)

    def first_row(self, chance: Fraction) -> int:
        """The fewest users with which a key is kept with this probability or more."""
        return bisect_left(self.rows, -(-(chance.numerator << self.bits) // chance.denominator))

    def chance(self, users: int) -> Fraction:
        """The probability that a key with so many users is kept."""
        row = self.rows[min(max(users, 0), self.certain)]
        return Fraction(row, 1 << self.bits)

    def keeps_its_promise(self, *, with_counts: bool) -> bool:
        """Whether all inequalities of the module hold: for the decision, or for the count too."""
        one, rows = 1 << self.bits, self.rows
        if rows[0] != 0 or rows[-1] != one or not all(map(int.__le__, rows, rows[1:])):
            return False
        if not with_counts:
            slack = self.delta << self.bits
            return all(
                after << self.bits <= self.growth * row + slack
                and (one - row) << self.bits <= self.growth * (one - after) + slack
                for row, after in pairwise(rows)
            )
        chances = [after - row for row, after in pairwise(rows)]
        up, down = chances[0] << self.bits, 0
        for each, following in zip(chances, [*chances[1:], 0], strict=True):
            up += max(0, (following << self.bits) - self.growth * each)
            down += max(0, (each << self.bits) - self.growth * following)
        return max(up, down) <= self.delta << self.bits


@lru_cache(maxsize=16)  # a release asks for it, and there may be a million rows
def _noise_of(table: KeepTable) -> tuple[Fraction, Fraction]:
    """The mean of centre - J, rounded down to 2**-32, and its deviation, up to a thousandth.

    E J is the sum of P(J > n) over all n, and E J**2 that of (2 n + 1) P(J > n).
    """
    one = 1 << table.bits
    missing = [one - row for row in table.rows]
    first, second = sum(missing), sum((2 * n + 1) * rest for n, rest in enumerate(missing))
    mean = table.centre - Fraction(first, one)
    variance = second * one - first**2  # in units of one**2
    deviation = Fraction(isqrt(variance * 10**6 // one**2) + 1, 1000)
    return Fraction(mean * 2**32 // 1, 2**32), deviation


@lru_cache(maxsize=16)
def keep_table(epsilon: Fraction, delta: Fraction, *, with_counts: bool) -> KeepTable:
    """Return the largest table that is (epsilon, delta)-differentially private.

    With counts it has more places and a delta that is lowered by what rounding may add up to, so
    that both sums hold.

    Raises:
        ParameterError: epsilon is so small that a table of 2**20 rows is too short, or above 2**14.
    """
    if epsilon > _MOST_EPSILON:
        raise ParameterError(f"epsilon for each key must be at most {_MOST_EPSILON}")
    if 2 * crossing(epsilon, delta) > MOST_ROWS - 4:
        raise ParameterError(
            "epsilon is so small for each key that only keys of half a million users would be "
            "kept; choose a larger epsilon, or a smaller max_partitions"
        )
    bits = _PLACES + (-(-delta.denominator // delta.numerator)).bit_length()
    lowered = 0
    if with_counts:
        rows = len(_rows(bits, _growth(epsilon, bits), _floor(delta, bits))) + 1
        above = (_growth(epsilon, bits) >> bits) + 1  # E', rounded up
        bits += above.bit_length()
        lowered = rows * (above + 2)
    growth, most = _growth(epsilon, bits), _floor(delta, bits)
    chances = _rows(bits, growth, most - lowered)
    centre = _centre(chances, bits, growth, most - lowered)
    table = KeepTable(bits, growth, most, tuple(chances), centre)
    if not table.keeps_its_promise(with_counts=with_counts):
        raise ParameterError("no table is certified for this epsilon and delta; choose others")
    return table


def crossing(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return ln((E + 2 d - 1) / (d (E + 1))) / epsilon, where the closed form of the law changes.

    It is the centre of the table, up to 1, and half of its length.  Rounded up.
    """

    def enclose(precision: int) -> Interval:
        e, d = Interval.of(epsilon, precision), Interval.of(delta, precision)
        above, below = e.expm1() + d + d, d * (e.exp() + Interval.of(1, precision))
        return (above / below).log() / e

    return rounded_up(enclose)


def _floor(delta: Fraction, bits: int) -> int:
    return (delta.numerator << bits) // delta.denominator


def _growth(epsilon: Fraction, bits: int) -> int:
    """e**epsilon, rounded down: the lower end of an enclosure."""
    # e**epsilon has fewer than 3/2 epsilon + 1 bits before the point.
    precision = bits + int(3 * epsilon // 2) + 64
    return Interval.of(epsilon, precision).exp().scaled(bits)[0]


def _rows(bits: int, growth: int, delta: int) -> list[int]:
    """Take each row as large as the one before it allows.

    It ends: the rest 1 - p falls by D or more with each row.
    """
    one, row = 1 << bits, 0
    rows = [row]
    while row < one:
        row = min(_risen(row, bits, growth, delta), _fallen(row, bits, growth, delta), one)
        rows.append(row)
    return rows


def _risen(row: int, bits: int, growth: int, delta: int) -> int:
    """E' p + D, rounded down."""
    return (growth * row >> bits) + delta


def _fallen(row: int, bits: int, growth: int, delta: int) -> int:
    """1 - (1 - p - D) / E', rounded down."""
    one = 1 << bits
    left = one - row - delta
    return one if left <= 0 else one + (-left << bits) // growth


def _centre(rows: list[int], bits: int, growth: int, delta: int) -> int:
    """The last row that the first bound limits."""
    limits = (bits, growth, delta)
    limited = (n for n in range(1, len(rows)) if rows[n] == _risen(rows[n - 1], *limits))
    return max(limited)
