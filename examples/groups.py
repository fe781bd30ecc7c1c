"""Lists of the best destinations for each month and carrier: a table of docs/measured.md.

    python examples/groups.py

A plane stands for a person. The program compares the released lists with the true lists of all
planes: it counts how many of the 5 destinations with the most planes are found, averaged over the
groups. All random bytes come from a fixed seed.
"""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

from safeselect.tables import count_distinct_users, top_items, top_items_by_group
from safeselect.testing import DeterministicSource

K = 5
COST: dict[str, Any] = {"epsilon": Fraction(1), "delta": Fraction(1, 10**7)}
FLIGHTS = Path(__file__).parent / "flights.csv.gz"
COLUMNS = {"item": "destination", "user": "plane"}


def true_lists(rows: Any, group: str) -> dict[str, set[str]]:
    """Return the destinations with the most planes, for each group."""
    found = {}
    for name, part in rows.groupby(group):
        counts = count_distinct_users(part, **COLUMNS)
        found[str(name)] = set(sorted(counts, key=lambda item: (-counts[item], item))[:K])
    return found


def share(true: dict[str, set[str]], lists: dict[str, tuple[str, ...]]) -> float:
    """Return how many of the true destinations are listed, averaged over the groups."""
    return sum(len(true[name] & set(lists[name])) for name in true) / len(true)


def by_hand(rows: Any, group: str, groups: list[str], source: Any) -> dict[str, tuple[str, ...]]:
    """Make one call for each group, with an equal share of the budget."""
    part = {name: value / len(groups) for name, value in COST.items()}
    return {
        str(name): tuple(top_items(some, **COLUMNS, k=K, **part, source=source).labels)
        for name, some in rows.groupby(group)
    }


def compare(rows: Any, group: str, source: Any) -> None:
    """Print a row of the table."""
    true = true_lists(rows, group)
    groups = sorted(true)
    cells = [f"{share(true, by_hand(rows, group, groups, source)):.1f}"]
    for most in (1, 2, 4, "all"):
        found = top_items_by_group(
            rows, group=group, groups=groups, **COLUMNS, k=K, max_groups=most, **COST, source=source
        )
        lists = dict(zip(found.groups, found.labels, strict=True))
        cells.append(f"{share(true, lists):.1f} ({float(found.provenance.number('offset')):.0f})")
    print(f"| {len(groups)} groups by {group} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = DeterministicSource(b"groups", i_understand_this_is_not_private=True)
    rows = pandas.read_csv(FLIGHTS, dtype=str)
    print("| found of 5 (offset, in planes) | by hand | C = 1 | C = 2 | C = 4 | all |")
    print("|---|---|---|---|---|---|")
    for group in ("month", "carrier"):
        compare(rows, group, source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
