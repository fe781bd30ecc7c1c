"""The largest counts of users without a cap: proved from rows, beside COUNT(DISTINCT) by hand.

    python benchmarks/rows_bound_users.py [ROWS]

`hand` is the statement below, which is also what a user would pick; `safeselect` is
`count_distinct_users` of the same Parquet file.  Each in a process of its own and in turns:
processor time, largest resident memory, and a hash of the answer, which must be the same.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROWS, USERS, ITEMS, PLACES, TURNS = 40_000_000, 2_000_000, 300_000, 101, 3
HAND = """
SELECT CAST(item AS VARCHAR) AS label, COUNT(DISTINCT user) AS users
FROM read_parquet('{path}')
WHERE item IS NOT NULL AND user IS NOT NULL
GROUP BY item ORDER BY users DESC, label LIMIT {places}
"""
_WRITE = """
COPY (
  SELECT CAST(hash(i) % {users} AS INTEGER) AS user,
         CAST(floor({items} * pow(share, 3)) AS INTEGER) AS item
  FROM (SELECT i, hash(i + {rows}) % 1000000007 / 1000000007 AS share FROM range({rows}) AS t(i))
) TO '{path}' (FORMAT parquet)
"""


def run(path: Path, way: str) -> None:
    """One count; prints seconds of processor, KiB at most, and a hash of the answer."""
    import duckdb
    import pyarrow  # noqa: F401 - so that both processes have loaded the same

    from safeselect.tables import count_distinct_users

    before = resource.getrusage(resource.RUSAGE_SELF)
    if way == "hand":
        connection = duckdb.connect(config={"preserve_insertion_order": "false"})
        found = connection.execute(HAND.format(path=path, places=PLACES)).fetchall()
    else:
        found = [*count_distinct_users(path, item="item", user="user", places=PLACES).items()]
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(spent, after.ru_maxrss, hashlib.sha256(str(found).encode()).hexdigest()[:16])


def main(rows: int) -> None:
    """Write the rows, and count them in turns."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.parquet")
        share = max(1, ROWS // rows)
        write = _WRITE.format(rows=rows, users=USERS // share, items=ITEMS // share, path=path)
        duckdb.connect(config={"memory_limit": "2GB"}).execute(write)
        said: dict[str, list[tuple[float, int]]] = {"hand": [], "safeselect": []}
        answers = set()
        for way in [*said] * TURNS:
            command = [sys.executable, __file__, "--run", str(path), way]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            said[way].append((float(out[0]), int(out[1])))
            answers.add(out[2])
        for way, found in said.items():
            seconds, peak = (median(each) for each in zip(*found, strict=True))
            print(f"{way:10} {seconds:6.2f} s of processor, {peak / 1024:6.0f} MiB at most")
        ratios = [
            median(each) / median(other)
            for each, other in zip(
                zip(*said["safeselect"], strict=True), zip(*said["hand"], strict=True), strict=True
            )
        ]
        print(f"ratio      {ratios[0]:6.2f}, {ratios[1]:.2f}; answers equal: {len(answers) == 1}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else ROWS)
