"""The containers of scores: lists, arrays, and columns of other libraries.

A container is read in two steps, and the ledger is charged between them.  `hand_over` knows
containers by their class and asks only how many scores there are.  `Column.numbers` reads types and
values.  No message quotes a cell.  Errors of other libraries may quote one, so they are not passed
on.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from safeselect.errors import ScoreError
from safeselect.exact.plain import FLOATS, INTEGERS
from safeselect.scores.counts import Counts
from safeselect.scores.numbers import CONVERT, Numbers
from safeselect.scores.reading import Reading, Sensitivity

# Before a charge only these exact classes are asked for their length: that runs no foreign code.
# They are compared by identity, because a class may claim to equal another.
LISTS = frozenset(map(id, (list, tuple)))
_MAPPINGS = frozenset(map(id, (dict, Counter, OrderedDict, defaultdict)))
ARRAYS = frozenset(map(id, (np.ndarray, np.memmap)))
PLAIN = LISTS | ARRAYS
_ONE_COLUMN = (
    "scores must have one dimension, got {} with {}; pass one column, such as table['votes'], or "
    "one row; select_many takes many rows at once"
)


def check_known(
    scores: object, change: Sensitivity, reading: Reading, unit: str | None, replaced: bool
) -> str | None:
    """Refuse counts of a table that a mechanism for a known domain cannot use; the rest passes.

    Returns:
        The unit of privacy, where the scores state one.

    Raises:
        ParameterError: as for `Counts.check_known`.
    """
    if type(scores) is Unread:
        return scores.unit
    if type(scores) is not Counts:
        return None
    scores.check_known(change, reading, unit=unit, replaced=replaced)
    return scores.unit


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Unread:
    """Scores or counts of an open table, not read yet; its repr is silent.

    Attributes:
        size: how many scores there are, or how many of the largest counts are asked for: public.
        read: fetches them; called once, when the call is charged.  For counts of an unknown domain
            it returns a mapping label -> count, otherwise scores: a list, or an array that the
            call may overwrite.
        labels: their names, all public, as the keys of a mapping are.
        unit: who is protected, where the caller states it.
    """

    size: int
    read: Callable[[], Any]
    labels: tuple[str, ...] | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Column:
    """Scores that were handed over; only their number was read.  The repr is silent.

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
            values: Numbers = held.view(np.ndarray)
        elif id(type(held)) in LISTS:
            values = tuple(held)
        else:
            from safeselect.scores.columns import numbers_of

            values = numbers_of(held)
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
        # Compared by type, so that the byte order does not matter.  No message has the text of a
        # dtype: for strings it tells how long the longest one is.
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
    if id(kind) not in ARRAYS:
        subclass_refused(kind)
        from safeselect.scores.columns import column_of  # lists and arrays do without it

        column = column_of(column)
    dimensions = len(getattr(column, "shape", (0,)))
    if dimensions != 1:
        raise ScoreError(_ONE_COLUMN.format(type(column).__name__, dimensions))
    return Column(column, len(column))


def labels_of(scores: object) -> Any:
    """The labels that a column of another library brings along; None of everything else."""
    if id(type(scores)) in PLAIN:
        return None
    from safeselect.scores.columns import index_labels

    return index_labels(scores)


def subclass_refused(kind: type) -> None:
    """Refuse subclasses of NumPy's arrays, such as masked ones.

    Only the class decides: isinstance asks the object, which could run code of its own.

    Raises:
        ScoreError: it is such a subclass.
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
    if type(scores) is Counts:
        mapping = dict(scores.counts)
    if id(type(mapping)) not in _MAPPINGS:
        return None
    items: list[tuple[Any, Any]] = list(dict.items(mapping))
    return [key for key, _ in items], [value for _, value in items]


def _packed(values: tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """Integers of 64 bits, or floats, as an array; None for any other numbers."""
    try:
        # struct checks the size of each; NumPy would make floats of [2**63, -1].
        words = struct.Struct(f"{len(values)}q").pack(*values)
        # struct packs every object with an `__index__`.  Integers of another class than Python's
        # add up to an object of their own class.  The sum takes a third of the time of a look at
        # each class.
        are_ints = type(sum(values)) is int
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - any cell may raise; its class is checked below
        words, are_ints = b"", False
    if not are_ints:
        kinds = set(map(type, values))
        if kinds.issubset(FLOATS):
            return np.array(values, dtype=np.float64)
        if not words or not kinds.issubset(INTEGERS):
            return None
    return np.frombuffer(words, dtype=np.int64)
