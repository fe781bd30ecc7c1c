"""One point of the grid, drawn by inversion of one uniform number over all points.

Law: P(g) is proportional to exp(-rate |t #{x < g} - s n|): the exponential mechanism over the M
points of the grid, for the quantile s / t of n values.

Classes: the points with exactly i values below them have one score, and lie side by side.  Class i
has y_(i+1) - y_i points, y being the values in order; with duplicates some classes have none.  So
n + 1 products of a size and a power give the sums of all M probabilities.  Privacy comes from the
law over points; the sizes are data.

Exactness: powers are integers in units of 2**-precision, rounded down, and each error is bounded.
A point stands only if it holds for every value within the bounds and for all digits not yet drawn.
Otherwise both get more digits.

Reveals: the requests to the source follow from the number of points, but with probability below
2**-100.  Time follows from the number of values and from their order; nothing is claimed about it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from safeselect.exact.interval import Interval
from safeselect.randomness.bits import Bits, exhausted, rounds

__all__ = ["Classes", "draw_point"]

_MORE = 64


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a grid first .. last for values in order.

    Args:
        starts: the first point of each class, and the point after the last: n + 2 of them.
        distances: |t i - s n| for each class i.
    """

    starts: list[int]
    distances: list[int]

    @classmethod
    def of(cls, cells: list[int], first: int, last: int, quantile: Fraction) -> Classes:
        """The classes of sorted values that lie on the grid."""
        s, t = quantile.numerator, quantile.denominator
        starts = [first, *(cell + 1 for cell in cells), last + 1]
        return cls(starts, [abs(t * i - s * len(cells)) for i in range(len(cells) + 1)])

    def powers(self, rate: Fraction, quantile: Fraction, precision: int) -> tuple[list[int], int]:
        """exp(-rate (distance - least)) of each class in units of 2**-precision, and an error.

        Each is too small by less than the error, or belongs to an empty class.
        """
        sizes = [after - start for start, after in pairwise(self.starts)]
        least = min(d for d, size in zip(self.distances, sizes, strict=True) if size)
        s, t = quantile.numerator, quantile.denominator
        factor, above = _power(rate * t, precision)
        found = [0] * len(self.distances)
        middle = s * (len(self.distances) - 1) // t
        widest = above - factor
        for side in (range(middle, -1, -1), range(middle + 1, len(self.distances))):
            power: int | None = None
            for i in side:
                # t i <= s n up to the middle: distances grow by t from class to class on each side.
                if self.distances[i] < least:
                    continue
                if power is None:
                    power, above = _power(rate * (self.distances[i] - least), precision)
                    widest = max(widest, above - power)
                else:
                    power = power * factor >> precision
                found[i] = power
        return found, (widest + 2) * (len(self.distances) + 1)


def _power(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Integers around exp(-exponent) * 2**precision."""
    extra = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length())
    return (-Interval.of(exponent, precision + min(extra, 4096) + 32)).exp().scaled(precision)


def draw_point(
    cells: list[int], first: int, last: int, quantile: Fraction, rate: Fraction, bits: Bits
) -> int:
    """Draw a point of first .. last.

    Args:
        cells: the values, sorted, each a point of the grid.
        quantile: s / t, from 0 to 1.
        rate: of the integer score, in nats; above 0.
    """
    classes = Classes.of(cells, first, last, quantile)
    size = -(-(128 + (last - first + 1).bit_length()) // _MORE) * _MORE
    u = bits.take(size)
    for _ in rounds(_MORE):
        found = _point(classes, quantile, rate, u, size)
        if found is not None:
            return found
        u, size = u << _MORE | bits.take(_MORE), size + _MORE
    raise exhausted()


def _point(classes: Classes, quantile: Fraction, rate: Fraction, u: int, size: int) -> int | None:
    """The point for U in [u, u + 1] / 2**size, or None where that leaves it open."""
    starts = classes.starts
    points = starts[-1] - starts[0]
    precision = size + points.bit_length() + len(starts).bit_length() + 16
    powers, error = classes.powers(rate, quantile, precision)
    weights = (power * (b - a) for power, (a, b) in zip(powers, pairwise(starts), strict=True))
    sums = [0, *accumulate(weights)]
    total, slack = sums[-1], points * error
    # The true sum up to any point is at least the one here, and exceeds it by less than the slack.
    low, high = u * total >> size, ((u + 1) * (total + slack) >> size) + 1
    place = bisect_right(sums, low) - 1
    # low < total, so this class has a size and a power; empty ones before it have the same sum.
    steps = (low - sums[place]) // powers[place]
    point, begins = starts[place] + steps, sums[place] + steps * powers[place]
    sure = point == starts[0] or begins + slack <= low
    ends = point == starts[-1] - 1 or high < begins + powers[place]
    return point if sure and ends else None
