"""Errors of private quantiles beside diffprivlib's, on two real columns and the same public grid.

Two errors are looked at.  In ranks: the distance of q n from what lies below the released point and
what does not lie above it, over n.  In values: the distance of the point from the quantile itself.
A release of diffprivlib is a real number between two values.  It is put on the grid in three ways:
rounded up, which keeps how many values lie below it, down, and to the nearest point.  The second
table is of quartiles, for which diffprivlib divides epsilon by three.

    python benchmarks/quantiles.py [runs]
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from math import ceil, floor
from pathlib import Path
from statistics import fmean

import numpy as np
from diffprivlib.tools import quantile as other

from safeselect import quantiles

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


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    planes = by_plane().values()
    columns = {
        "flights": ([len(plane) for plane in planes], 2000),
        "destinations": ([len({f.destination for f in plane}) for plane in planes], 104),
    }
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
