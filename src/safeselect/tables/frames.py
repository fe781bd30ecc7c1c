"""Tables in memory, as Arrow: frames of pandas and polars, Arrow tables, DuckDB relations.

The libraries' messages quote cells, so none of them leaves this file.  A column's type comes from
its declaration.  The type of a pandas column often depends on its values: one missing value turns
integers into floats, and one text turns them into objects.  So keys of several kinds are the texts
that `unknown_domain._items` makes of them, each by itself, and one of which it makes none is
missing.  Values of other types than numbers and dates are texts in the same way; a date among them
is as in 2024-02-29.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Any

import numpy as np

from safeselect.errors import InputError, ParameterError
from safeselect.mechanisms.items import item
from safeselect.release.display import library
from safeselect.scores.columns import hushed
from safeselect.tables.files import position, shown

_PANDAS = "pandas.DataFrame"
_LAZY = "polars.LazyFrame"
_RELATION = "duckdb.DuckDBPyRelation"
_NAMES: dict[str, Callable[[Any], Any]] = {
    _PANDAS: lambda table: table.columns,
    "polars.DataFrame": lambda table: table.columns,
    _LAZY: lambda table: table.collect_schema().names(),
    "pyarrow.Table": lambda table: table.column_names,
    _RELATION: lambda table: table.columns,
}
_READ_AT_ONCE = frozenset(("string", "large_string", "float", "double", "null"))


def as_arrow(table: object, columns: Sequence[str], *values: str, empty: bool = False) -> Any:
    """Return columns of a table in memory in a form that DuckDB reads by declared types.

    Args:
        table: a pandas or polars DataFrame, a pyarrow Table, or a DuckDB relation, such as
            `connection.table("trips")`.
        values: which of the columns hold values, and not keys.
        empty: the types alone, without looking at any row.

    Returns:
        An Arrow table; None if it should be empty and the types depend on values.

    Raises:
        InputError: there is no such column, or Arrow cannot hold it.
        ParameterError: there is no pyarrow, or the table has another type.
    """
    kind, places = _located(table, columns)
    if kind != _PANDAS:
        return _converted(lambda _: _arrow(kind, table, places, empty=empty), places)
    if empty:
        return None
    return _converted(lambda arrow: _from_pandas(arrow, table, places, values), places)


def is_stream(table: object) -> bool:
    """Whether the rows can be read once alone: those of a DuckDB relation."""
    return _kind(table) == _RELATION


def _kind(table: object) -> str:
    return f"{type(table).__module__.partition('.')[0].lstrip('_')}.{type(table).__name__}"


def _located(table: object, columns: Sequence[str]) -> tuple[str, dict[str, int]]:
    """Return the table's kind, and the positions of its columns."""
    kind = _kind(table)
    if kind not in _NAMES:
        raise ParameterError(
            "a table must be a file path, a list of paths, a pandas, polars or (for counts) Spark "
            "DataFrame, a pyarrow Table or a DuckDB relation such as connection.table('trips'), "
            f"got {type(table).__name__}"
        )
    names = None
    with hushed():  # any error may quote what a LazyFrame read
        names = [*_NAMES[kind](table)]
    if names is None:
        raise InputError("the columns of the table cannot be determined")
    return kind, {name: position(names, name, "the table") for name in columns}


def _converted(convert: Callable[[Any], Any], places: Collection[str]) -> Any:
    arrow, converted = library("pyarrow"), None
    with hushed():  # any error may quote cells
        converted = convert(arrow)
    if converted is None:
        raise InputError(
            f"column {' or '.join(map(shown, places))} cannot be read; convert it to "
            'integers or strings, for example, in pandas, with df[COLUMN].astype("Int64")'
        )
    return converted


def _arrow(kind: str, table: Any, places: dict[str, int], *, empty: bool) -> Any:
    """Columns of a table that has declared types."""
    if kind == _RELATION:
        # By position: to DuckDB, names that differ in case are one.  Arrow has no integers of 128
        # bits; as texts they are the same keys, and the same values.
        wide = [str(each) in ("HUGEINT", "UHUGEINT") for each in table.types]
        cells = [f"CAST(#{n + 1} AS VARCHAR)" if wide[n] else f"#{n + 1}" for n in places.values()]
        picked = table.project(", ".join(cells))
        picked = picked.limit(0) if empty else picked
        # The second is the older name of the first.
        read = getattr(picked, "to_arrow_reader", None) or picked.fetch_record_batch
        return read()
    picked = table.select([*places])
    if kind == "pyarrow.Table":
        return picked.slice(0, 0) if empty else picked
    picked = picked.head(0) if empty else picked
    return (picked.collect() if kind == _LAZY else picked).to_arrow()


def _from_pandas(arrow: Any, table: Any, places: dict[str, int], values: Collection[str]) -> Any:
    columns = {name: table.iloc[:, place] for name, place in places.items()}
    return arrow.table({name: _column(arrow, columns[name], name in values) for name in columns})


def _column(arrow: Any, column: Any, is_value: bool) -> Any:
    """A pandas column: texts, numbers and days of values at once, or else texts cell by cell."""
    with hushed():  # cells of several kinds
        found, kinds = arrow.array(column, from_pandas=True), arrow.types
        kind = found.type.value_type if kinds.is_dictionary(found.type) else found.type
        is_day = kinds.is_date(kind) or (kinds.is_timestamp(kind) and kind.tz is None)
        if str(kind) in _READ_AT_ONCE or kinds.is_integer(kind) or (is_value and is_day):
            return found
    text = _value if is_value else _text
    return arrow.array(map(text, column.astype(object)), arrow.string())


def _value(cell: Any) -> str | None:
    """The text of a value, which is read as the value is in a column of its kind."""
    if isinstance(cell, date):
        return cell.isoformat().partition("T")[0]
    is_float = isinstance(cell, (float, np.floating))
    return repr(float(cell)) if is_float else _text(cell)


def _text(cell: Any) -> str | None:
    """The text of a cell; None where it is none, or none that a column of its kind could hold."""
    text = item(cell)
    if text is None or text.encode("utf-8", "ignore").decode() != text:
        return None
    whole = text.partition(".")[0].lstrip("-")
    # As in SQL, where a float of 2**127 or more is no item.
    is_in_reach = isinstance(cell, str) or (len(whole), whole) < (39, str(2**127))
    return text if is_in_reach else None
