"""Keys by columns: what deciding about each key costs, in time and memory.

    python benchmarks/keys.py [KEYS]

Some keys have two users, the others one.  `hand` is our statement, run by DuckDB and fetched as
Arrow; `safeselect` is `select_keys`, which decides too; `arrow` is `select_partitions` on the
columns that `hand` fetched; `list` is the same on Python's texts, as a user has them after
`fetchall`.  Each in a process of its own: processor time and the largest resident memory, and per
key what lies above `hand`, or above the columns that were passed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KEYS = 10_000_000
MEMORY = "4GB"
COST: dict[str, Any] = {"epsilon": 1, "delta": "1e-9", "max_partitions": 1}
HAND = """
SELECT CAST(item AS VARCHAR) AS label, COUNT(*) AS users
FROM (
  SELECT item, ROW_NUMBER() OVER (
    PARTITION BY person
    ORDER BY LEFT(md5(CONCAT(CAST(person AS VARCHAR), ' ', CAST(item AS VARCHAR))), 12),
      CAST(item AS VARCHAR)
  ) AS place
  FROM (SELECT DISTINCT item, person FROM rows WHERE item IS NOT NULL AND person IS NOT NULL)
)
WHERE place <= 1
GROUP BY item
"""
_WRITE = """
COPY (
  SELECT 'key ' || (i // 5 * 4 + least(i % 5, 3)) AS item, i AS person FROM range({rows}) AS t(i)
) TO '{path}' (FORMAT parquet)
"""


def _memory(what: str) -> int:
    """The memory that is resident now, `VmRSS`, or was at most, `VmHWM`; on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


def _fetched(path: Path) -> Any:
    import duckdb

    config = {"preserve_insertion_order": "false", "memory_limit": MEMORY}
    connection = duckdb.connect(config=config)
    connection.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet('{path}')")  # noqa: S608 - ours
    return connection.sql(HAND).to_arrow_table()


def run(path: Path, way: str) -> None:
    """One way; prints the keys, nanoseconds of processor and bytes of memory."""
    import pyarrow
    from pyarrow import ipc

    from safeselect import select_partitions
    from safeselect.tables import TableAs, select_keys

    select_partitions({}, **COST)  # the table is built once
    pyarrow.array([""])  # and pandas, which pyarrow asks, is imported
    kept = path.with_suffix(".arrow")
    found = ipc.open_file(kept).read_all() if way in ("arrow", "list") else None
    if way == "list":
        columns = found.column("users").to_pylist(), found.column("label").to_pylist()
    elif way == "arrow":
        columns = found.column("users"), found.column("label")
    Path("/proc/self/clear_refs").write_text("5")  # the largest so far is forgotten
    before, start = _memory("VmRSS"), time.process_time()
    if way == "hand":
        found = _fetched(path)
        size = found.num_rows
    elif way == "safeselect":
        size = len(
            select_keys(TableAs(path, memory=MEMORY), item="item", user="person", **COST).labels
        )
    else:
        select_partitions(columns[0], labels=columns[1], **COST)
        size = found.num_rows
    spent, peak = time.process_time() - start, _memory("VmHWM")
    print(size, int(1e9 * spent), peak, peak - before)
    if way == "hand":
        with ipc.new_file(kept, found.schema) as out:
            out.write_table(found)


def main(keys: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.parquet")
        import duckdb

        duckdb.connect().execute(_WRITE.format(rows=keys * 5 // 4, path=path))
        hand = None
        for way in ("hand", "safeselect", "arrow", "list"):
            command = [sys.executable, __file__, "--run", str(path), way]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            _, spent, peak, grown = map(int, said.split())
            hand = hand or (spent, peak)
            extra = (spent - hand[0], peak - hand[1]) if way == "safeselect" else (spent, grown)
            print(
                f"{way:10} {spent / 1e9:7.2f} s, {peak >> 20:6} MiB at most; "
                f"{extra[0] / keys:6.0f} ns and {extra[1] / keys:6.1f} bytes a key",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else KEYS)
