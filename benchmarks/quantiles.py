"""Errors of private quantiles beside diffprivlib's, on two real columns and the same public grid.

Two errors are looked at.  In ranks: the distance of q n from what lies below the released point and
what does not lie above it, over n.  In values: the distance of the point from the quantile itself.
A release of diffprivlib is a real number between two values.  It is looked at as it is, and put on
the grid in three ways: to the nearest point, up, and down.

    python benchmarks/quantiles.py [runs]    means of so many releases with standard errors, also of
                                             quartiles, for which diffprivlib divides epsilon by
                                             three
    python benchmarks/quantiles.py exact     the means themselves, for single quantiles: sums over
                                             all points by the law that the package draws from, and
                                             by the law of `diffprivlib.tools.quantile`; then in how
                                             many rows that of the package is the smaller one
    python benchmarks/quantiles.py exact replace_one
                                             the same with the noise that replaced values need, as
                                             diffprivlib has it: above it is for added or removed
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, exp, floor, fsum
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from safeselect import quantiles
from safeselect.mechanisms.quantiles import Law, Part, _range

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from flights import by_plane

EPSILONS = ("0.02", "0.1", "0.3", "1", "3")
SHARES = ("1/10", "1/4", "1/2", "3/4", "9/10")
ASKED = (("1/2",), ("9/10",), ("1/4", "1/2", "3/4"))
WAYS: dict[str, Callable[[float], float]] = {
    "as released": float,
    "nearest": lambda x: floor(x + 0.5),
    "up": ceil,
    "down": floor,
}

Errors = tuple[float, float]
"""In ranks, as a share of all; in values."""


def errors(ordered: list[int], point: float, share: float) -> Errors:
    """How many ranks off, as a share of all; and how far from the quantile."""
    wanted = share * len(ordered)
    below, up_to = bisect_left(ordered, point), bisect_right(ordered, point)
    ranks = max(below - wanted, wanted - up_to, 0) / len(ordered)
    return ranks, abs(point - ordered[ceil(wanted) - 1])


def row(ordered: list[int], drawn: Sequence[Sequence[float]], shares: Sequence[float]) -> str:
    """The means of both errors over all releases and quantiles, with standard errors."""
    found = [
        [errors(ordered, point, share) for point, share in zip(points, shares, strict=True)]
        for points in drawn
    ]
    told = []
    for which, unit, sign in ((0, 100, " %"), (1, 1, "")):
        means = [unit * fmean(each[which] for each in release) for release in found]
        told.append(f"{fmean(means):.3g} ± {stdev(means) / len(means) ** 0.5:.1g}{sign}")
    return ", ".join(told)


def exact(
    values: list[int], last: int, share: Fraction, epsilon: Fraction, replaced: bool
) -> list[Errors]:
    """The means of both errors by the laws, in the order of the table."""
    ordered = sorted(values)
    each = [errors(ordered, point, float(share)) for point in range(last + 1)]
    up, down = theirs(ordered, last, float(share), float(epsilon))
    nearest = [(a + b) / 2 for a, b in zip(up, down, strict=True)]
    rate = epsilon / _range(share, replaced)
    own = [ours(ordered, last, Law(share, rate, ties)) for ties in ("interval", "below")]
    mean = [
        (fsum(p * e[0] for p, e in pairs), fsum(p * e[1] for p, e in pairs))
        for pairs in (list(zip(law, each, strict=True)) for law in (*own, nearest, up, down))
    ]
    return [*mean[:2], as_released(ordered, last, float(share), float(epsilon)), *mean[2:]]


def ours(ordered: list[int], last: int, law: Law) -> list[float]:
    """The chance of each point, as the package draws it."""
    runs, _ = law.powers(Part.whole(ordered, last + 1, 1), 256)
    total = sum((after - start) * power for start, after, power in runs)
    chances = [0.0] * (last + 1)
    for start, after, power in runs:
        chances[start:after] = [power / total] * (after - start)
    return chances


def intervals(
    ordered: list[int], last: int, share: float, epsilon: float
) -> list[tuple[int, int, float]]:
    """Each interval between neighbouring values, with the weight of a unit of its length.

    diffprivlib draws one with weight its length times exp(-epsilon / 2 |i - q n|), and then a
    number in it.
    """
    ends = [0, *ordered, last]
    heavy = [exp(-epsilon / 2 * abs(i - share * len(ordered))) for i in range(len(ends) - 1)]
    total = fsum(w * (b - a) for w, (a, b) in zip(heavy, pairwise(ends), strict=True))
    return [(a, b, w / total) for w, (a, b) in zip(heavy, pairwise(ends), strict=True)]


def theirs(
    ordered: list[int], last: int, share: float, epsilon: float
) -> tuple[list[float], list[float]]:
    """The chance of each point where diffprivlib's number is rounded up, and where down.

    The nearest point is as often either.
    """
    up, down = [0.0] * (last + 1), [0.0] * (last + 1)
    for a, b, weight in intervals(ordered, last, share, epsilon):
        for point in range(a, b):
            down[point] += weight
            up[point + 1] += weight
    return up, down


def as_released(ordered: list[int], last: int, share: float, epsilon: float) -> Errors:
    """The means of both errors of diffprivlib's numbers as they are."""
    wanted = share * len(ordered)
    quantile = ordered[ceil(wanted) - 1]
    ranks, away = [], []
    for i, (a, b, weight) in enumerate(intervals(ordered, last, share, epsilon)):
        ranks.append(weight * (b - a) * abs(i - wanted) / len(ordered))
        # The quantile is a value, so it lies in no interval.
        away.append(weight * (b - a) * abs((a + b) / 2 - quantile))
    return fsum(ranks), fsum(away)


