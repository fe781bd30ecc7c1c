"""Columns of pandas, polars and Arrow: which classes are known, and how their cells are read.

Nothing here runs for lists, mappings and NumPy arrays.  An error of another library may quote a
cell, so none is passed on.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Any

import numpy as np

from safeselect.errors import ParameterError, ScoreError, from_outside
from safeselect.scores.numbers import NULL, Numbers

# Classes of other libraries that hold their rows in memory.  A user's subclass of one is not read.
_TABLES = {
    "pandas": ("Series", "DataFrame", "Index", "api.extensions.ExtensionArray"),
    "polars": ("Series", "DataFrame"),
    "pyarrow": ("Array", "ChunkedArray", "Table", "RecordBatch"),
}
_TEXTS = (str, bytes, bytearray)
# Types that NumPy lacks: polars' wide integers, and pyarrow's codes, whose null_count misses nulls.
_LISTED = ("Int128", "UInt128", "dictionary<", "run_end_encoded<")


def column_of(scores: Any) -> Any:
    """Return a column of another library, or the only column of a table.

    Raises:
        ScoreError: the class is not one of the columns or tables above.
    """
    kind = type(scores)
    if not _is_table(kind):
        raise ScoreError(
            "scores must be a list, tuple, dict, plain NumPy array or data frame column, got "
            f"{kind.__name__}{_instead(kind)}"
        )
    return _only_column(scores)


def _is_table(kind: type) -> bool:
    """Whether pandas, polars or Arrow defines this class of tables or columns."""
    home = str(kind.__module__).partition(".")[0]
    # A caller that passes a table has imported its library; this package never imports it.
    library: Any = sys.modules.get(home)
    if library is None or home not in _TABLES:
        return False
    classes = [
        reduce(lambda found, part: getattr(found, part, None), name.split("."), library)
        for name in _TABLES[home]
    ]
    return issubclass(kind, tuple(each for each in classes if isinstance(each, type)))


@contextmanager
def hushed() -> Iterator[None]:
    """Suppress the errors of another library; what comes from outside, as an interrupt, goes on."""
    try:
        yield
    except BaseException as error:
        if from_outside(error):
            raise


def index_of(scores: Any) -> Any:
    """Return the index of a pandas column or table; None for everything else."""
    kind = type(scores)
    return scores.index if _is_table(kind) and hasattr(kind, "iloc") else None


def _instead(kind: type) -> str:
    """Advice on what to write instead of a class that is not read, after a semicolon."""
    if any(kind is each for each in (dict, Counter, OrderedDict, defaultdict)):
        # Only where names have no use, as for the values of a session.
        return "; pass list(scores.values())"
    if issubclass(kind, (list, tuple, Mapping)):
        builtin = "dict" if issubclass(kind, Mapping) else "list"
        return f"; a subclass can behave differently: use {builtin}(scores)"
    if issubclass(kind, np.ndarray):  # such as a masked one
        return "; a subclass of numpy.ndarray can change the meaning of the numbers"
    if hasattr(kind, "__array__") and not issubclass(kind, np.generic):
        return "; pass numpy.asarray(scores)"
    if kind.__name__ == "LazyFrame":
        return "; pass scores.collect()"
    is_listed = issubclass(kind, (Iterator, ValuesView, Sequence)) and not issubclass(kind, _TEXTS)
    return "; pass list(scores)" if is_listed else ""


def _only_column(table: Any) -> Any:
    """Return the column of a table that has one column; return anything else unchanged.

    A table of labels and scores is not taken apart: mistaking one for the other would release
    private numbers as labels.
    """
    shape: tuple[int, ...] = getattr(table, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return table
    if hasattr(table, "iloc"):  # pandas
        return table.iloc[:, 0]
    return table.to_series(0) if hasattr(table, "to_series") else table.column(0)


def numbers_of(column: Any) -> Numbers:
    """Convert a column to an array, or to Python's integers where NumPy has no such type."""
    nulls = 0
    values: Numbers | None = None
    with hushed():  # any error becomes ours below, without a context
        kind = getattr(column, "dtype", getattr(column, "type", None))
        if str(kind).startswith(_LISTED):
            values = list(_lister(column)())
            nulls = sum(cell is None or cell is getattr(kind, "na_value", None) for cell in values)
        else:
            # Counted before conversion, because converting turns nulls into NaN or into zeros.
            nulls = _count_nulls(column)
            # A sparse column of pandas has the type of its cells as `subtype`; without it, the type
            # of the fill value decides too, and unsigned integers become floats.
            cells = getattr(kind, "subtype", None)
            values = None if nulls else np.asarray(column, cells)
    if nulls:
        raise ScoreError(NULL)
    if values is None:
        raise ScoreError(f"scores of type {type(column).__name__} cannot be read as an array")
    return values


def _lister(column: Any) -> Any:
    """The method that returns a column's cells as Python objects, or None."""
    ways = (getattr(column, name, None) for name in ("to_pylist", "to_list", "tolist"))
    return next((way for way in ways if callable(way)), None)


def _count_nulls(column: Any) -> int:
    """Count the missing cells of another library's column."""
    nulls = getattr(column, "null_count", None)
    if nulls is None:
        is_null = getattr(column, "isna", None)
        return 0 if is_null is None else int(is_null().sum())
    return int(nulls() if callable(nulls) else nulls)


def index_labels(scores: Any) -> Any:
    """Return the index of a pandas column as labels, unless it is RangeIndex(0, n, 1).

    Pandas makes that index where nobody named the rows.  The index's type and parameters decide
    this, never its values.
    """
    index = index_of(scores)
    if type(index).__name__ != "RangeIndex":
        return index
    is_default = (index.start, index.stop, index.step) == (0, len(scores), 1)
    return None if is_default else index


def names_of(labels: Iterable[Any], parameter: str = "labels") -> list[Any]:
    """Return public labels as plain Python objects; they may be an array or a column.

    Raises:
        ParameterError: a column with nulls.
    """
    read = _lister(labels) if len(getattr(labels, "shape", (0,))) == 1 else None
    if read is None:
        return list(labels)
    with suppress(NotImplementedError):  # labels that are tuples are never null
        if _count_nulls(labels):
            raise ParameterError(f"{parameter} must not contain nulls")
    return list(read())


def cells_of(column: Any) -> Sequence[object]:
    """Return private cells of one column as Python objects, None for one that cannot be read."""
    kind = getattr(column, "dtype", None)
    if isinstance(column, np.ndarray):
        # NumPy turns spans and fine times into integers; each is read as what it is.
        cells: list[object] = list(column) if column.dtype.kind in "mM" else column.tolist()
        return cells
    is_temporal = getattr(kind, "is_temporal", bool)()
    # polars panics at dates that Python lacks, and tells standard error of it.
    if is_temporal or getattr(kind, "is_nested", bool)():
        with hushed():
            if is_temporal:
                return list(column.dt.date().to_numpy())
        return [None] * len(column)
    read = _lister(column)
    if read is None:
        return list(column)
    whole: list[object] = []
    is_read = False
    with hushed():  # another library's error may quote a cell
        whole, is_read = list(read()), True
    if not is_read:
        whole = [None] * len(column)
        for place in range(len(whole)):
            with hushed():
                cell = column[place]
                whole[place] = cell.as_py() if hasattr(cell, "as_py") else cell
    return whole
