"""`safeselect keys`: which items of a file may be shown, and how many users each has."""

from __future__ import annotations

import argparse
from typing import Any

from safeselect.cli._counting_parser import add_form, table_of
from safeselect.cli._help import RELEASE_EXIT_CODES
from safeselect.cli._ledger import open_scope
from safeselect.cli._ledger_parser import add_charging
from safeselect.cli._numbers import add_command, count, number
from safeselect.mechanisms.keys import SelectedPartitions
from safeselect.tables import select_keys

FILES = "a .csv, .csv.gz or .parquet file; or several, taken together"

_ABOUT = """\
Each item is kept with the largest probability that privacy allows: never for an item without users,
always for one with enough of them. Items come out in alphabetical order, as many as are kept. For
the k best in the order of their counts use: safeselect top-k

  --max-partitions D  count each user for D items at most, chosen by a fixed hash (default: 1). D
                      must not follow from the data. More lets each item keep more of its users, but
                      each decision gets a smaller share of epsilon.
  --with-counts       print noisy numbers of users too, for the same cost: item, tab, count. They
                      are of users counted so, and have a small mean error, which --json tells.
  --pre-threshold T   never show an item of fewer than T users.
"""


def add_keys(commands: Any) -> None:
    """Add `safeselect keys`."""
    keys = add_command(
        commands,
        "keys",
        "the items that may be shown, however many",
        "Release the items that may be shown, with differential privacy; which items "
        "the file holds is private too.",
        _ABOUT + RELEASE_EXIT_CODES,
    )
    keys.add_argument("file", metavar="FILE", nargs="+", help=FILES)
    keys.add_argument("--item", required=True, metavar="COL", help="column of the items")
    keys.add_argument(
        "--user", required=True, metavar="COL", help="column that says whose row it is"
    )
    keys.add_argument(
        "--epsilon",
        required=True,
        type=number("epsilon"),
        metavar="E",
        help="total cost, with --delta, such as 1, 0.1 or 1/3",
    )
    keys.add_argument(
        "--delta",
        required=True,
        type=number("delta", below=1),
        metavar="D",
        help="total cost, with --epsilon, such as 1e-9",
    )
    keys.add_argument(
        "--max-partitions",
        default=1,
        type=count,
        metavar="D",
        help="count a user for D items at most (default: 1)",
    )
    keys.add_argument(
        "--pre-threshold",
        default=1,
        type=count,
        metavar="T",
        help="show no item of fewer than T users",
    )
    keys.add_argument("--with-counts", action="store_true", help="print noisy counts too")
    keys.add_argument(
        "--rows",
        type=count,
        metavar="N",
        help="how many rows FILE has, as far as that is public: warn if --delta is above 1/N",
    )
    keys.add_argument(
        "--engine",
        choices=("duckdb", "spark"),
        default="duckdb",
        help="what counts: DuckDB (default), or Apache Spark on this machine, for .parquet files",
    )
    keys.add_argument(
        "--memory",
        metavar="SIZE",
        help="the most that DuckDB may use, or the heap of Spark's Java, such as 2GB",
    )
    add_form(keys)
    keys.add_argument("--json", action="store_true", help="print the release as JSON")
    add_charging(keys)
    keys.set_defaults(
        command="keys", unit="neighbours: files that differ by all rows of one user; released: "
    )


def run_keys(options: argparse.Namespace) -> SelectedPartitions:
    """Make the release."""
    return select_keys(
        table_of(options),
        item=options.item,
        user=options.user,
        epsilon=options.epsilon,
        delta=options.delta,
        max_partitions=options.max_partitions,
        pre_threshold=options.pre_threshold,
        with_counts=options.with_counts,
        rows=options.rows,
        engine=options.engine,
        memory=options.memory,
        progress=True,
        ledger=open_scope(options, neighbours="add_remove"),
    )
