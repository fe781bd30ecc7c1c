"""Counts of users beside the same SQL by hand: without a cap, with one, all keys, 17 groups.

    python benchmarks/counts.py [ROWS [WHAT...]]

`hand` is the statement below, which is also what a user would pick; `safeselect` counts the same
Parquet file.  Each in a process of its own and in turns: processor time and largest resident
memory, and a hash of the answer, which must be the same where the statement has no cap.  By hand
DuckDB's own hash chooses a person's items: it is quicker than MD5, and differs between versions.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

ROWS, USERS, ITEMS, GROUPS, PLACES, CAP, TURNS = 40_000_000, 2_000_000, 300_000, 17, 101, 5, 3
COLUMNS: dict[str, Any] = {"item": "item", "user": "person"}
LARGEST = f"ORDER BY users DESC, label LIMIT {PLACES}"
UNCAPPED = """
SELECT CAST(item AS VARCHAR) AS label, COUNT(DISTINCT person) AS users
FROM pairs
WHERE item IS NOT NULL AND person IS NOT NULL
GROUP BY item
"""
CAPPED = f"""
SELECT CAST(item AS VARCHAR) AS label, COUNT(*) AS users
FROM (
  SELECT item, ROW_NUMBER() OVER (
    PARTITION BY person ORDER BY hash(CONCAT(CAST(person AS VARCHAR), ' ', CAST(item AS VARCHAR)))
  ) AS place
  FROM (SELECT DISTINCT item, person FROM pairs WHERE item IS NOT NULL AND person IS NOT NULL)
)
WHERE place <= {CAP}
GROUP BY item
"""  # noqa: S608 - ours
GROUPED = f"""
SELECT month, CAST(item AS VARCHAR) AS label, COUNT(DISTINCT person) AS users
FROM pairs
WHERE month IS NOT NULL AND item IS NOT NULL AND person IS NOT NULL
GROUP BY month, item
QUALIFY ROW_NUMBER() OVER (PARTITION BY month ORDER BY users DESC, label) <= {PLACES}
ORDER BY month, users DESC, label
"""  # noqa: S608 - ours
_WRITE = """
COPY (
  SELECT CAST(hash(i) % {users} AS INTEGER) AS person,
         CAST(floor({items} * pow(share, 3)) AS INTEGER) AS item,
         'month ' || (10 + hash(i + 2 * {rows}) % {groups}) AS month
  FROM (SELECT i, hash(i + {rows}) % 1000000007 / 1000000007 AS share FROM range({rows}) AS t(i))
) TO '{path}' (FORMAT parquet)
"""


def _largest(path: Path, cap: int | None = None) -> list[Any]:
    from safeselect.tables import count_distinct_users

    found = count_distinct_users(path, **COLUMNS, places=PLACES, max_contributions=cap)
    return [*found.items()]


def _keys(path: Path) -> object:
    from safeselect.tables import select_keys

    return select_keys(path, **COLUMNS, epsilon=1, delta="1e-9", max_partitions=CAP).labels


def _groups(path: Path) -> list[Any]:
    from safeselect.tables.keys import open_keyed
    from safeselect.tables.sql import counts_of_groups

    sql = counts_of_groups(groups=None, contributions=None, places=PLACES)
    names = [f"month {10 + place}" for place in range(GROUPS)]
    with open_keyed(path, "item", "person", "month") as keyed:
        return keyed.fetch(sql, "item", "person", "grp", groups=names)


WORK: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "top": (f"{UNCAPPED} {LARGEST}", _largest),
    "cap": (f"{CAPPED} {LARGEST}", lambda path: _largest(path, CAP)),
    "keys": (CAPPED, _keys),
    "groups": (GROUPED, _groups),
}


def run(path: Path, what: str, way: str) -> None:
    """One count; prints seconds of processor, KiB at most, and a hash of the answer."""
    import duckdb
    import pyarrow

    import safeselect.tables  # noqa: F401 - so that both processes have loaded the same
    from safeselect import select_partitions

    # The table of chances is made once, and pyarrow imports pandas.
    pyarrow.array([""])
    select_partitions({}, epsilon=1, delta="1e-9", max_partitions=CAP)
    by_hand, ours = WORK[what]
    before = resource.getrusage(resource.RUSAGE_SELF)
    if way == "hand":
        config: Any = {"preserve_insertion_order": "false", "memory_limit": "4GB"}
        connection = duckdb.connect(config=config)
        connection.execute(f"CREATE VIEW pairs AS FROM read_parquet('{path}')")
        asked = connection.sql(by_hand)
        found: Any = asked.to_arrow_table() if what == "keys" else asked.fetchall()
    else:
        found = ours(path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = "" if what in ("cap", "keys") else str(found)
    print(spent, after.ru_maxrss, hashlib.sha256(text.encode()).hexdigest()[:16])


def main(rows: int, wanted: list[str]) -> None:
    """Write the rows, and count them in turns."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path, share = Path(folder, "pairs.parquet"), max(1, ROWS // rows)
        sizes = {"users": USERS // share, "items": ITEMS // share, "groups": GROUPS}
        write = _WRITE.format(rows=rows, path=path, **sizes)
        duckdb.connect(config={"memory_limit": "2GB"}).execute(write)
        for what in wanted or WORK:
            said: dict[str, list[tuple[float, int]]] = {"hand": [], "safeselect": []}
            answers = set()
            for way in [*said] * TURNS:
                command = [sys.executable, __file__, "--run", str(path), what, way]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                spent, peak, answer = out.split()
                said[way].append((float(spent), int(peak)))
                answers.add(answer)
            middle = {
                way: [median(each) for each in zip(*found, strict=True)]
                for way, found in said.items()
            }
            for way, (seconds, peak) in middle.items():
                print(f"{what:7} {way:10} {seconds:6.2f} s of processor, {peak / 1024:6.0f} MiB")
            ratios = [
                ours / by_hand
                for ours, by_hand in zip(middle["safeselect"], middle["hand"], strict=True)
            ]
            equal = "" if what in ("cap", "keys") else f"; answers equal: {len(answers) == 1}"
            print(f"{what:7} ratio      {ratios[0]:6.2f}, {ratios[1]:.2f}{equal}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), *sys.argv[3:])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else ROWS, sys.argv[2:])
