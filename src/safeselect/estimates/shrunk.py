"""Measurements shrunk towards heights, in three parts that are orthogonal; see `gaps`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

# Constants of the method, found by search over targets: `docs/gaps.md`, "How it is made".
_SAFE_NATS = 5  # a winner below T has a height of 5 nats with probability exp(-5)
_STEIN = Fraction(3, 2)  # times the degrees of freedom; 2 is the theorem's bound for normal noise
_MOST_LENT = 3  # how many degrees of freedom the lead of safe winners may lend the others
_FARTHEST = Fraction(5, 2)  # no estimate moves further by one part, in scales
_FEW = 3  # so few winners leave no degrees of freedom to a second group
_LEAST = Fraction(1, 24)  # how far few winners move, in scales, where a height may be luck
_DOUBTED = 3  # nats: at such a height they move 8 times as far


@dataclass(frozen=True, slots=True)
class _Part:
    """A sum of squares, its degrees of freedom, and the weight with which gaps are believed."""

    squares: Fraction
    freedom: int
    weight: Fraction


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
        if others := self._below_one:
            return self.measured[0], *others.estimates()
        if len(self.measured) <= _FEW:
            moves, _ = self._few()
            return tuple(own - move for own, move in zip(self.measured, moves, strict=True))
        apart, j = self._apart, self.safe
        first, rest, between, mean = self._means(apart)
        inner, outer, joint = self._parts(apart)
        limit = _FARTHEST / self.measured_rate
        moved = []
        for place, (own, each) in enumerate(zip(self.measured, apart, strict=True)):
            centre, weight = (first, inner.weight) if place < j else (rest, outer.weight)
            move = weight * (each - centre)
            if between:
                move += joint.weight * (centre - mean)
            moved.append(own - max(-limit, min(limit, move)))
        return tuple(moved)

    def error(self) -> Fraction:
        """Stein's estimate of the mean squared error."""
        k, own = len(self.measured), self.variance
        if others := self._below_one:
            return (own + (k - 1) * others.error()) / k
        if k <= _FEW:
            _, gain = self._few()
            return own - min(gain, (k - 1) * own / (1 + self.ratio)) / k
        inner, outer, joint = self._parts(self._apart)
        together = [_Part(joint.squares + outer.squares, outer.freedom + 1, joint.weight)]
        parts = together if joint.weight and joint.weight == outer.weight else [outer, joint]
        gain = sum((self._gain(part) for part in (inner, *parts)), Fraction(0))
        return own - min(gain, (k - 1) * own / (1 + self.ratio)) / k

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
        grows with the winner's height.  A part that never falls as its own noise x rises, and stays
        within c, adds E[part**2 - 2 x part] to the squared error, at most c**2 for any symmetric
        noise.  A winner below T has a height of h nats or more with probability exp(-h), and those
        after it have less.  So for scales of many steps, harm is below 0.02 variances.
        """
        apart, gain = self._apart, Fraction(0)
        moves = [Fraction(0)] * len(apart)
        weight = 1 / (1 + self.ratio)
        for n in range(1, len(apart)):
            nats = self.rate * self.heights[n] if self.whole else Fraction(0)
            limit = min(_FARTHEST, _LEAST * (1 + nats / _DOUBTED) ** 3) / self.measured_rate
            linear = weight * Fraction(n, n + 1) * (apart[n] - _mean(apart[:n]))
            part = max(-limit, min(limit, linear))
            moves = [move - part / n for move in moves[:n]] + [part] + moves[n + 1 :]
            gain += (2 * weight * self.variance if part == linear else 0) - part**2 * (
                1 + Fraction(1, n)
            )
        return moves, gain

    def _gain(self, part: _Part) -> Fraction:
        capped = part.weight == 1 / (1 + self.ratio)
        freedom = part.freedom if capped else max(0, part.freedom - 2)
        return part.weight * (2 * freedom * self.variance - part.weight * part.squares)

    def _means(
        self, apart: Sequence[Fraction]
    ) -> tuple[Fraction, Fraction, Fraction | None, Fraction]:
        """The means of the first group, of the rest, of all; and how far the two are apart."""
        j = self.safe
        first, rest = _mean(apart[:j]), _mean(apart[j:])
        between = first - rest if 0 < j < len(apart) else None
        return first, rest, between, _mean(apart)

    def _parts(self, apart: Sequence[Fraction]) -> tuple[_Part, _Part, _Part]:
        """Within the first group, within the rest, and between the two."""
        j, k = self.safe, len(apart)
        n = k - j
        first, rest, between, _ = self._means(apart)
        inner, outer = _squares(apart[:j], first), _squares(apart[j:], rest)
        across = Fraction(0) if between is None else Fraction(j * n, k) * between**2
        # The first group is above T, where the linear weight is right; the cap is for luck.
        within = self._weight(Fraction(2 * j + 2), inner) if j else Fraction(0)
        alone = self._weight(_STEIN * max(0, n - 3), outer)
        joint = Fraction(0)
        if between is not None:
            # What the first group gains for sure pays for what the others may lose.
            joint = self._weight(_STEIN * max(0, n - 2) + min(j - 1, _MOST_LENT), outer + across)
        return (
            _Part(inner, max(0, j - 1), within),
            _Part(outer, max(0, n - 1), max(alone, joint)),
            _Part(across, int(between is not None), joint),
        )

    def _weight(self, c: Fraction, squares: Fraction) -> Fraction:
        most = 1 / (1 + self.ratio)
        return min(most, c * self.variance / squares) if squares else most if c else Fraction(0)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values) if values else Fraction(0)


def _squares(values: Sequence[Fraction], mean: Fraction) -> Fraction:
    return sum(((value - mean) ** 2 for value in values), Fraction(0))
