"""Top-k at scale: the ten most read pages of a Parquet file, out of pages that nobody listed.

    python examples/parquet.py 100000000        # rows; one million by default

The file is made up: readers open pages, a few pages very often and most of them hardly ever.

Neighbours: all rows of one reader are added or removed.
Guarantee: (1, 1e-9)-differential privacy for each reader.  The pages are as private as their
counts: nobody listed them, and δ bounds the chance that one shows because a single reader read it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

from safeselect import unknown_domain_top_k
from safeselect.tables import count_distinct_users

K, K_BAR = 10, 100
ROWS = """
COPY (
    SELECT (hash(i) % {readers})::INTEGER AS reader,
           'page ' || (20000 * pow(hash(i + {rows}) / 18446744073709551616.0, 4))::INTEGER AS page
    FROM range({rows}) AS numbers(i)
) TO '{path}' (FORMAT parquet)
"""


def main(rows: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reads.parquet"
        duckdb.execute(ROWS.format(rows=rows, readers=max(1, rows // 20), path=path))
        # Exact and private: how many readers each of the 101 most read pages has.  A reader counts
        # once for a page, so that all of her rows together move each count by at most 1.
        counts = count_distinct_users(str(path), item="page", user="reader", places=K_BAR + 1)
    found = unknown_domain_top_k(counts, k=K, k_bar=K_BAR, epsilon=1, delta="1e-9")
    print(f"most read: {', '.join(found.labels)}")
    print(f"guarantee: {found.guarantee}")
    offset = float(found.provenance.number("offset"))
    print(f"readers by which the bottom lies above the 101st page: {offset:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
