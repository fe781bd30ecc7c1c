"""Top-k at scale: the ten pages with the most readers in a Parquet file, without a list of pages.

    python examples/parquet.py 100000000        # rows; one million by default

The file is synthetic: a few pages have very many readers, and most pages have few.

Neighbours: data sets that differ only in whether they contain the rows of one reader.
Guarantee: (1, 1e-9)-differential privacy for each reader. The set of pages is as private as the
counts. δ bounds the probability that a page with a single reader is released.
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
        # Exact and unprotected: the 101 largest counts of readers. A reader counts at most once for
        # each page, so all rows of a reader together change each count by at most 1.
        counts = count_distinct_users(str(path), item="page", user="reader", places=K_BAR + 1)
    found = unknown_domain_top_k(counts, k=K, k_bar=K_BAR, epsilon=1, delta="1e-9")
    print(f"most read: {', '.join(found.labels)}")
    print(f"guarantee: {found.guarantee}")
    offset = float(found.provenance.number("offset"))
    print(f"offset of the threshold above the 101st count: {offset:.1f} readers")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
