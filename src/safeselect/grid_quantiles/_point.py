"""One fine point of a part, drawn by inversion of one uniform number over all its points.

Law: P(p) is proportional to exp(-rate distance(p)): the exponential mechanism over the points.

Runs: points between two values have one distance, and lie side by side.  So a product of a size and
a power for each run gives the sums of all probabilities.  Privacy comes from the law over points;
the runs are data.

Exactness: powers are integers in units of 2**-precision, rounded down, and each error is bounded.
Runs are made from the middle outwards until a power is 0: what lies beyond is smaller than the
error.  A point stands only if it holds for every value within the bounds and for all digits not yet
drawn.  Otherwise both get more digits.

Reveals: the requests to the source follow from the number of points, but with probability below
2**-100.  Time follows from the values; nothing is claimed about it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, islice

from safeselect.exact.interval import Interval
from safeselect.grid_quantiles._part import Part, Run
from safeselect.randomness.bits import Bits, exhausted, rounds

_MORE = 64

Powered = tuple[int, int, int]
"""The first point of a run, the one after its last, and the power of each."""


@dataclass(frozen=True, slots=True)
class Law:
    """What one draw is to find, in public terms.

    Args:
        quantile: s / t, from 0 to 1.
        rate: of the distance, in nats; above 0.
        ties: "interval": the distance of a point is how far s n lies outside of the interval
            t #{x < p} .. t #{x <= p}, n and both numbers in shares; inside it is minus the way to
            the nearer end.  "below": how far s n is from the lower end.
    """

    quantile: Fraction
    rate: Fraction
    ties: str

    def powers(self, part: Part, precision: int) -> tuple[list[Powered], int]:
        """Runs with their powers, in order, and a bound on all errors.

        A power is exp(-rate (distance - least)) in units of 2**-precision.  It is too small by less
        than the error; that of a point in no run is less than the error.
        """
        wanted = self.quantile.numerator * part.size
        middle = part.middle(wanted // self.quantile.denominator)
        sides = [part.downwards(middle), part.upwards(middle + 1)]
        firsts = [list(islice(side, 1)) for side in sides]
        least = min(self._distance(run, wanted) for first in firsts for run in first)
        found, most = [], 0
        factors = _Factors(self.rate, precision)
        for first, side in zip(firsts, sides, strict=True):
            runs: list[Powered] = []
            power, before = 1 << precision, least
            for run in chain(first, side):
                # Away from the middle distances do not fall, so no factor is above 1.
                distance = self._distance(run, wanted)
                power = power * factors.least(distance - before) >> precision
                if not power:
                    break
                runs.append((run[0], run[1], power))
                before = distance
            found.append(runs)
            most = max(most, len(runs))
        # A step adds the error of its factor and less than one unit; one more step gave the 0.
        return found[0][::-1] + found[1], (factors.widest + 2) * (most + 2)

    def _distance(self, run: Run, wanted: int) -> int:
        _, _, low, high = run
        above = self.quantile.denominator * low - wanted
        if self.ties == "below":
            return abs(above)
        return max(above, wanted - self.quantile.denominator * high)


class _Factors:
    """exp(-rate more) for whole numbers, each worked out once."""

    __slots__ = ("_known", "_precision", "_rate", "widest")

    def __init__(self, rate: Fraction, precision: int) -> None:
        self._rate, self._precision = rate, precision
        self._known = {0: 1 << precision}
        self.widest = 0

    def least(self, more: int) -> int:
        """A bound from below in units of 2**-precision; none is farther off than `widest`."""
        found = self._known.get(more)
        if found is None:
            exponent = self._rate * more
            extra = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length())
            digits = self._precision + min(extra, 4096) + 32
            found, above = (-Interval.of(exponent, digits)).exp().scaled(self._precision)
            self._known[more] = found
            self.widest = max(self.widest, above - found)
        return found


def draw_point(part: Part, law: Law, bits: Bits) -> int:
    """Draw a fine point of a part."""
    size = -(-(128 + part.points.bit_length()) // _MORE) * _MORE
    u = bits.take(size)
    for _ in rounds(_MORE):
        found = _point(part, law, u, size)
        if found is not None:
            return found
        u, size = u << _MORE | bits.take(_MORE), size + _MORE
    raise exhausted()


def _point(part: Part, law: Law, u: int, size: int) -> int | None:
    """The point for U in [u, u + 1] / 2**size, or None where that leaves it open."""
    most = part.fine * (len(part.cells) + 1)
    precision = size + part.points.bit_length() + most.bit_length() + 16
    runs, error = law.powers(part, precision)
    sums = [0, *accumulate(power * (after - start) for start, after, power in runs)]
    # The true sum up to any point of a run is at least the one here, and exceeds it by less than
    # the slack.
    total, slack = sums[-1], part.points * error
    low, high = u * total >> size, ((u + 1) * (total + slack) >> size) + 1
    # low < total, so this run is there, and has a power.
    place = bisect_right(sums, low) - 1
    start, _, power = runs[place]
    steps = (low - sums[place]) // power
    point, begins = start + steps, sums[place] + steps * power
    sure = point == part.first or begins + slack <= low
    ends = point == part.last or high < begins + power
    return point if sure and ends else None
