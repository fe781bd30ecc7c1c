"""Questions to DuckDB, whose messages quote cells: none of them leaves this file."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from safeselect.errors import InputError

BROKEN = "safeselect: not whole"
_NOT_WHOLE = (
    "a column of keys holds floating-point numbers that are not whole: keys are integers or "
    'strings; write for example df["rider"].astype("Int64"), or astype(str) for other numbers'
)


def run(
    connection: Any,
    sql: str,
    parameters: tuple[object, ...],
    failure: str,
    unfit: str | None = None,
) -> list[tuple[Any, ...]]:
    """Run one statement and return all rows, or raise one sentence of ours."""
    rows: list[tuple[Any, ...]] = ask(
        lambda: connection.execute(sql, list(parameters)).fetchall(), failure, unfit
    )
    return rows


def ask(question: Callable[[], Any], failure: str, unfit: str | None = None) -> Any:
    """Return DuckDB's answer, or raise one sentence of ours: `unfit` of a cell of another type."""
    duckdb = import_duckdb()
    answer = None
    interrupted = exhausted = broken = False
    try:
        answer = question()
    except Exception as error:  # noqa: BLE001 - any error may quote cells
        interrupted = str(error) == "Query interrupted"  # how DuckDB reports Ctrl-C
        broken = BROKEN in str(error) and BROKEN not in failure
        exhausted = isinstance(error, (duckdb.OutOfMemoryException, MemoryError))
        if unfit is not None and isinstance(error, duckdb.ConversionException):
            failure = unfit
    if interrupted:
        raise KeyboardInterrupt
    if exhausted:
        raise InputError("DuckDB ran out of memory or of disk space while reading the table")
    if broken:
        raise InputError(_NOT_WHOLE)
    if answer is None:
        raise InputError(failure)
    return answer


def import_duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "reading tables needs DuckDB: install it with pip install 'safeselect[tables]'"
        ) from None
    module: ModuleType = duckdb
    return module
