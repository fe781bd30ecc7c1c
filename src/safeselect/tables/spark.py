"""Apache Spark, as the caller set it up: it only counts, by the same SQL as DuckDB.

- Spark repeats tasks that fail or are slow.  A count is not affected: every statement of `sql` is
  a function of the rows.  Noise would be drawn twice, so none is drawn there.
- Columns are taken by position, so that no name means anything to SQL.
- Items are texts as for DuckDB, but what is no UTF-8 in one is U+FFFD, as Spark would show it.
  Otherwise two items would be one label on the driver, and one would hide the other's count.
- A float of 2**63 or more is no item, and others that are not whole have the digits that Java gives
  them, which are the shortest from Java 19 on.
- Spark's messages quote cells.  None of them leaves this file.
- The session, its memory, its files and its log are the caller's.  The log of a failed task quotes
  cells, wherever the session writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from safeselect.errors import InputError
from safeselect.release.display import library
from safeselect.release.progress import watched
from safeselect.scores.columns import hushed
from safeselect.tables.files import position, require_key
from safeselect.tables.sql import LABELS, spelled

_Answer = TypeVar("_Answer")

# Spark's names of the types that keys may have, where DuckDB's names are others.  A string with a
# collation has another name and is refused: two different keys may be equal in it.
_TYPES = {"string": "VARCHAR", "int": "INTEGER", "void": '"NULL"'}


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A DataFrame with its wanted columns, in a temporary view.

    Attributes:
        types: the declared type of each wanted column, by DuckDB's name.
        is_quick: whether a second scan is cheap: nobody knows.
    """

    types: Mapping[str, str]
    is_quick: bool
    _session: Any
    _name: str

    def load(self, *columns: str) -> Mapping[str, str]:
        """Return the types of these columns, by our names; Spark reads rows by itself."""
        return {ours: self.types[ours] for ours in columns}

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement of `sql` and return all rows.

        Raises:
            InputError: Spark failed; the message has no word of Spark's own.
        """
        return [tuple(row) for row in self._asked(sql, "collect")]

    def columns(self, sql: str) -> Any:
        """Run one statement of counts and return its result as an Arrow table.

        Raises:
            InputError: as for `fetch`.
        """
        if hasattr(self._session.range(0), "toArrow"):
            return self._asked(sql, "toArrow")
        rows, arrow = self.fetch(sql), library("pyarrow")  # Spark 3.5
        kinds = arrow.schema({"label": arrow.string(), "users": arrow.int64()})
        named = [dict(zip(kinds.names, row, strict=True)) for row in rows]
        return arrow.Table.from_pylist(named, kinds)

    def _asked(self, sql: str, form: str) -> Any:
        renamed = sql.replace("safeselect_", self._name)
        with watched("counting", self._share):
            return _ask(lambda: getattr(self._session.sql(renamed), form)())

    def _share(self) -> float:
        """How many of the tasks are done that Spark knows of now."""
        tracker = self._session.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
        tasks = [(each.numCompletedTasks, each.numTasks) for each in stages if each is not None]
        done, known = map(sum, zip(*tasks, strict=True)) if tasks else (0, 1)
        return float(done / known)

    def tidied(self, labels: list[str]) -> list[str | None]:
        """Return the labels: cells are taken as they stand."""
        return [*labels]

    def store(self, name: str, labels: list[str]) -> None:
        """Put public labels into the view of this name, for a statement of `sql`."""
        rows, view = [(label,) for label in labels], name.replace("safeselect_", self._name)
        _ask(lambda: self._session.createDataFrame(rows, "label STRING").createTempView(view))


def is_spark(table: object) -> bool:
    """Whether this is a Spark DataFrame, without importing Spark."""
    kind = type(table)
    return kind.__module__.partition(".")[0] == "pyspark" and kind.__name__ == "DataFrame"


@contextmanager
def open_spark(table: Any, columns: Mapping[str, str]) -> Iterator[SparkTable]:
    """Open a DataFrame for the length of a `with` block.

    Args:
        columns: our name -> the column's name.

    Raises:
        InputError: there is no such column, or Spark failed.
        ParameterError: a column's name is not text.
    """
    names: list[str] = list(table.columns)
    at = {ours: position(names, name, "the table") for ours, name in columns.items()}
    kinds = [kind for _, kind in table.dtypes]
    types = {ours: _TYPES.get(kinds[place], kinds[place].upper()) for ours, place in at.items()}
    for ours, kind in types.items():
        require_key(kind, columns[ours], item=ours in LABELS)
    name = f"safeselect_{uuid4().hex}_"
    session = table.sparkSession
    try:
        # All rows of a person in one place: no statement then needs pairs anywhere else.
        _ask(lambda: _view(table, at, types).repartition("person").createTempView(f"{name}rows"))
        yield SparkTable(types, False, session, name)
    finally:
        for view in (f"{name}rows", f"{name}candidates", f"{name}groups"):
            _ask(partial(session.catalog.dropTempView, view))


def _view(table: Any, at: Mapping[str, int], types: Mapping[str, str]) -> Any:
    numbered = table.toDF(*(f"c{place}" for place in range(len(table.columns))))
    cells = {ours: f"c{place}" for ours, place in at.items()}
    cells |= {ours: spelled(cells[ours], types[ours], "BIGINT") for ours in LABELS & cells.keys()}
    return numbered.selectExpr(*(f"{cell} AS {ours}" for ours, cell in cells.items()))


def _ask(question: Callable[[], _Answer]) -> _Answer:
    with hushed():  # any error may quote cells
        return question()
    raise InputError("Spark could not count the table; see Spark's log, if there is one")
