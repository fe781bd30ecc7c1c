"""Tables in memory, as Arrow: frames of pandas and polars, Arrow tables, DuckDB relations.

The libraries' messages quote cells, so none of them leaves this file.  A column's type comes from
its declaration.  The type of a pandas column often depends on its values: one missing value turns
integers into floats, and one text turns them into objects.  So no type is inferred from cells:

- A column is converted at once only where its type alone says how, or all cells are text.
- Otherwise each cell is read by itself.  A key is the text that `mechanisms.items` makes of it, and
  one of which it makes none is missing.  A value is text, to which the options of `TableAs` for
  text apply, or else a float, a date as in 2024-02-29, or what it would be as a key.
- Both ways read each cell alike, whatever the others are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import FLOATS, plain
from safeselect.mechanisms.items import item
from safeselect.release.display import library
from safeselect.scores.columns import cells_of, hushed
from safeselect.tables.files import position, shown

_PANDAS = "pandas.DataFrame"
_LAZY = "polars.LazyFrame"
_RELATION = "duckdb.DuckDBPyRelation"
_NAMES = dict.fromkeys((_PANDAS, "polars.DataFrame", _RELATION), "columns")
_NAMES |= {_LAZY: "collect_schema", "pyarrow.Table": "column_names"}
_AT_ONCE = "u?int[0-9]+|(large_)?string|float|double|null"  # types of Arrow
_DAYS = rf"{_AT_ONCE}|date.*|timestamp\[[a-z]+\]"  # of timestamps those without a time zone
# Arrow has no integers of 128 bits; as texts they are the same keys, and the same values.  It has
# the others or not, as a setting of the relation's connection says.
_AS_TEXT = frozenset(("HUGEINT", "UHUGEINT", "Int128", "UInt128", "UUID", "JSON"))
_TEXTS = frozenset((str, type(None), float))  # NaN is missing
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
CELLS = "STRUCT(written VARCHAR, number DOUBLE, other VARCHAR)"
"""The SQL type of values of several kinds: text as it was written, floats, and others as text."""


def as_arrow(table: Any, columns: Sequence[str], *values: str, empty: bool = False) -> Any:
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
    kind = f"{type(table).__module__.partition('.')[0].lstrip('_')}.{type(table).__name__}"
    if kind not in _NAMES:
        raise ParameterError(
            "a table must be a file path, a list of paths, a pandas, polars or (for counts) Spark "
            "DataFrame, a pyarrow Table or a DuckDB relation such as connection.table('trips'), "
            f"got {type(table).__name__}"
        )
    arrow, found, converted = library("pyarrow"), None, None
    with hushed():  # any error may quote what a LazyFrame read
        named = getattr(table, _NAMES[kind])
        found = [*(named() if kind == _LAZY else named)]
    if found is None:
        raise InputError("the columns of the table cannot be determined")
    places = {name: position(found, name, "the table") for name in columns}
    if kind == _PANDAS and empty:
        return None
    with hushed():  # any error may quote cells
        if kind == _PANDAS:
            picked = {name: table.iloc[:, at].reset_index(drop=True) for name, at in places.items()}
            read = {name: _column(arrow, picked[name], name in values) for name in picked}
            converted = arrow.table(read)
        else:
            converted = _arrow(kind, table, [*places.values()], empty=empty)
    if converted is None:
        raise InputError(
            f"column {' or '.join(map(shown, places))} cannot be read; convert it to "
            'integers or strings, for example, in pandas, with df[COLUMN].astype("Int64")'
        )
    return converted


def is_stream(table: object) -> bool:
    """Whether the rows can be read once alone: those of a DuckDB relation."""
    return type(table).__name__ == _RELATION.partition(".")[2]


def _arrow(kind: str, table: Any, places: Sequence[int], *, empty: bool) -> Any:
    """Columns of a table that has declared types.

    By position: to DuckDB, names that differ in case are one; to polars, some names are patterns.
    """
    if kind == "pyarrow.Table":
        return table.select(places).slice(0, 0 if empty else None)
    if kind == _RELATION:
        texts = [str(each) in _AS_TEXT for each in table.types]
        cells = [f"CAST(#{n + 1} AS VARCHAR)" if texts[n] else f"#{n + 1}" for n in places]
        picked = table.project(", ".join(cells))
        picked = picked.limit(0) if empty else picked
        # The second is the older name of the first.
        return (getattr(picked, "to_arrow_reader", None) or picked.fetch_record_batch)()
    polars, types = library("polars"), table.collect_schema().dtypes()
    columns = {n: polars.nth(n) for n in places}
    columns |= {n: columns[n].cast(polars.String) for n in places if str(types[n]) in _AS_TEXT}
    picked = table.select([*columns.values()])
    picked = picked.head(0) if empty else picked
    return (picked.collect() if kind == _LAZY else picked).to_arrow()


def _column(arrow: Any, column: Any, is_value: bool) -> Any:
    """A column, or an index, of pandas: at once where its type alone says how, or cell by cell."""
    kind = column.dtype
    if hasattr(kind, "categories"):
        codes = column.array.codes
        return _column(arrow, kind.categories, is_value).take(arrow.array(codes, mask=codes < 0))
    sort = kind.kind if isinstance(kind, np.dtype) else None
    if is_value and sort == "M":
        return arrow.array(np.clip(np.asarray(column, "M8[D]"), _FIRST, _LAST))
    # Of other arrays Arrow would infer a type from the cells.
    is_declared = sort in ("i", "u", "f") or hasattr(column.array, "__arrow_array__")
    if is_declared or (sort == "O" and _TEXTS.issuperset(map(type, column.to_numpy()))):
        with hushed():  # a type that Arrow lacks; a number, or text that is no UTF-8
            found = arrow.array(column, None if is_declared else arrow.string(), from_pandas=True)
            if re.fullmatch(_DAYS if is_value else _AT_ONCE, str(found.type)):
                return found
    cells = cells_of(column)
    if not is_value:
        return arrow.array(map(_text, cells), arrow.string())
    parts = {"written": arrow.string(), "number": arrow.float64(), "other": arrow.string()}
    return arrow.array(map(_value, cells), arrow.struct(parts.items()))


def _value(cell: Any) -> dict[str, object]:
    """A cell of `CELLS`.

    Of a time it is the date in its own zone; where pandas has more years than Python, the first or
    the last of Python's.
    """
    kind = type(cell)
    with suppress(Exception):  # NaT; a class of its own may raise anything
        if issubclass(kind, FLOATS):
            return {"number": plain(cell)}
        if kind in (date, datetime):
            return {"other": date.isoformat(cell)}
        if issubclass(kind, date):
            cell = np.datetime64(f"{cell.year:05}-{cell.month:02}-{cell.day:02}")
        if issubclass(kind, (date, np.datetime64)):
            return {"other": str(min(max(cell.astype("M8[D]"), _FIRST), _LAST))}
    return {"written" if issubclass(kind, str) else "other": _text(cell)}


def _text(cell: Any) -> str | None:
    """The text of a cell; None where it is none, or none that a column of its kind could hold."""
    text = str(cell) if type(cell) is int and cell.bit_length() < 128 else item(cell)
    if text is None or text.encode("utf-8", "ignore").decode() != text:
        return None
    # As in SQL, where a float of 2**127 or more is no item.
    is_kept = len(text) < 39 or issubclass(type(cell), str) or Decimal(text).copy_abs() < 2**127
    return text if is_kept else None
