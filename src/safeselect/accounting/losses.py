"""The privacy losses of a pair of laws, one by one, and its profile rounded up."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from safeselect.exact.interval import Interval


@dataclass(frozen=True, slots=True)
class Atoms:
    """The privacy losses of a pair (P, Q), from the largest; that of (Q, P) is the same law.

    Attributes:
        losses: lower and upper ends of each.
        masses: under P, times 2**bits, rounded down and up.  Under Q loss l has the mass that P
            gives to -l.
        beyond: the mass of all losses that are not listed, rounded up.
        bits: of the scale.
    """

    losses: tuple[tuple[Fraction, Fraction], ...]
    masses: tuple[tuple[int, int], ...]
    beyond: int
    bits: int

    @classmethod
    def of(
        cls,
        losses: list[tuple[Fraction, Fraction]],
        chances: list[Interval],
        beyond: int,
        bits: int,
    ) -> Atoms:
        """From the chance of each loss."""
        return cls(tuple(losses), tuple(chance.scaled(bits) for chance in chances), beyond, bits)

    def above(self, points: list[Fraction]) -> list[int]:
        """The hockey-stick divergence at e**s for each point s, times 2**bits, rounded up."""
        ours = [0, *accumulate(high for _, high in self.masses)]
        theirs = [0, *accumulate(low for low, _ in reversed(self.masses))]
        floors = [-low for low, _ in self.losses]
        found = []
        for s in points:
            # Far out less than e**s will do: the masses that it multiplies are rounded to nothing.
            grown = (
                Interval.of(min(s, Fraction(4 * self.bits)), self.bits).exp().scaled(self.bits)[0]
            )
            # Losses surely above s.  Of each that may be, what it adds where it is.
            count = bisect_left(floors, -s)
            total = ours[count] - (theirs[count] * grown >> self.bits) + self.beyond
            while count < len(self.losses) and self.losses[count][1] > s:
                kept, flipped = self.masses[count][1], self.masses[-1 - count][0]
                total += max(0, kept - (flipped * grown >> self.bits))
                count += 1
            found.append(min(max(0, total), 1 << self.bits))
        return found

    def places(self, step: Fraction) -> tuple[int, list[int]]:
        """The least place, and masses at multiples of a step from there on, both rounded down."""
        at = [low // step for low, _ in self.losses]
        weights = [0] * (at[0] - at[-1] + 1)
        for place, (low, _) in zip(at, self.masses, strict=True):
            weights[place - at[-1]] += low
        return at[-1], weights
