"""Errors of private quantiles beside diffprivlib's, on two real columns and the same public grid.

The error is how far the released point is from the quantile in ranks: the distance of q n from
what lies below the point and what does not lie above it, over n.  A release of diffprivlib is a
real number g in an interval between two values.  Two columns show it on the grid: rounded up, which
keeps how many values lie below it, and rounded down, which may move it onto a value below.

    python benchmarks/quantiles.py [runs]
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left, bisect_right
from pathlib import Path
from statistics import fmean

import numpy as np
from diffprivlib.tools import quantile as other

from safeselect import quantile

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from flights import by_plane

EPSILONS = ("0.02", "0.1", "1")
SHARES = ("1/2", "9/10")


def error(ordered: list[int], point: int, share: float) -> float:
    """How many ranks off, as a share of all."""
    wanted = share * len(ordered)
    below, up_to = bisect_left(ordered, point), bisect_right(ordered, point)
    return max(below - wanted, wanted - up_to, 0) / len(ordered)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    planes = by_plane().values()
    columns = {
        "flights of a plane": ([len(plane) for plane in planes], 2000),
        "destinations of a plane": ([len({f.destination for f in plane}) for plane in planes], 104),
    }
    print("| column | quantile | ε | safeselect | diffprivlib, up | diffprivlib, down |")
    print("|---|---|---|---|---|---|")
    for name, (values, highest) in columns.items():
        ordered, array = sorted(values), np.array(values, dtype=float)
        for text in SHARES:
            top, _, below = text.partition("/")
            share = int(top) / int(below)
            for epsilon in EPSILONS:
                ours = [
                    error(ordered, found.value, share)
                    for _ in range(runs)
                    for found in [
                        quantile(values, quantile=text, lowest=0, highest=highest, epsilon=epsilon)
                    ]
                ]
                drawn = [
                    other(array, share, epsilon=float(epsilon), bounds=(0, highest))
                    for _ in range(runs)
                ]
                up, down = (
                    fmean(error(ordered, int(rounded(found)), share) for found in drawn)
                    for rounded in (np.ceil, np.floor)
                )
                print(
                    f"| {name} | {text} | {epsilon} | {fmean(ours):.3%} | {up:.3%} | {down:.3%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
