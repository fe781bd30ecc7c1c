"""The errors of noisy counts with and without a cap on items per user: a table of docs/measured.md.

    python examples/counts.py

There are two data sets.  In the flights, a plane stands for a person and has up to 47 destinations.
In the synthetic data, most people have a few items and some have hundreds, and the counts of items
vary as much.  Over 200 lists, the program compares the released counts with the true numbers of
users.  All random bytes come from a fixed seed.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from safeselect import Counts, unknown_domain_top_k
from safeselect.tables import count_distinct_users
from safeselect.testing import DeterministicSource

K, PLACES, LISTS = 5, 50, 200
COST: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
FLIGHTS = Path(__file__).parent / "flights.csv.gz"
COLUMNS = {"item": "destination", "user": "plane"}
CAPS = (1, 3, 10, 30, 100, None)


def made_up() -> Any:
    """Return data of 20 000 people; the n-th of every hundred has about 300 / n of 5000 items."""
    import pyarrow

    draw = np.random.RandomState(7)  # its stream is the same in all versions of NumPy
    items = np.maximum(1, 300 // (1 + np.arange(20_000) % 100))
    who = np.repeat(np.arange(items.size), items)
    what = (5000 * draw.random_sample(who.size) ** 4).astype(int)
    return pyarrow.table({"destination": what, "plane": who})


def errors(counts: Counts, true: Counts, cap: int | None, source: Any) -> tuple[float, float]:
    """Return how many of the true best are listed, and the mean relative error of the counts."""
    best = sorted(true, key=lambda item: (-true[item], item))[:K]
    found, off = 0, []
    for _ in range(LISTS):
        told = unknown_domain_top_k(
            counts,
            k=K,
            k_bar=PLACES,
            max_contributions=cap,
            with_counts=True,
            source=source,
            **COST,
        )
        found += len({*told.labels} & {*best})
        pairs = zip(told.labels, told.counts or (), strict=True)
        off += [abs(count / true[label] - 1) for label, count in pairs]
    return found / LISTS, float(np.mean(off)) if off else float("nan")


def main() -> int:
    """Print the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = DeterministicSource(b"counts", i_understand_this_is_not_private=True)
    print("| cap on items per user | flights: found of 5 | error | synthetic: found of 5 | error |")
    print("|---|--:|--:|--:|--:|")
    tables = FLIGHTS, made_up()
    true = [count_distinct_users(table, **COLUMNS) for table in tables]
    for cap in CAPS:
        cells = ["none" if cap is None else str(cap)]
        for table, all_of_them in zip(tables, true, strict=True):
            counts = count_distinct_users(
                table, **COLUMNS, places=PLACES + 1, max_contributions=cap
            )
            found, off = errors(counts, all_of_them, cap, source)
            cells += [f"{found:.1f}", "–" if np.isnan(off) else f"{100 * off:.2g} %"]
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
