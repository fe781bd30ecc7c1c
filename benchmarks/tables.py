"""From 40 million rows in a file to a release: how long, and in how much memory.

    python benchmarks/tables.py [FOLDER]

Writes FOLDER/pairs.parquet (317 MB; by default in a folder that is removed again): 40 million
(user, item) rows, 2 million users, 300 000 items, some a thousand times as frequent as others.
Then counts and selects, each run in a process of its own, as the command does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS, USERS, ITEMS = 40_000_000, 2_000_000, 300_000
K, PLACES, MEMORY = 10, 100, "1500MB"

_WRITE = """
COPY (
  SELECT CAST(hash(i) % {users} AS INTEGER) AS user,
         CAST(floor({items} * pow(share, 3)) AS INTEGER) AS item
  FROM (SELECT i, hash(i + {rows}) % 1000000007 / 1000000007 AS share FROM range({rows}) AS t(i))
) TO '{path}' (FORMAT parquet)
"""


def write(path: Path) -> None:
    """Write the rows, and check that they are as many as they should be."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY})
    quoted = str(path).replace("'", "''")
    connection.execute(_WRITE.format(rows=ROWS, users=USERS, items=ITEMS, path=quoted))
    ask = "SELECT COUNT(*), COUNT(DISTINCT user), COUNT(DISTINCT item) FROM read_parquet(?)"
    if connection.execute(ask, [str(path)]).fetchone() != (ROWS, USERS, ITEMS):
        raise SystemExit("the rows that were written are not those that were meant")


def run(path: Path, contributions: int | None) -> None:
    """One release, with what it took."""
    from safeselect import unknown_domain_top_k
    from safeselect.adapters.tables import largest_counts

    total = {"k": K, "k_bar": PLACES, "epsilon": 1, "delta": "1e-9"}
    unknown_domain_top_k({}, **total, max_contributions=contributions)  # tables are built once
    start = time.perf_counter()
    counts = largest_counts(
        path,
        item="item",
        user="user",
        places=PLACES + 1,
        max_contributions=contributions,
        memory=MEMORY,
    )
    counted = time.perf_counter()
    result = unknown_domain_top_k(counts, **total, max_contributions=contributions)
    end = time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"cap {contributions or 'none':>4}   {end - start:6.2f} s in all, "
        f"{used.ru_utime + used.ru_stime:6.2f} s of processor, {used.ru_maxrss / 2**20:5.2f} GiB; "
        f"selection {1000 * (end - counted):5.2f} ms; {len(result.labels)} of {K} items"
    )


def main(folder: Path) -> None:
    path = folder / "pairs.parquet"
    if not path.exists():
        start = time.perf_counter()
        write(path)
        print(f"written in {time.perf_counter() - start:.1f} s, {path.stat().st_size >> 20} MiB")
    for contributions in ("", "5"):
        subprocess.run([sys.executable, __file__, "--run", str(path), contributions], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3] else None)
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as private:
            main(Path(private))
