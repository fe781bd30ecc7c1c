"""Measurements shrunk towards heights, in three parts that are orthogonal; see `gaps`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

# Constants of the method, found by search over targets: `docs/gap-estimates.md`.
_SAFE_NATS = 5  # a winner below T has a height of 5 nats with probability exp(-5)
_STEIN = Fraction(3, 2)  # times the degrees of freedom; 2 is the theorem's bound for normal noise
_MOST_LENT = 3  # how many degrees of freedom the lead of safe winners may lend the others
_FARTHEST = Fraction(5, 2)  # no estimate moves further by one part, in scales
_FEW = 3  # so few winners leave no degrees of freedom to a second group
_LEAST = Fraction(1, 24)  # how far few winners move, in scales, where a height may be luck
_DOUBTED = 3  # nats: at such a height they move 8 times as far


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Measurements and heights, highest first, with all public numbers.

    Attributes:
        rate: of the selection's noise, so that heights in nats say which winners are surely above
            T.
        whole: whether heights are whole; else they begin at the last winner, and are larger.
    """

    measured: tuple[Fraction, ...]
    heights: tuple[Fraction, ...]
    ratio: Fraction
    measured_rate: Fraction
    rate: Fraction
    whole: bool

    @property
    def variance(self) -> Fraction:
        """A lower bound of the variance of a measurement on the grid of integers."""
        return max(Fraction(0), 2 / self.measured_rate**2 - Fraction(1, 6))

    @property
    def safe(self) -> int:
        """How many winners are surely above T: none, or two or more."""
        return self._clear if self.whole and self._clear > 1 else 0

    @property
    def _apart(self) -> list[Fraction]:
        return [own - height for own, height in zip(self.measured, self.heights, strict=True)]

    @property
    def _clear(self) -> int:
        return sum(self.rate * height >= _SAFE_NATS for height in self.heights)

    @property
    def _below_one(self) -> Shrunk | None:
        """The winners after the first, if it alone is clear: nothing says how far to move it.

        A height that is right says how far two winners are apart.  Those of the others may be luck.
        """
        if self._clear != 1 or len(self.measured) == 1:
            return None
        return replace(self, measured=self.measured[1:], heights=self.heights[1:])

    def estimates(self) -> tuple[Fraction, ...]:
        """Each measurement, moved towards its height as far as the measurements agree."""
        moves, _ = self._moved()
        return tuple(own - move for own, move in zip(self.measured, moves, strict=True))

    def error(self) -> Fraction:
        """Stein's estimate of the mean squared error."""
        _, gain = self._moved()
        return self.variance - gain / len(self.measured)

    def _moved(self) -> tuple[list[Fraction], Fraction]:
        """By how much each winner moves, and Stein's estimate of what that gains, in all."""
        if others := self._below_one:
            moves, gain = others._moved()
            return [Fraction(0), *moves], gain
        k = len(self.measured)
        moves, gain = self._few() if k <= _FEW else self._many()
        return moves, min(gain, (k - 1) * self.variance / (1 + self.ratio))

    def shrinkage(self) -> tuple[Fraction, ...]:
        """For each winner the root of error over variance, averaged over those estimated together.

        Rounded up to a multiple of 2**-32; 1 at most.
        """
        if others := self._below_one:
            return Fraction(1), *others.shrinkage()
        share = min(Fraction(1), self.error() / self.variance) if self.variance else Fraction(1)
        root = isqrt((share.numerator << 64) // share.denominator) + 1
        return (min(Fraction(1), Fraction(root, 1 << 32)),) * len(self.measured)

    def _few(self) -> tuple[list[Fraction], Fraction]:
        """By how much each of few winners moves, and Stein's estimate of what that gains.

        The linear move has a part for each winner but the first: its difference from the mean of
        those before it.  These parts are orthogonal, and each goes no further than a limit that
        grows with the winner's height.  The part of winner p + 1 also moves the p winners before it
        by part / p.  If it never falls as its own noise x rises, and stays within c, it adds
        E[(1 + 1/p) part**2 - 2 x part] to the sum of squared errors, at most (1 + 1/p) c**2 for any
        symmetric noise.  A winner below T has a height of h nats or more with probability exp(-h),
        and those after it have less.  So for scales of many steps, the mean squared error of the
        winners grows by less than 0.02 variances.
        """
        apart, gain = self._apart, Fraction(0)
        moves = [Fraction(0)] * len(apart)
        weight = 1 / (1 + self.ratio)
        for n in range(1, len(apart)):
            nats = self.rate * self.heights[n] if self.whole else Fraction(0)
            limit = min(_FARTHEST, _LEAST * (1 + nats / _DOUBTED) ** 3) / self.measured_rate
            linear = weight * Fraction(n, n + 1) * (apart[n] - mean_of(apart[:n]))
            part = max(-limit, min(limit, linear))
            moves = [move - part / n for move in moves[:n]] + [part] + moves[n + 1 :]
            gain += (2 * weight * self.variance if part == linear else 0) - part**2 * (
                1 + Fraction(1, n)
            )
        return moves, gain

    def _many(self) -> tuple[list[Fraction], Fraction]:
        """The same for more winners: within the first group, within the rest, between the two."""
        apart, j = self._apart, self.safe
        k = len(apart)
        n = k - j
        first, rest, mean = mean_of(apart[:j]), mean_of(apart[j:]), mean_of(apart)
        inner, outer = _squares(apart[:j], first), _squares(apart[j:], rest)
        across = Fraction(j * n, k) * (first - rest) ** 2
        # The first group is above T, where the linear weight is right; the cap is for luck.
        within = self._weight(Fraction(2 * j + 2), inner) if j else Fraction(0)
        joint = Fraction(0)
        if 0 < j < k:
            # What the first group gains for sure pays for what the others may lose.
            joint = self._weight(_STEIN * max(0, n - 2) + min(j - 1, _MOST_LENT), outer + across)
        alone = max(joint, self._weight(_STEIN * max(0, n - 3), outer))
        limit = _FARTHEST / self.measured_rate
        moves = []
        for place, each in enumerate(apart):
            centre, weight = (first, within) if place < j else (rest, alone)
            move = weight * (each - centre) + joint * (centre - mean)
            moves.append(max(-limit, min(limit, move)))
        gain = self._gain(inner, max(0, j - 1), within)
        if joint and joint == alone:
            return moves, gain + self._gain(across + outer, n, joint)
        gain += self._gain(outer, max(0, n - 1), alone)
        return moves, gain + self._gain(across, 1, joint)

    def _gain(self, squares: Fraction, freedom: int, weight: Fraction) -> Fraction:
        """What a weight gains on a sum of squares of so many degrees of freedom."""
        capped = weight == 1 / (1 + self.ratio)
        free = freedom if capped else max(0, freedom - 2)
        return weight * (2 * free * self.variance - weight * squares)

    def _weight(self, c: Fraction, squares: Fraction) -> Fraction:
        most = 1 / (1 + self.ratio)
        return min(most, c * self.variance / squares) if squares else most if c else Fraction(0)


def mean_of(values: Sequence[Fraction]) -> Fraction:
    """Their mean; of none 0."""
    return sum(values, Fraction(0)) / len(values) if values else Fraction(0)


def _squares(values: Sequence[Fraction], mean: Fraction) -> Fraction:
    return sum(((value - mean) ** 2 for value in values), Fraction(0))
