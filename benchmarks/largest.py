"""The largest tables that one machine counts: time, memory and disk of one run.

    python benchmarks/largest.py FOLDER ROWS {top,cap,keys,groups} MEMORY

Writes FOLDER/pairs-ROWS.parquet unless it is there, in the shape of `counts.py`, and counts it once
with `TableAs(..., memory=MEMORY)`.  What DuckDB spills goes to FOLDER, too.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

from counts import _WRITE, GROUPS, ITEMS, ROWS, USERS, WORK


def _spilled(folder: Path) -> int:
    """Bytes that DuckDB's files hold now."""
    found = 0
    for each in folder.glob("safeselect-rows-*/spill/*"):
        try:
            found += each.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return found


def main(folder: Path, rows: int, what: str, memory: str) -> None:
    import duckdb

    from safeselect.tables import TableAs

    path = folder / f"pairs-{rows}.parquet"
    if not path.exists():
        sizes = {"users": USERS * rows // ROWS, "items": ITEMS * rows // ROWS, "groups": GROUPS}
        start = time.perf_counter()
        connection = duckdb.connect(config={"memory_limit": "2GB"})
        connection.execute(_WRITE.format(rows=rows, path=path, **sizes))
        took = time.perf_counter() - start
        print(f"written in {took:.0f} s, {path.stat().st_size / 1e9:.1f} GB", flush=True)
    tempfile.tempdir = str(folder)
    most, done = 0, Event()

    def look() -> None:
        nonlocal most
        while not done.wait(1):
            most = max(most, _spilled(folder))

    watching = Thread(target=look)
    watching.start()
    start, before = time.perf_counter(), time.process_time()
    try:
        table: Any = TableAs(path, memory=memory)
        found: Any = WORK[what][1](table)
    finally:
        done.set()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{what} of {rows:.0e} rows, {memory}: {time.perf_counter() - start:.0f} s, "
        f"{time.process_time() - before:.0f} s of processor, "
        f"{used.ru_maxrss / 2**20:.2f} GiB at most, {most / 1e9:.1f} GB spilled; {len(found)} rows"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