def main() -> None:
    planes = by_plane().values()
    columns = {
        "flights": ([len(plane) for plane in planes], 2000),
        "destinations": ([len({f.destination for f in plane}) for plane in planes], 104),
    }
    if sys.argv[1:2] == ["exact"]:
        tell_exactly(columns, sys.argv[2:] == ["replace_one"])
    else:
        measure(columns, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)


def tell_exactly(columns: dict[str, tuple[list[int], int]], replaced: bool) -> None:
    """Print the table of expected errors, and in how many rows ours are the smaller ones."""
    others = ['ties="below"', *WAYS]
    print(f"| column | quantile | ε | safeselect | {' | '.join(others)} |")
    print("|---|---|---|---|---|---|---|---|---|")
    smaller = {(other, which): 0 for which in (0, 1) for other in others}
    rows = list(product(columns.items(), SHARES, EPSILONS))
    for (name, (values, highest)), share, epsilon in rows:
        found = exact(values, highest, Fraction(share), Fraction(epsilon), replaced)
        cells = " | ".join(f"{ranks:.3%}, {away:.3g}" for ranks, away in found)
        print(f"| {name} | {share} | {epsilon} | {cells} |")
        for other, which in smaller:
            smaller[other, which] += found[0][which] <= found[1 + others.index(other)][which]
    for (other, which), count in smaller.items():
        print(f"{other}, {('ranks', 'values')[which]}: not below ours in {count} of {len(rows)}")


def measure(columns: dict[str, tuple[list[int], int]], runs: int) -> None:
    """Print the table of measured errors."""
    from diffprivlib import BudgetAccountant
    from diffprivlib.tools import quantile as other

    warnings.simplefilter("ignore")
    print(f"| column | quantile | ε | safeselect | {' | '.join(WAYS)} |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, (values, highest)), texts, epsilon in product(columns.items(), ASKED, EPSILONS[1:]):
        ordered, array = sorted(values), np.array(values, dtype=float)
        shares = [float(Fraction(text)) for text in texts]
        given = {"quantiles": texts, "lowest": 0, "highest": highest, "step": 1, "epsilon": epsilon}
        cells = [row(ordered, [quantiles(values, **given).values for _ in range(runs)], shares)]
        drawn = [
            np.atleast_1d(
                other(
                    array,
                    shares,
                    epsilon=float(epsilon),
                    bounds=(0, highest),
                    # Its default one keeps a list that each call adds up.
                    accountant=BudgetAccountant(),
                )
            ).tolist()
            for _ in range(runs)
        ]
        cells += [
            row(ordered, [[way(x) for x in points] for points in drawn], shares)
            for way in WAYS.values()
        ]
        print(f"| {name} | {', '.join(texts)} | {epsilon} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
