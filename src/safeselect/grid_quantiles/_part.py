"""Values on a part of the grid, cut into shares, and how many lie below a fine point.

Each grid point is `fine` fine points, and a value at it has a share of 1 / fine at each of them.
For one quantile `fine` is 1: fine points are the points.  For several, a cut between two fine
points divides equal values as well, so that both sides get about what the quantile says.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

Run = tuple[int, int, int, int]
"""The first fine point of a run, the one after its last, and the shares below and up to each."""


@dataclass(frozen=True, slots=True)
class Part:
    """The fine points first .. last, and the shares at fine points first <= p < end.

    Args:
        cells: all values, sorted, each a point of the grid; a part is cut out by its ends alone.
        fine: how many fine points a point is.
        first, last: fine points.
        end: last + 1, or last, where what lies at `last` belongs to the next part.
    """

    cells: list[int]
    fine: int
    first: int
    last: int
    end: int

    @classmethod
    def whole(cls, cells: list[int], points: int, fine: int) -> Part:
        """All values, on all points of the grid."""
        return cls(cells, fine, 0, points * fine - 1, points * fine)

    def split(self, point: int) -> tuple[Part, Part]:
        """What lies below a fine point, and the rest: each share is in one of them."""
        below = Part(self.cells, self.fine, self.first, point, point)
        return below, Part(self.cells, self.fine, point, self.last, self.end)

    @property
    def points(self) -> int:
        """How many fine points there are."""
        return self.last - self.first + 1

    @property
    def size(self) -> int:
        """How many shares there are."""
        return self._shares(self.end) - self._shares(self.first)

    def _shares(self, point: int) -> int:
        """How many shares lie below a fine point, in this part or not."""
        g, j = divmod(point, self.fine)
        place = bisect_left(self.cells, g)
        shares = place * self.fine
        return shares + j * (bisect_right(self.cells, g, place) - place) if j else shares

    def middle(self, wanted: int) -> int:
        """The last fine point with at most so many shares below it."""
        wanted += self._shares(self.first)
        place = wanted // self.fine
        if place == len(self.cells):
            return self.last
        g = self.cells[place]
        start = bisect_left(self.cells, g, 0, place + 1)
        equal = bisect_right(self.cells, g, place) - start
        return min(g * self.fine + (wanted - start * self.fine) // equal, self.last)

    def downwards(self, point: int) -> Iterator[Run]:
        """The runs from a fine point down to the first, the highest first."""
        cells, fine, first = self.cells, self.fine, self.first
        before, size = self._shares(first), self.size
        g = point // fine
        place = bisect_right(cells, g)
        while point >= first:
            start = bisect_left(cells, g, 0, place)
            equal, shares = place - start, start * fine - before
            if equal:
                for p in range(point, max(g * fine, first) - 1, -1):
                    low = shares + (p - g * fine) * equal
                    yield p, p + 1, min(low, size), min(low + equal, size)
                point = g * fine - 1
            g = cells[start - 1] if start else -1
            after, point = point + 1, max((g + 1) * fine, first)
            if point < after:
                yield point, after, min(shares, size), min(shares, size)
            point, place = point - 1, start

    def upwards(self, point: int) -> Iterator[Run]:
        """The runs from a fine point up to the last, the lowest first."""
        cells, fine, after = self.cells, self.fine, self.last + 1
        before, size = self._shares(self.first), self.size
        g = point // fine
        place = bisect_left(cells, g)
        while point < after:
            above = bisect_right(cells, g, place)
            equal, shares = above - place, place * fine - before
            if equal:
                for p in range(point, min((g + 1) * fine, after)):
                    low = shares + (p - g * fine) * equal
                    yield p, p + 1, min(low, size), min(low + equal, size)
                point, shares = (g + 1) * fine, above * fine - before
            g = cells[above] if above < len(cells) else after // fine + 1
            start, point = point, min(g * fine, after)
            if start < point:
                yield start, point, min(shares, size), min(shares, size)
            place = above
