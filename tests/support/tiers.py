"""What a tier says of itself: how likely noise is to fall into a cell, and what is made of it.

Noise is cut into cells on the grid.  A tier (`array_tier`, `scalar_tier`) has

- `masses`: P(noise in the cell), by the code that draws, as integers in units of 2**-64, rounded
  down;
- `outcome`: the ranking for noise in given cells, by the code that combines; None where the cells
  do not tell.

Exponential noise is decided altogether: besides its cells a *ranking* is given, of the parts by
which it exceeds them.  They are independent of the cells and alike, so each ranking is equally
likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from safeselect.engine import Ranking
from safeselect.exact.interval import NoiseRate

ONE = 1 << 64
Cells = tuple[int, ...]
Round = tuple[Cells, Cells]
"""Exponential noise of one round: cells and ranks, of those who remain."""

RANKS = 8  # parts below the grid that are told apart, at most


@dataclass(frozen=True)
class Noise:
    """A noise law and its cells, each of unit / 2**level grid steps; one of the two is 1.

    What lies beyond 40 nats has probability below 2**-57 (Gumbel noise below -4: 2**-78).
    """

    name: str
    noise_rate: NoiseRate
    level: int = 0
    unit: int = 1

    @property
    def nats(self) -> Fraction:
        """The nats of a cell, nearly."""
        return self.noise_rate.nats(64).fractions()[0] * self.unit / (1 << self.level)

    @property
    def cells(self) -> range:
        """All cells that are looked at."""
        top, low = int(40 / self.nats) + 2, int(4 / self.nats) + 2
        return range({"exponential": 0, "laplace": -top, "gumbel": -low}[self.name], top)

    def line(self, place: Fraction | int) -> Fraction:
        """A place counted in cells, in grid steps."""
        return Fraction(place) * self.unit / (1 << self.level)


class Tier(Protocol):
    def masses(self, noise: Noise) -> Mapping[int, int]: ...
    def outcome(
        self, noise: Noise, scores: Sequence[int], cells: Cells, ranks: Cells, k: int, gaps: bool
    ) -> Ranking | None: ...
    def peeled(self, noise: Noise, scores: Sequence[int], rounds: Sequence[Round]) -> Ranking: ...


def agreed(results: Iterable[Ranking | None]) -> Ranking | None:
    """What all results say; None if they differ."""
    found = set(results)
    return found.pop() if len(found) == 1 else None


def first_word(holds: Callable[[int], bool]) -> int:
    """The least word for which this does not hold, if it holds for all words below; ONE if none."""
    low, high = -1, ONE
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return high
