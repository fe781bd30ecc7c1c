"""Private quantiles: how often does a plane leave New York in a year?

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: two releases of BoundedRange(1/2), together LaplaceDominated(1), hence 1-differential
privacy, for each plane.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction

from flights import by_plane

from safeselect import compose, exponential_mechanism
from safeselect.results import Selection

GRID = range(0, 1001, 5)  # the candidates: public, chosen without the data
HALF = Fraction(1, 2)


def scores(values: list[int], above: int, below: int) -> list[int]:
    """Return, for each candidate, minus its distance from the quantile below / (below + above).

    At this quantile, above * (number of smaller values) = below * (number of larger values). The
    score is minus the absolute difference of the two sides.

    Sensitivity: one more value is smaller than, larger than or equal to a candidate. It changes the
    difference by `above`, by -`below`, or not at all, so the sensitivity is max(above, below). Some
    scores increase and others decrease, so they are not monotonic.
    """
    ordered = sorted(values)
    return [
        -abs(above * bisect_left(ordered, c) - below * (len(ordered) - bisect_right(ordered, c)))
        for c in GRID
    ]


def quantile(values: list[int], above: int, below: int, epsilon: Fraction) -> Selection:
    """Choose a candidate near the quantile below / (below + above)."""
    return exponential_mechanism(
        scores(values, above, below), labels=GRID, epsilon=epsilon, sensitivity=max(above, below)
    )


def main() -> None:
    values = [len(plane) for plane in by_plane().values()]
    median = quantile(values, 1, 1, HALF)
    tenth = quantile(values, 1, 9, HALF)
    print(f"half of the planes flew more often than: {median.label}")
    print(f"a tenth of the planes flew more often than: {tenth.label}")
    print(f"guarantee: {compose([median.guarantee, tenth.guarantee]).guarantee}")


if __name__ == "__main__":
    main()
