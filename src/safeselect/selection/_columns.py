"""How scores and labels may be handed over: lists, arrays, and columns of other libraries.

In two looks, between which a ledger is charged.  `hand_over` knows containers by their class and
asks how many scores there are, nothing else.  `numbers` looks at types and values.  No message
quotes a cell, nor is an error of another library, which may quote one, passed on.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np

from safeselect.errors import ParameterError, ScoreError
from safeselect.selection._numbers import CONVERT, FLOATS, NULL, is_integer
from safeselect.selection.counts import Counts

__all__ = [
    "ARRAYS",
    "Column",
    "Unread",
    "as_names",
    "hand_over",
    "is_table",
    "pairs",
    "subclass_refused",
]

# Only of these exact classes is the length asked for before a charge: it is theirs, and no code of
# anybody else runs.
_LISTS = (list, tuple)
_MAPPINGS = (dict, Counter, OrderedDict, defaultdict)
ARRAYS = (np.ndarray, np.memmap)
# Classes of other libraries whose rows are there already; subclasses that a user defined are not.
_TABLES = {
    "pandas": ("Series", "DataFrame", "Index", "api.extensions.ExtensionArray"),
    "polars": ("Series", "DataFrame"),
    "pyarrow": ("Array", "ChunkedArray", "Table", "RecordBatch"),
}
_LAZY = ("LazyFrame",)
_ONE_COLUMN = (
    "scores must have one dimension, got {} with {}; pass one column, such as table['votes'], or "
    "one row; select_many takes many rows at once"
)
_WIDE = ("Int128", "UInt128")  # polars' integers for which NumPy has no type
_ENCODED = ("dictionary<", "run_end_encoded<")  # pyarrow's, whose nulls are not counted outside


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Unread:
    """Scores or counts of a table that is open, of which nothing was read yet; its repr is silent.

    Attributes:
        size: how many scores there are, or how many of the largest counts are asked for: public.
        read: fetches them; called once, when the call is charged.  For counts of an unknown domain
            it returns a mapping label -> count, otherwise a list of scores.
        labels: what they are called, all of it public; as the keys of a mapping are.
    """

    size: int
    read: Callable[[], Any]
    labels: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.size} numbers not read yet>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Column:
    """Scores that were handed over, of which only the number was looked at; its repr is silent.

    Attributes:
        held: a list, a plain array of one dimension, a column of another library, or numbers that
            are not read yet.
        size: how many scores there are.
    """

    held: Any
    size: int

    def __repr__(self) -> str:
        return f"<column of {self.size} scores>"

    def numbers(self) -> np.ndarray[Any, Any] | Sequence[Any]:
        """The scores as a plain array of integers or floats, or as numbers to be read one by one.

        Raises:
            ScoreError: nulls, or a type that is no number.
        """
        held = self.held.read() if type(self.held) is Unread else self.held
        if isinstance(held, np.ndarray):
            values: np.ndarray[Any, Any] | Sequence[Any] = np.asarray(held)
        else:
            values = tuple(held) if type(held) in _LISTS else _convert(held)
        if isinstance(values, np.ndarray) and values.ndim != 1:  # a column of arrays
            raise ScoreError(_ONE_COLUMN.format(type(held).__name__, values.ndim))
        if len(values) != self.size:
            raise ScoreError("the scores changed their number while they were read")
        return _plain(values, type(held).__name__)


def hand_over(scores: object) -> Column:
    """Take scores of a class that is known, and ask how many there are.

    Raises:
        ScoreError: another class, or not one dimension.
    """
    kind = type(scores)
    if kind is Unread:
        return Column(scores, cast("Unread", scores).size)
    if kind in _LISTS:
        return Column(scores, len(scores))  # type: ignore[arg-type]  # one of those classes
    if kind in ARRAYS:
        array: np.ndarray[Any, Any] = scores  # type: ignore[assignment]  # the same
        if array.ndim != 1:
            raise ScoreError(_ONE_COLUMN.format(kind.__name__, array.ndim))
        return Column(array, len(array))
    subclass_refused(kind)
    if not is_table(kind):
        instead = "write list(scores)" if issubclass(kind, (Iterator, ValuesView)) else ""
        instead = "write scores.collect()" if kind.__name__ in _LAZY else instead
        if issubclass(kind, (list, tuple, Mapping)):
            plain = "dict" if issubclass(kind, Mapping) else "list"
            instead = f"a subclass may count as it likes: write {plain}(scores)"
        elif hasattr(kind, "__array__") and not issubclass(kind, np.generic):
            instead = "write numpy.asarray(scores)"
        raise ScoreError(
            "scores must be a list, a tuple, a dict, a NumPy array or a column of pandas, polars "
            f"or Arrow, got {kind.__name__}{'; ' * bool(instead)}{instead}"
        )
    column = _only_column(scores)
    shape: tuple[int, ...] = getattr(column, "shape", (0,))
    if len(shape) != 1:
        raise ScoreError(_ONE_COLUMN.format(type(column).__name__, len(shape)))
    return Column(column, len(column))


def subclass_refused(kind: type) -> None:
    """Refuse subclasses of NumPy's arrays, such as masked ones.

    By the class alone: isinstance asks the object, which could run code of its own.

    Raises:
        ScoreError: it is one of them.
    """
    if issubclass(kind, np.ndarray) and kind not in ARRAYS:
        raise ScoreError(
            f"scores must be a plain NumPy array, got {kind.__name__}; "
            "its subclass may change what the numbers mean"
        )


def pairs(scores: object) -> tuple[list[Any], list[Any] | Unread] | None:
    """The keys and the values of a mapping, which belong together; None for anything else."""
    if type(scores) is Unread and scores.labels is not None:
        return list(scores.labels), Unread(scores.size, scores.read)
    mapping: Any = dict(scores.counts) if type(scores) is Counts else scores
    if type(mapping) not in _MAPPINGS:
        return None
    items: list[tuple[Any, Any]] = list(dict.items(mapping))
    return [key for key, _ in items], [value for _, value in items]


def is_table(kind: type) -> bool:
    """Whether this is a class of tables or columns of pandas, polars or Arrow, or extends one."""
    home = str(kind.__module__).partition(".")[0]
    # Whoever hands over a table has imported its library; this package never does.
    library = sys.modules.get(home)
    if library is None or home not in _TABLES:
        return False
    classes = []
    for name in _TABLES[home]:
        found: Any = library
        for part in name.split("."):
            found = getattr(found, part, None)
        classes += [found] if isinstance(found, type) else []
    return issubclass(kind, tuple(classes))


def _plain(
    values: np.ndarray[Any, Any] | Sequence[Any], name: str
) -> np.ndarray[Any, Any] | Sequence[Any]:
    """Numbers in the form in which they are read fastest; nothing is changed by it."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        values = tuple(values)
    if not isinstance(values, np.ndarray):
        packed = _packed(tuple(values))  # a tuple is itself
        return values if packed is None else packed
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    # By type, so that the byte order does not matter; and no text of a dtype: for strings it tells
    # how long the longest one is.
    if issubclass(values.dtype.type, FLOATS):
        return values.astype(np.float64)  # every narrower float is one of these
    raise ScoreError(
        f"scores must be numbers, got {name} of {values.dtype.type.__name__}; "
        + CONVERT.format("scores.astype(int)")
    )


