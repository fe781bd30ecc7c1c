"""The first look, before the charge: how scores and labels may be handed over.

Containers are known by their class, and asked how many scores there are, nothing else; what they
hold is looked at once the call is charged, in `numbers`.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar, cast, final

import numpy as np

from safeselect.errors import ScoreError
from safeselect.scores.numbers import ONE_COLUMN, Numbers, numbers_of

__all__ = [
    "ARRAYS",
    "Column",
    "Unread",
    "check_known",
    "hand_over",
    "index_of",
    "is_table",
    "own_counts",
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
_OWN_COUNTS: list[type] = []

_Kind = TypeVar("_Kind")


def own_counts(kind: type[_Kind]) -> type[_Kind]:
    """Class decorator of this package's own mappings of counts, which say what they are.

    Objects of exactly such a class have private `counts`, label -> count, and a method
    `check_known`, which looks at nothing private.  What another class has by these names is never
    asked for.
    """
    _OWN_COUNTS.append(kind)
    return kind


def check_known(
    scores: object, *, sensitivity: Fraction | None, range_: Fraction | None, unit: str | None
) -> None:
    """Refuse counts of a table that a mechanism for a known domain cannot use; the rest passes.

    Raises:
        ParameterError: only the largest counts, a change below 1, or another unit.
    """
    if type(scores) in _OWN_COUNTS:
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

    def numbers(self) -> Numbers:
        """The scores as a plain array of integers or floats, or as numbers to be read one by one.

        Raises:
            ScoreError: nulls, or a type that is no number.
        """
        held = self.held.read() if type(self.held) is Unread else self.held
        return numbers_of(held, self.size)


def hand_over(scores: object) -> Column:
    """Take scores of a class that is known, and ask how many there are.

    Raises:
        ScoreError: another class, or not one dimension.
    """
    kind = type(scores)
    column: Any = scores
    if kind is Unread:
        return Column(column, column.size)
    if kind in _LISTS:
        return Column(column, len(column))
    subclass_refused(kind)
    if kind not in ARRAYS:
        if not is_table(kind):
            raise ScoreError(
                "scores must be a list, a tuple, a dict, a NumPy array or a column of pandas, "
                f"polars or Arrow, got {kind.__name__}{_instead(kind)}"
            )
        column = _only_column(column)
    dimensions = len(getattr(column, "shape", (0,)))
    if dimensions != 1:
        raise ScoreError(ONE_COLUMN.format(type(column).__name__, dimensions))
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
    mapping: Any = scores
    if type(scores) in _OWN_COUNTS:
        mapping = dict(mapping.counts)
    if type(mapping) not in _MAPPINGS:
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
