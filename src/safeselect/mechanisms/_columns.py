"""How scores and labels may be handed over: lists, arrays, and columns of other libraries.

Only types and shapes are looked at here, and whether there are nulls; no message quotes a cell, nor
is an error of another library, which may quote one, passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, ValuesView
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.errors import ParameterError, ScoreError

__all__ = ["INTEGERS", "RATIONALS", "as_column", "as_names", "refuse_types"]

INTEGERS = (int, type(gmpy2.mpz()), np.integer)
RATIONALS = (Fraction, type(gmpy2.mpq()))
_FLOATS = (np.float16, np.float32, np.float64)
_NUMBERS = (*INTEGERS, float, *_FLOATS, Decimal, *RATIONALS)
# Python's booleans are integers to `isinstance`, and so are NumPy's time spans.
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)
_ONE_COLUMN = (
    "scores must have one dimension, got {} with {}; pass one column, such as table['votes'], or "
    "one row; select_many takes many rows at once"
)
_WIDE = ("Int128", "UInt128")  # polars' integers for which NumPy has no type
_ENCODED = ("dictionary<", "run_end_encoded<")  # pyarrow's, whose nulls are not counted outside
_NULL = "scores must not contain nulls: decide what a missing score means before selecting"
_CONVERT = "convert them to integers first, such as {}"


def as_column(scores: object) -> np.ndarray[Any, Any] | Sequence[Any]:
    """The scores as a plain array of numbers, or as a list of numbers to be read one by one."""
    if isinstance(scores, (list, tuple)):
        return list(scores)
    if isinstance(scores, np.ndarray):
        if type(scores) not in (np.ndarray, np.memmap):
            raise ScoreError(
                f"scores must be a plain NumPy array, got {type(scores).__name__}; "
                "its subclass may change what the numbers mean"
            )
        array = np.asarray(scores)
    elif hasattr(scores, "__array__"):
        values = _convert(scores)
        if isinstance(values, list):
            return values
        array = values
    else:
        once = isinstance(scores, (Iterator, ValuesView))
        raise ScoreError(
            "scores must be a list, a tuple, a mapping, a NumPy array or a column of a table, "
            f"got {type(scores).__name__}{'; write list(scores)' if once else ''}"
        )
    if array.ndim != 1:
        raise ScoreError(_ONE_COLUMN.format(type(scores).__name__, array.ndim))
    if array.dtype.kind in "iu" or array.dtype.kind == "O":
        return list(array) if array.dtype.kind == "O" else array
    # By type, so that the byte order does not matter; and no text of a dtype: for strings it tells
    # how long the longest one is.
    if issubclass(array.dtype.type, _FLOATS):
        return array
    raise ScoreError(
        f"scores must be numbers, got an array of {array.dtype.type.__name__}; "
        + _CONVERT.format("scores.astype(int)")
    )


def _convert(column: Any) -> np.ndarray[Any, Any] | list[int]:
    """Another library's column as an array; that library's own errors may quote cells."""
    dimensions, nulls, values = 1, 0, None
    try:
        column = _only_column(column)
        dimensions = len(getattr(column, "shape", (0,)))
        if dimensions == 1:
            if str(getattr(column, "type", "")).startswith(_ENCODED):
                column = column.cast(column.type.value_type)
            # Counted before conversion, because converting turns nulls into NaN or into zeros.
            nulls = _count_nulls(column)
            values = _values(column) if not nulls else None
    except Exception:  # noqa: BLE001 - whatever it is, it is raised anew below, without a context
        dimensions = 1
    if dimensions != 1:
        raise ScoreError(_ONE_COLUMN.format(type(column).__name__, dimensions))
    if nulls:
        raise ScoreError(_NULL)
    if values is None:
        raise ScoreError(f"scores of type {type(column).__name__} cannot be read as an array")
    return values


def _only_column(table: Any) -> Any:
    """The column of a table that has just one; anything else as it is.

    A table of labels and scores is not taken apart: were the two mistaken for one another, private
    numbers would be released as labels.
    """
    shape: tuple[int, ...] = getattr(table, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return table
    if hasattr(table, "iloc"):  # pandas
        return table.iloc[:, 0]
    return table.to_series(0) if hasattr(table, "to_series") else table.column(0)


def _values(column: Any) -> np.ndarray[Any, Any] | list[int]:
    """The cells, as the column's declared type says: wide integers and decimals without places,
    which is how engines add up integers, are integers.
    """
    kind = getattr(column, "type", getattr(column, "dtype", None))
    if str(kind) in _WIDE:
        return list(column.to_list())
    array = np.asarray(column)
    if getattr(getattr(kind, "pyarrow_dtype", kind), "scale", None) == 0:
        return [int(value) for value in array]
    return array


def _count_nulls(column: Any) -> int:
    nulls = getattr(column, "null_count", None)
    if nulls is None:
        is_null = getattr(column, "isna", None)
        return 0 if is_null is None else int(is_null().sum())
    return int(nulls() if callable(nulls) else nulls)


def as_names(labels: Iterable[Any], parameter: str = "labels") -> list[Any]:
    """Public labels as plain Python objects, also from arrays and from columns of any encoding.

    Raises:
        ParameterError: a column with nulls.
    """
    read = None
    if len(getattr(labels, "shape", (0,))) == 1:
        ways = (getattr(labels, name, None) for name in ("to_pylist", "to_list", "tolist"))
        read = next((way for way in ways if callable(way)), None)
    if read is None:
        return list(labels)
    with suppress(NotImplementedError):  # of labels that are tuples nothing is ever null
        if _count_nulls(labels):
            raise ParameterError(f"{parameter} must not contain nulls: every one needs a name")
    return list(read())


def refuse_types(kinds: set[type]) -> None:
    if type(None) in kinds:
        raise ScoreError(_NULL)
    wrong = sorted(
        kind.__name__
        for kind in kinds
        if issubclass(kind, _NO_NUMBERS) or not issubclass(kind, _NUMBERS)
    )
    if wrong:
        rows = all(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds)
        instead = (
            "pass one row of numbers; select_many takes many rows at once"
            if rows
            else _CONVERT.format("[int(score) for score in scores]")
        )
        raise ScoreError(f"scores must be numbers, got {', '.join(wrong[:3])}; {instead}")