def _packed(values: tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """Integers of 64 bits, or floats, as an array; None for any other numbers."""
    try:
        # Checks the size of each, unlike NumPy, to which [2**63, -1] are floats.
        words = struct.Struct(f"{len(values)}q").pack(*values)
        # Whatever has an index was packed.  Integers of other classes than Python's own add up to
        # something of their own class: a third of the time that looking at each class takes.
        plain = type(sum(values)) is int
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - of whatever stands in the list: its class is looked at below
        words, plain = b"", False
    if not plain:
        kinds = set(map(type, values))
        if kinds.issubset(FLOATS):
            return np.array(values, dtype=np.float64)
        if not words or not all(map(is_integer, kinds)):
            return None
    return np.frombuffer(words, dtype=np.int64)


def _convert(column: Any) -> np.ndarray[Any, Any] | list[Any]:
    """Another library's column as an array; that library's own errors may quote cells."""
    nulls, values = 0, None
    try:
        if str(getattr(column, "type", "")).startswith(_ENCODED):
            column = column.cast(column.type.value_type)
        # Counted before conversion, because converting turns nulls into NaN or into zeros.
        nulls = _count_nulls(column)
        values = _values(column) if not nulls else None
    except Exception:  # noqa: BLE001, S110 - whatever it is, ours is raised below, without a context
        pass
    if nulls:
        raise ScoreError(NULL)
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
    """The cells: integers for which NumPy has no type as Python's."""
    if str(getattr(column, "dtype", None)) in _WIDE:
        return list(column.to_list())
    return np.asarray(column)


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
