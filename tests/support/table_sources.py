"""The same columns in every kind of table: files and frames."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

Columns = dict[str, Any]
"""Lists of cells, or Arrow arrays."""


def arrow(columns: Columns) -> pa.Table:
    """An Arrow table; text where no type holds the mix."""
    lists = {name: cells for name, cells in columns.items() if isinstance(cells, list)}
    mixed = {name for name, cells in lists.items() if len({*map(type, cells)} - {type(None)}) > 1}
    return pa.table({n: [*map(str, each)] if n in mixed else each for n, each in columns.items()})


def kept(
    rows: Iterable[tuple[Any, Any]], cap: int | None, hashed: Callable[[str], str] | None = None
) -> Counter[str]:
    """The rule of the page in Python: each user counts for the items with the smallest hashes."""
    by_hash = hashed or (lambda text: md5(text.encode(), usedforsecurity=False).hexdigest()[:12])
    items: dict[Any, set[Any]] = defaultdict(set)
    for item, user in rows:
        if item is not None and user is not None:
            items[user].add(item)
    found: Counter[str] = Counter()
    for user, own in items.items():
        order = sorted(own, key=lambda item: (by_hash(f"{user} {item}"), str(item).encode()))
        found.update(map(str, order[:cap]))
    return found


def _pandas(_: Path, columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: each if isinstance(each, list) else each.to_pandas()
            for name, each in columns.items()
        }
    )


def _csv(folder: Path, columns: Columns, ending: str = "") -> Path:
    text = io.StringIO()
    cells = [each if isinstance(each, list) else each.to_pylist() for each in columns.values()]
    csv.writer(text).writerows([columns, *zip(*cells, strict=True)])
    path, data = folder / f"t.csv{ending}", text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if ending else data)
    return path


def _parquet(folder: Path, columns: Columns) -> Path:
    parquet.write_table(arrow(columns), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[Path, Columns], Any]] = {
    "pandas": _pandas,
    "pandas objects": lambda folder, columns: _pandas(folder, columns).astype(object),
    "polars": lambda _, columns: pl.from_arrow(arrow(columns)),
    "lazy": lambda _, columns: pl.from_arrow(arrow(columns)).lazy(),
    "arrow": lambda _, columns: arrow(columns),
    "relation": lambda _, columns: duckdb.connect().from_arrow(arrow(columns)),
    "Parquet": _parquet,
    "CSV": _csv,
    "gzip": lambda folder, columns: _csv(folder, columns, ".gz"),
}
