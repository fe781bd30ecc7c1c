"""How scores may be handed over: lists, arrays, and columns of other libraries.

In two looks, between which a ledger is charged.  `hand_over` knows containers by their class and
asks how many scores there are, nothing else.  `Column.numbers` looks at types and values.  No
message quotes a cell, nor is an error of another library, which may quote one, passed on.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar, cast, final

import numpy as np

from safeselect.errors import ScoreError
from safeselect.scores.numbers import CONVERT, FLOATS, NULL, Numbers, is_integer

__all__ = [
    "ARRAYS",
    "LISTS",
    "Column",
    "Unread",
    "check_known",
    "count_nulls",
    "hand_over",
    "index_of",
    "own_counts",
    "pairs",
    "subclass_refused",
]

# Only of these exact classes is the length asked for before a charge: it is theirs, and no code of
# anybody else runs.  By identity: a class may say that it is equal to another.
LISTS = frozenset(map(id, (list, tuple)))
_MAPPINGS = frozenset(map(id, (dict, Counter, OrderedDict, defaultdict)))
ARRAYS = frozenset(map(id, (np.ndarray, np.memmap)))
_OWN_COUNTS: set[int] = set()
# Classes of other libraries whose rows are there already; subclasses that a user defined are not.
_TABLES = {
    "pandas": ("Series", "DataFrame", "Index", "api.extensions.ExtensionArray"),
    "polars": ("Series", "DataFrame"),
    "pyarrow": ("Array", "ChunkedArray", "Table", "RecordBatch"),
}
_WIDE = ("Int128", "UInt128")  # polars' integers for which NumPy has no type
_ENCODED = ("dictionary<", "run_end_encoded<")  # pyarrow's, whose nulls are not counted outside
_ONE_COLUMN = (
    "scores must have one dimension, got {} with {}; pass one column, such as table['votes'], or "
    "one row; select_many takes many rows at once"
)

_Kind = TypeVar("_Kind")


def own_counts(kind: type[_Kind]) -> type[_Kind]:
    """Class decorator of this package's own mappings of counts, which say what they are.

    Objects of exactly such a class have private `counts`, label -> count, and a method
    `check_known`, which looks at nothing private.  What another class has by these names is never
    asked for.
    """
    _OWN_COUNTS.add(id(kind))
    return kind


def check_known(
    scores: object, *, sensitivity: Fraction | None, range_: Fraction | None, unit: str | None
) -> None:
    """Refuse counts of a table that a mechanism for a known domain cannot use; the rest passes.

    Raises:
        ParameterError: only the largest counts, a change below 1, or another unit.
    """
    if id(type(scores)) in _OWN_COUNTS:
        cast("Any", scores).check_known(sensitivity=sensitivity, range_=range_, unit=unit)


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Unread:
    """Scores or counts of a table that is open, of which nothing was read yet; its repr is silent.

    Attributes:
        size: how many scores there are, or how many of the largest counts are asked for: public.
        read: fetches them; called once, when the call is charged.  For counts of an unknown domain
            it returns a mapping label -> count, otherwise scores: a list, or an array that the
            call may overwrite.
        labels: what they are called, all of it public; as the keys of a mapping are.
    """

    size: int
    read: Callable[[], Any]
    labels: tuple[str, ...] | None = None


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

    def numbers(self) -> Numbers:
        """The scores as a plain array of integers or floats, or as numbers to be read one by one.

        Raises:
            ScoreError: nulls, or a type that is no number.
        """
        held = self.held.read() if type(self.held) is Unread else self.held
        name = type(held).__name__
        if isinstance(held, np.ndarray):
            values: Numbers = np.asarray(held)
        else:
            values = tuple(held) if id(type(held)) in LISTS else _convert(held)
        if isinstance(values, np.ndarray) and values.ndim != 1:  # a column of arrays
            raise ScoreError(_ONE_COLUMN.format(name, values.ndim))
        if len(values) != self.size:
            raise ScoreError("the scores changed their number while they were read")
        if not isinstance(values, np.ndarray) or values.dtype.kind == "O":
            cells = tuple(values)  # a tuple is itself
            packed = _packed(cells)
            return cells if packed is None else packed
        if values.dtype.kind in "iu":
            return values
        if values.dtype.kind == "b":
            return values.astype(np.uint8)
        # By type, so that the byte order does not matter; and no text of a dtype: for strings it
        # tells how long the longest one is.
        if issubclass(values.dtype.type, FLOATS):
            return values.astype(np.float64)  # every narrower float is one of these
        cell = values.dtype.type.__name__
        raise ScoreError(CONVERT.format(f"{name} of {cell}", "scores.astype(int)"))


def hand_over(scores: object) -> Column:
    """Take scores of a class that is known, and ask how many there are.

    Raises:
        ScoreError: another class, or not one dimension.
    """
    kind = type(scores)
    column: Any = scores
    if kind is Unread:
        return Column(column, column.size)
    if id(kind) in LISTS:
        return Column(column, len(column))
    subclass_refused(kind)
    if id(kind) not in ARRAYS:
        if not is_table(kind):
            raise ScoreError(
                "scores must be a list, a tuple, a dict, a NumPy array or a column of pandas, "
                f"polars or Arrow, got {kind.__name__}{_instead(kind)}"
            )
        column = _only_column(column)
    dimensions = len(getattr(column, "shape", (0,)))
    if dimensions != 1:
        raise ScoreError(_ONE_COLUMN.format(type(column).__name__, dimensions))
    return Column(column, len(column))


def subclass_refused(kind: type) -> None:
    """Refuse subclasses of NumPy's arrays, such as masked ones.

    By the class alone: isinstance asks the object, which could run code of its own.

    Raises:
        ScoreError: it is one of them.
    """
    if issubclass(kind, np.ndarray) and id(kind) not in ARRAYS:
        raise ScoreError(
            f"scores must be a plain NumPy array, got {kind.__name__}; "
            "its subclass may change what the numbers mean"
        )


def pairs(scores: object) -> tuple[list[Any], list[Any] | Unread] | None:
    """The keys and the values of a mapping, which belong together; None for anything else."""
    if type(scores) is Unread and scores.labels is not None:
        return list(scores.labels), Unread(scores.size, scores.read)
    mapping: Any = scores
    if id(type(scores)) in _OWN_COUNTS:
        mapping = dict(mapping.counts)
    if id(type(mapping)) not in _MAPPINGS:
        return None
    items: list[tuple[Any, Any]] = list(dict.items(mapping))
    return [key for key, _ in items], [value for _, value in items]


def is_table(kind: type) -> bool:
    """Whether this is a class of tables or columns of pandas, polars or Arrow, or extends one."""
    home = str(kind.__module__).partition(".")[0]
    # Whoever hands over a table has imported its library; this package never does.
    library: Any = sys.modules.get(home)
    if library is None or home not in _TABLES:
        return False
    classes = [
        reduce(lambda found, part: getattr(found, part, None), name.split("."), library)
        for name in _TABLES[home]
    ]
    return issubclass(kind, tuple(each for each in classes if isinstance(each, type)))


def index_of(scores: Any) -> Any:
    """The index of a pandas column, or of a table; None of everything else."""
    kind = type(scores)
    return scores.index if is_table(kind) and hasattr(kind, "iloc") else None


def _instead(kind: type) -> str:
    """What to write instead of a class that is not read, with a semicolon before it."""
    if issubclass(kind, (list, tuple, Mapping)):
        plain = "dict" if issubclass(kind, Mapping) else "list"
        return f"; a subclass may count as it likes: write {plain}(scores)"
    if hasattr(kind, "__array__") and not issubclass(kind, np.generic):
        return "; write numpy.asarray(scores)"
    if kind.__name__ == "LazyFrame":
        return "; write scores.collect()"
    return "; write list(scores)" if issubclass(kind, (Iterator, ValuesView)) else ""


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


def _convert(column: Any) -> Numbers:
    """Another library's column as an array, or as Python's integers where NumPy has no type."""
    nulls, values = 0, None
    try:
        if str(getattr(column, "type", "")).startswith(_ENCODED):
            column = column.cast(column.type.value_type)
        # Counted before conversion, because converting turns nulls into NaN or into zeros.
        nulls = count_nulls(column)
        if not nulls:
            is_wide = str(getattr(column, "dtype", None)) in _WIDE
            values = list(column.to_list()) if is_wide else np.asarray(column)
    except Exception:  # noqa: BLE001, S110 - whatever it is, ours is raised below, without a context
        pass
    if nulls:
        raise ScoreError(NULL)
    if values is None:
        raise ScoreError(f"scores of type {type(column).__name__} cannot be read as an array")
    return values


def count_nulls(column: Any) -> int:
    """How many cells of another library's column are missing."""
    nulls = getattr(column, "null_count", None)
    if nulls is None:
        is_null = getattr(column, "isna", None)
        return 0 if is_null is None else int(is_null().sum())
    return int(nulls() if callable(nulls) else nulls)
