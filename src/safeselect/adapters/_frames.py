"""Tables in memory, as Arrow: frames of pandas and polars, Arrow tables, DuckDB relations.

Their own messages quote cells, so none of them leaves this file.  A column's type comes from its
declaration; where that says nothing (pandas' `object`) it must hold strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from safeselect.adapters._files import identifier, position, shown
from safeselect.errors import InputError, ParameterError

__all__ = ["as_arrow"]

_PLACE = "the table"


def as_arrow(table: object, columns: Sequence[str]) -> Any:
    """The columns of a table in memory, in a form that DuckDB reads without looking at values.

    Args:
        table: a pandas or polars DataFrame, a pyarrow Table, or a DuckDB relation, such as
            `connection.table("trips")`.

    Raises:
        InputError: no pyarrow, no such column, or a column that Arrow cannot hold.
        ParameterError: another type.
    """
    kind = f"{type(table).__module__.partition('.')[0].lstrip('_')}.{type(table).__name__}"
    convert = _CONVERTERS.get(kind)
    if convert is None:
        raise ParameterError(
            "a table must be the path of a file, a pandas or polars DataFrame, a pyarrow Table or "
            f"a DuckDB relation, got {type(table).__name__}"
        )
    arrow = _import_arrow()
    names = [*getattr(table, "column_names" if kind == "pyarrow.Table" else "columns")]
    places = [position(names, name, _PLACE) for name in dict.fromkeys(columns)]
    converted = None
    try:
        converted = convert(arrow, table, places)
    except Exception:  # noqa: BLE001 - whatever it is, it may hold cells
        converted = None
    if converted is None:
        quoted = " or ".join(shown(name) for name in dict.fromkeys(columns))
        raise InputError(
            f"column {quoted} cannot be read: keys are integers or strings, all of one kind"
        )
    return converted


def _from_pandas(arrow: Any, table: Any, places: list[int]) -> Any:
    found = {}
    for place in places:
        column = table.iloc[:, place]
        # Nothing is asked of the values of an `object` column but that they be strings.  An empty
        # column has whatever type pandas found for no values.
        text = column.dtype == object or not len(column)
        values = column.astype(object) if text else column
        kind = arrow.string() if text else None
        found[table.columns[place]] = arrow.array(values, type=kind, from_pandas=True)
    return arrow.table(found)


def _from_polars(arrow: Any, table: Any, places: list[int]) -> Any:
    return _from_arrow(arrow, table[:, places].to_arrow(), list(range(len(places))))


def _from_arrow(arrow: Any, table: Any, places: list[int]) -> Any:
    found = table.select(places)
    if not len(found):
        return arrow.table({name: arrow.array([], arrow.string()) for name in found.column_names})
    return found


def _from_relation(arrow: Any, table: Any, places: list[int]) -> Any:
    del arrow  # which DuckDB imports itself
    wanted = table.project(", ".join(identifier(table.columns[place]) for place in places))
    # The second is the older name of the first.
    read: Callable[[], Any] | None = getattr(wanted, "to_arrow_reader", None)
    return read() if read is not None else wanted.fetch_record_batch()


_CONVERTERS: dict[str, Callable[[Any, Any, list[int]], Any]] = {
    "pandas.DataFrame": _from_pandas,
    "polars.DataFrame": _from_polars,
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
