"""Errors of private quantiles beside diffprivlib's, on two real columns and the same public grid.

Two errors are looked at.  In ranks: the distance of q n from what lies below the released point and
what does not lie above it, over n.  In values: the distance of the point from the quantile itself.
A release of diffprivlib is a real number between two values.  It is put on the grid in three ways:
rounded up, which keeps how many values lie below it, down, and to the nearest point.

    python benchmarks/quantiles.py [runs]    means of so many releases, also of quartiles, for which
                                             diffprivlib divides epsilon by three
    python benchmarks/quantiles.py exact     the means themselves, for single quantiles: sums over
                                             all points by the law that the package draws from, and
                                             by the law of `diffprivlib.tools.quantile`
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, floor
from pathlib import Path
from statistics import fmean

import numpy as np

from safeselect import quantiles
from safeselect.grid_quantiles._part import Part
from safeselect.grid_quantiles._point import Law
from safeselect.grid_quantiles.release import _range

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from flights import by_plane

EPSILONS = ("0.02", "0.1", "1")
ASKED = (("1/2",), ("9/10",), ("1/4", "1/2", "3/4"))
ROUNDED: tuple[Callable[[float], int], ...] = (ceil, floor, lambda x: floor(x + 0.5))


def errors(ordered: list[int], point: int, share: float) -> tuple[float, float]:
    """How many ranks off, as a share of all; and how far from the quantile."""
    wanted = share * len(ordered)
    below, up_to = bisect_left(ordered, point), bisect_right(ordered, point)
    ranks = max(below - wanted, wanted - up_to, 0) / len(ordered)
    return ranks, abs(point - ordered[ceil(wanted) - 1])


def row(ordered: list[int], drawn: Sequence[Sequence[int]], shares: Sequence[float]) -> str:
    """The means of both errors over all releases and quantiles."""
    found = [
        errors(ordered, point, share)
        for points in drawn
        for point, share in zip(points, shares, strict=True)
    ]
    return f"{fmean(each[0] for each in found):.3%}, {fmean(each[1] for each in found):.3g}"


def exact(values: list[int], last: int, share: Fraction, epsilon: Fraction) -> list[str]:
    """The means of both errors by the laws, in the order of the table."""
    ordered = sorted(values)
    each = [errors(ordered, point, float(share)) for point in range(last + 1)]
    laws = [ours(ordered, last, share, epsilon, ties) for ties in ("interval", "below")]
    up, down = theirs(ordered, last, float(share), float(epsilon))
    laws += [up, down, [(a + b) / 2 for a, b in zip(up, down, strict=True)]]
    return [
        f"{sum(p * e[0] for p, e in zip(law, each, strict=True)):.4%}, "
        f"{sum(p * e[1] for p, e in zip(law, each, strict=True)):.4g}"
        for law in laws
    ]


def ours(
    ordered: list[int], last: int, share: Fraction, epsilon: Fraction, ties: str
) -> list[float]:
    """The chance of each point, as the package draws it."""
    law = Law(share, epsilon / _range(share, False), ties)
    runs, _ = law.powers(Part.whole(ordered, last + 1, 1), 256)
    total = sum((after - start) * power for start, after, power in runs)
    chances = [0.0] * (last + 1)
    for start, after, power in runs:
        chances[start:after] = [power / total] * (after - start)
    return chances


def theirs(
    ordered: list[int], last: int, share: float, epsilon: float
) -> tuple[list[float], list[float]]:
    """The chance of each point where diffprivlib's number is rounded up, and where down.

    It draws an interval between neighbouring values, with weight its length times
    exp(-epsilon / 2 |i - q n|), and then a number in it; the nearest point is as often either.
    """
    ends = [0, *ordered, last]
    heavy = [exp(-epsilon / 2 * abs(i - share * len(ordered))) for i in range(len(ends) - 1)]
    total = sum(w * (b - a) for w, (a, b) in zip(heavy, pairwise(ends), strict=True))
    up, down = [0.0] * (last + 1), [0.0] * (last + 1)
    for weight, (a, b) in zip(heavy, pairwise(ends), strict=True):
        for point in range(a, b):
            down[point] += weight / total
            up[point + 1] += weight / total
    return up, down


def main() -> None:
    planes = by_plane().values()
    columns = {
        "flights": ([len(plane) for plane in planes], 2000),
        "destinations": ([len({f.destination for f in plane}) for plane in planes], 104),
    }
    if sys.argv[1:] == ["exact"]:
        for name, (values, highest) in columns.items():
            for text in ("1/2", "9/10"):
                for epsilon in EPSILONS:
                    cells = exact(values, highest, Fraction(text), Fraction(epsilon))
                    print(f"| {name} | {text} | {epsilon} | {' | '.join(cells)} |")
        return
    measure(columns, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)


def measure(columns: dict[str, tuple[list[int], int]], runs: int) -> None:
    """Print the table of measured errors."""
    from diffprivlib.tools import quantile as other

    warnings.simplefilter("ignore")
    print(
        '| column | quantile | ε | safeselect | ties="below" | diffprivlib, up | down | nearest |'
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, (values, highest) in columns.items():
        ordered, array = sorted(values), np.array(values, dtype=float)
        for texts in ASKED:
            shares = [int(a) / int(b) for a, b in (text.split("/") for text in texts)]
            for epsilon in EPSILONS:
                given = {"quantiles": texts, "lowest": 0, "highest": highest, "epsilon": epsilon}
                cells = [
                    row(
                        ordered,
                        [quantiles(values, **given, ties=ties).values for _ in range(runs)],
                        shares,
                    )
                    for ties in ("interval", "below")
                ]
                drawn = [
                    np.atleast_1d(
                        other(array, shares, epsilon=float(epsilon), bounds=(0, highest))
                    ).tolist()
                    for _ in range(runs)
                ]
                cells += [
                    row(ordered, [[each(x) for x in points] for points in drawn], shares)
                    for each in ROUNDED
                ]
                print(
                    f"| {name} | {', '.join(texts)} | {epsilon} | {' | '.join(cells)} |", flush=True
                )


if __name__ == "__main__":
    main()
