"""A table with the columns that are counted: items and users, and groups where there are any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.tables._described import TableAs
from safeselect.tables._duckdb import Table, open_table
from safeselect.tables._keys import FLOATS, LABELS, require_key, require_plain
from safeselect.tables._spark import SparkTable, is_spark, open_spark
from safeselect.tables._sql import GROUPS, ITEMS

_LISTED = {"item": "candidate", "grp": "group"}


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table with the columns that are counted."""

    table: Table | SparkTable
    names: Mapping[str, str]

    def check(self) -> None:
        """Refuse declared types that no key has; no row is looked at."""
        for ours, name in self.names.items():
            kind = self.table.types[ours]
            # In a table that pandas wrote, a missing value turns integers into floats.
            if kind is not None and kind not in FLOATS:
                require_key(kind, name, item=ours in LABELS)

    def as_read(self, labels: list[str], ours: str = "item") -> list[str]:
        """Return a public list as cells with its text are read; all different still.

        Raises:
            InputError: two labels become the same cell, or none, or fit no cell of the column.
        """
        what = _LISTED[ours]
        found: dict[str, int] = {}
        for place, label in enumerate(self.table.tidied(labels), 1):
            if label is None:
                raise InputError(f"{what} {place} has nothing but blanks, which are trimmed")
            if label in found:
                raise InputError(
                    f"{what} {place} is read as {what} {found[label]} is: both become the same "
                    "cell, so state one of them"
                )
            found[label] = place
        require_plain([*found], self.table.types[ours] or "", self.names[ours], what)
        return [*found]

    def items(self) -> list[str]:
        """Return the set of items, which the caller asserted to be public."""
        self._load("item")
        return [label for (label,) in self.table.fetch(ITEMS)]

    def fetch(self, sql: str, candidates: list[str] | None = None) -> list[tuple[Any, ...]]:
        """Read rows by one statement, once."""
        self._load("item", "person")
        if candidates is not None:
            self.table.store_candidates(candidates)
        return self.table.fetch(sql)

    def groups(self) -> list[str]:
        """Return the set of groups, which the caller asserted to be public."""
        self._load("grp")
        return [label for (label,) in self.table.fetch(GROUPS)]

    def fetch_grouped(
        self, sql: str, groups: list[str], candidates: list[str] | None
    ) -> list[tuple[Any, ...]]:
        """Read rows with their groups by one statement, once."""
        self._load("item", "person", "grp")
        self.table.store_groups(groups)
        if candidates is not None:
            self.table.store_candidates(candidates)
        return self.table.fetch(sql)

    def _load(self, *columns: str) -> None:
        kinds = self.table.load(*columns)
        for ours in columns:
            require_key(kinds[ours], self.names[ours], item=ours in LABELS)


@contextmanager
def open_keyed(
    table: object,
    item: str,
    user: str,
    memory: str | None,
    progress: bool,
    group: str | None = None,
) -> Iterator[Keyed]:
    """Open a table and check its columns' names and declared types."""
    if isinstance(table, TableAs) and is_spark(table.table):
        raise ParameterError(
            "a Spark DataFrame is counted where it is: tidy its columns there, for example with "
            "pyspark.sql.functions lower and trim, and pass it without TableAs"
        )
    columns = {"item": item, "person": user} | ({} if group is None else {"grp": group})
    opened = (
        open_spark(table, columns)
        if is_spark(table)
        else open_table(table, columns, memory=memory, progress=progress)
    )
    with opened as rows:
        keyed = Keyed(rows, columns)
        keyed.check()
        yield keyed
