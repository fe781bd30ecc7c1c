"""From 40 million rows in a file to a release: how long, and in how much memory.

    python benchmarks/tables.py [--spark] [--rows ROWS] [FOLDER]

Writes FOLDER/pairs-ROWS.parquet (317 MB; by default in a folder that is removed again): 40 million
(user, item) rows, 2 million users, 300 000 items, some a thousand times as frequent as others.
Then counts and selects, each run in a process of its own, as the command does: the k best, and all
keys that may be shown with their counts.  With --spark it counts on a local Spark too (pyspark,
Java, and 3 GB of heap), without a cap also by the statement that somebody would write, `hand`.  The
counts must be the same.  Processor time of Spark is that of the count, after a first small one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROWS, USERS, ITEMS = 40_000_000, 2_000_000, 300_000
BY_HAND = """
SELECT CAST(item AS STRING) AS label, COUNT(DISTINCT user) AS users
FROM pairs
WHERE item IS NOT NULL AND user IS NOT NULL
GROUP BY item
ORDER BY users DESC, label
LIMIT {places}
"""
K, PLACES, MEMORY, HEAP = 10, 100, "1500MB", "3g"

_WRITE = """
COPY (
  SELECT CAST(hash(i) % {users} AS INTEGER) AS user,
         CAST(floor({items} * pow(share, 3)) AS INTEGER) AS item
  FROM (SELECT i, hash(i + {rows}) % 1000000007 / 1000000007 AS share FROM range({rows}) AS t(i))
) TO '{path}' (FORMAT parquet)
"""


def write(path: Path, rows: int) -> None:
    """Write the rows, and check that they are as many as they should be."""
    import duckdb

    users, items = USERS * rows // ROWS, ITEMS * rows // ROWS

    connection = duckdb.connect(config={"memory_limit": MEMORY})
    quoted = str(path).replace("'", "''")
    connection.execute(_WRITE.format(rows=rows, users=users, items=items, path=quoted))
    ask = "SELECT COUNT(*), COUNT(DISTINCT user), COUNT(DISTINCT item) FROM read_parquet(?)"
    if connection.execute(ask, [str(path)]).fetchone() != (rows, users, items):
        raise SystemExit("the rows that were written are not those that were meant")


def run(path: Path, engine: str, contributions: int | None) -> None:
    """One release, with what it took; prints a hash of the counts at the end."""
    from safeselect import Counts, unknown_domain_top_k
    from safeselect.tables import TableAs, count_distinct_users

    total = {"k": K, "k_bar": PLACES, "epsilon": 1, "delta": "1e-9"}
    unknown_domain_top_k(
        {}, **total, places="all", max_contributions=contributions
    )  # tables are built once
    asked: dict[str, Any] = {"item": "item", "user": "user", "places": PLACES + 1}
    asked["max_contributions"] = contributions
    table: Any = TableAs(path, memory=MEMORY)
    if engine != "duckdb":
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[*]").config("spark.driver.memory", HEAP)
        table = session.getOrCreate().read.parquet(str(path))
        count_distinct_users(table.limit(1000), **asked)
    start, before = time.perf_counter(), _processor()
    if engine == "hand":
        table.createTempView("pairs")
        rows = table.sparkSession.sql(BY_HAND.format(places=PLACES + 1)).collect()
        counts = Counts(dict(map(tuple, rows)), places=PLACES + 1)
    else:
        counts = count_distinct_users(table, **asked)
    peak, processor = _peak(), _processor() - before
    counted = time.perf_counter()
    result = unknown_domain_top_k(counts, **total, max_contributions=contributions)
    end = time.perf_counter()
    print(
        f"{engine:6} cap {contributions or 'none':>4}   {end - start:6.2f} s in all, "
        f"{processor:6.2f} s of processor, {peak / 2**20:5.2f} GiB; "
        f"selection {1000 * (end - counted):5.2f} ms; {len(result.labels)} of {K} items; counts",
        hashlib.sha256(str(list(counts.items())).encode()).hexdigest()[:16],
    )


def run_keys(path: Path, contributions: int) -> None:
    """All keys that may be shown, with noisy counts, and what that took."""
    from safeselect import select_partitions
    from safeselect.tables import TableAs, select_keys

    total = {"epsilon": 1, "delta": "1e-9", "max_partitions": contributions, "with_counts": True}
    select_partitions({}, **total)  # tables are built once
    start = time.perf_counter()
    kept = select_keys(TableAs(path, memory=MEMORY), item="item", user="user", **total)
    end, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"keys   cap {contributions:>4}   {end - start:6.2f} s in all, "
        f"{used.ru_utime + used.ru_stime:6.2f} s of processor, {_peak() / 2**20:5.2f} GiB; "
        f"{len(kept.labels)} keys with counts"
    )


def _family() -> list[str]:
    """This process and the Java it started, on Linux."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return ["self", *children]


def _processor() -> float:
    """Seconds of processor that they have taken."""
    stats = [
        Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in _family()
    ]
    return sum(int(each[11]) + int(each[12]) for each in stats) / os.sysconf("SC_CLK_TCK")


def _peak() -> int:
    """The most memory, in KiB, that they have had."""
    lines = [
        line for each in _family() for line in Path(f"/proc/{each}/status").read_text().splitlines()
    ]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main(folder: Path, rows: int, *, spark: bool) -> None:
    path = folder / f"pairs-{rows}.parquet"
    if not path.exists():
        start = time.perf_counter()
        write(path, rows)
        print(f"written in {time.perf_counter() - start:.1f} s, {path.stat().st_size >> 20} MiB")
    for contributions in ("", "5"):
        hashes = set()
        others = ("spark",) if contributions else ("spark", "hand")
        for engine in ("duckdb", *others) if spark else ("duckdb",):
            command = [sys.executable, __file__, "--run", str(path), engine, contributions]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(said, end="", flush=True)
            hashes.add(said.split()[-1])
        if contributions:
            command = [sys.executable, __file__, "--run", str(path), "keys", contributions]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout, end=""
            )
        if len(hashes) > 1:
            raise SystemExit("the two engines count differently")


if __name__ == "__main__":
    if sys.argv[1:4:2] == ["--run", "keys"]:
        run_keys(Path(sys.argv[2]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if sys.argv[4] else None)
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--spark", action="store_true")
        parser.add_argument("--rows", type=int, default=ROWS)
        parser.add_argument("folder", nargs="?", type=Path)
        options = parser.parse_args()
        with tempfile.TemporaryDirectory() as private:
            main(options.folder or Path(private), options.rows, spark=options.spark)
