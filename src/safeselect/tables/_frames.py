"""Tables in memory, as Arrow: frames of pandas and polars, Arrow tables, DuckDB relations.

The libraries' messages quote cells, so none of them leaves this file.  A column's type comes from
its declaration.  The type of a pandas column often depends on its values: one missing value turns
integers into floats, and one text turns them into objects.  So keys of several kinds are the texts
that `unknown_domain._items` makes of them, each by itself, and one of which it makes none is
missing.  Values without a declared type must be strings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from safeselect.errors import InputError, ParameterError
from safeselect.mechanisms.items import item
from safeselect.scores.columns import hushed
from safeselect.tables._files import identifier, position, shown

_PLACE = "the table"


def without_rows(table: object, columns: Sequence[str]) -> Any:
    """Return the types of columns of a table in memory, without looking at any row.

    Args:
        table: a pandas or polars DataFrame, a pyarrow Table, or a DuckDB relation, such as
            `connection.table("trips")`.

    Returns:
        An Arrow table without rows; None if the types depend on values.

    Raises:
        InputError: there is no pyarrow, or no such column.
        ParameterError: the table has another type.
    """
    kind, places = _located(table, columns)
    return None if kind == _PANDAS else _converted(_EMPTIED[kind], table, places, columns)


def as_arrow(table: object, columns: Sequence[str], *values: str) -> Any:
    """Return columns of a table in memory in a form that DuckDB reads by declared types.

    Args:
        table: as for `without_rows`.
        values: which of the columns hold values, and not keys.

    Raises:
        InputError: as for `without_rows`; or Arrow cannot hold a column.
        ParameterError: the table has another type.
    """
    kind, places = _located(table, columns)
    convert = partial(_from_pandas, values) if kind == _PANDAS else _CONVERTERS[kind]
    return _converted(convert, table, places, columns)


def _located(table: object, columns: Sequence[str]) -> tuple[str, list[int]]:
    """Return the table's kind, and the positions of its columns."""
    kind = f"{type(table).__module__.partition('.')[0].lstrip('_')}.{type(table).__name__}"
    if kind == "duckdb.DuckDBPyConnection":
        raise ParameterError(
            "a DuckDB connection may have many tables: write connection.table('trips') or "
            "connection.sql('SELECT ...')"
        )
    if kind not in _CONVERTERS:
        raise ParameterError(
            "a table must be the path of a file, several paths, a pandas or polars DataFrame, "
            f"a polars LazyFrame, a pyarrow Table or a DuckDB relation, got {type(table).__name__}"
        )
    names = _names(kind, table)
    return kind, [position(names, name, _PLACE) for name in dict.fromkeys(columns)]


def _names(kind: str, table: Any) -> list[str]:
    if kind != _LAZY:
        return [*getattr(table, "column_names" if kind == "pyarrow.Table" else "columns")]
    names = None
    with hushed():  # any error may quote what it read
        names = table.collect_schema().names()
    if names is None:
        raise InputError("the columns of the LazyFrame cannot be found out")
    return [*names]


def _converted(
    convert: Callable[[Any, Any, list[int]], Any],
    table: object,
    places: list[int],
    columns: Sequence[str],
) -> Any:
    arrow, converted = _import_arrow(), None
    with hushed():  # any error may quote cells
        converted = convert(arrow, table, places)
    if converted is None:
        quoted = " or ".join(shown(name) for name in dict.fromkeys(columns))
        raise InputError(
            f"column {quoted} cannot be read: keys are integers or strings, all of one kind; write "
            'for example df["rider"].astype("Int64") or .astype("string"), also for values that '
            "are decimals or dates in a column of objects"
        )
    return converted


def _from_pandas(values: Collection[str], arrow: Any, table: Any, places: list[int]) -> Any:
    found = {}
    for place in places:
        column, name = table.iloc[:, place], table.columns[place]
        if name not in values and len(column):
            found[name] = _keys_of(arrow, column)
            continue
        # Of an `object` column they must be strings.  The type of an empty one means nothing.
        text = column.dtype == object or not len(column)
        cells = column.astype(object) if text else column
        found[name] = arrow.array(cells, type=arrow.string() if text else None, from_pandas=True)
    return arrow.table(found)


def _keys_of(arrow: Any, column: Any) -> Any:
    """The keys of a pandas column: texts or numbers at once, or else cell by cell as texts."""
    with hushed():  # cells of several kinds
        found, kinds = arrow.array(column, from_pandas=True), arrow.types
        kind = found.type.value_type if kinds.is_dictionary(found.type) else found.type
        if str(kind) in _READ_AT_ONCE or kinds.is_integer(kind):
            return found
    return arrow.array([_text(cell) for cell in column.astype(object)], arrow.string())


def _text(cell: Any) -> str | None:
    """The text of a cell; None where it is none, or none that a column of its kind could hold."""
    text = item(cell)
    if text is None or text.encode("utf-8", "ignore").decode() != text:
        return None
    whole = text.partition(".")[0].lstrip("-")
    # As in SQL, where a float of 2**127 or more is no item.
    is_in_reach = isinstance(cell, str) or (len(whole), whole) < (39, str(2**127))
    return text if is_in_reach else None


def _from_polars(arrow: Any, table: Any, places: list[int]) -> Any:
    return _from_arrow(arrow, table[:, places].to_arrow(), list(range(len(places))))


def _from_lazy(arrow: Any, table: Any, places: list[int]) -> Any:
    return _from_arrow(arrow, _lazy(table, places).collect().to_arrow(), list(range(len(places))))


def _lazy(table: Any, places: list[int]) -> Any:
    names = table.collect_schema().names()
    return table.select([names[place] for place in places])


def _from_arrow(arrow: Any, table: Any, places: list[int]) -> Any:
    found = table.select(places)
    if not len(found):
        return arrow.table({name: arrow.array([], arrow.string()) for name in found.column_names})
    return found


def _from_relation(arrow: Any, table: Any, places: list[int]) -> Any:
    del arrow  # DuckDB imports it itself
    return _reader(_projected(table, places))


def _projected(table: Any, places: list[int]) -> Any:
    return table.project(", ".join(identifier(table.columns[place]) for place in places))


def _reader(relation: Any) -> Any:
    # The second is the older name of the first.
    read: Callable[[], Any] | None = getattr(relation, "to_arrow_reader", None)
    return read() if read is not None else relation.fetch_record_batch()


_READ_AT_ONCE = frozenset(("string", "large_string", "bool", "float", "double", "null"))
_PANDAS = "pandas.DataFrame"
_LAZY = "polars.LazyFrame"
_EMPTIED: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    "polars.DataFrame": lambda _, table, places: table[:, places].clear().to_arrow(),
    _LAZY: lambda _, table, places: _lazy(table, places).head(0).collect().to_arrow(),
    "pyarrow.Table": lambda _, table, places: table.select(places).slice(0, 0),
    "duckdb.DuckDBPyRelation": lambda _, table, places: _reader(_projected(table, places).limit(0)),
}
_CONVERTERS: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    _PANDAS: partial(_from_pandas, ()),
    "polars.DataFrame": _from_polars,
    _LAZY: _from_lazy,
    "pyarrow.Table": _from_arrow,
    "duckdb.DuckDBPyRelation": _from_relation,
}


def _import_arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            "reading tables in memory needs pyarrow: install it with pip install pyarrow"
        ) from None
    return pyarrow
