"""The only door for data: scores of any accepted type become integers on a public grid.

The rules, which the rest of the package relies on:

- The *arguments* of a call and n decide what it does, never the type or the representation of
  scores.  Inputs of any types that are equal as real numbers are the same input.
- Containers, their lengths and public labels are read before a ledger is charged; types and values
  of scores only afterwards.
- The caller's scores are copied once; later writes by the caller change nothing.
- Only differences between scores are kept: each candidate's shortfall from the best, in grid
  steps, cut at 2**64 - 1 (`numbers`).
- No message quotes a score.  SECURITY.md lists the sentences that depend on values.

A container is read in two steps, and the ledger is charged between them.  `hand_over` knows
containers by their class and asks only how many scores there are.  `Column.numbers` reads types and
values.  No message quotes a cell.  Errors of other libraries may quote one, so they are not passed
on.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import FLOATS, Number, exact_text
from safeselect.exact.parameters import INTEGERS as INTEGER_TYPES
from safeselect.scores.counts import Counts
from safeselect.scores.numbers import CONVERT, Numbers, in_order, nearest_steps, write_steps
from safeselect.scores.reading import INTEGERS, GridScores, Reading, Sensitivity

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # Where a type checker knows no labels, labels have any type.
    Label = TypeVar("Label", default=Any)
else:
    from typing import TypeVar

    Label = TypeVar("Label")

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
            it returns a mapping from labels to counts, otherwise scores: a list, or an array that
            the call may overwrite.
        labels: their names, all public and different texts, as the keys of a mapping are.
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
            raise ScoreError("the number of scores changed while they were being read")
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
        from safeselect.scores.columns import column_of  # lists and arrays do without it

        column = column_of(column)
    if (dimensions := len(getattr(column, "shape", (0,)))) != 1:
        raise ScoreError(_ONE_COLUMN.format(type(column).__name__, dimensions))
    return Column(column, len(column))


def labels_of(scores: object) -> Any:
    """The labels that a column of another library brings along; None of everything else."""
    if id(type(scores)) in PLAIN:
        return None
    from safeselect.scores.columns import index_labels

    return index_labels(scores)


def pairs(scores: object, labels: object) -> tuple[list[Any], list[Any]] | None:
    """The keys and the values of a mapping, which belong together; None for anything else.

    Raises:
        ParameterError: a mapping, and labels as well.
    """
    mapping: Any = dict(scores.counts) if type(scores) is Counts else scores
    if id(type(mapping)) not in _MAPPINGS:
        return None
    if labels is not None:
        raise ParameterError("a mapping's keys are its labels; omit labels=")
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
        if not words or not kinds.issubset(INTEGER_TYPES):
            return None
    return np.frombuffer(words, dtype=np.int64)


class _Column(Protocol):
    def __array__(self) -> Any:
        """An array, or a pandas, polars or Arrow column."""


Scores = Mapping[Label, Any] | Sequence[Any] | _Column
"""n scores, or a mapping from labels to scores."""

Values = Sequence[Any] | _Column
"""n numbers, or m rows of n scores."""

Labels = Iterable[Label] | None
"""One label for each candidate, or None for their positions."""

Factors = Mapping[Any, Number] | Sequence[Number] | None
"""Public weights in the order of the scores, or a mapping from labels to weights."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Candidates:
    """The candidates of one call: their number and their labels; no score was read yet.

    Attributes:
        rows: the scores: one column, or a column for each row, or a plain array of all rows.
        size: how many candidates there are.
        labels: the names of the candidates, or None for their positions.
        is_matrix: whether rows of scores were handed over.
        positions: whether positions may be released.  Those in a mapping or in a labelled column
            often follow from the data, as in `value_counts`, which is sorted.
    """

    rows: tuple[Column, ...] | np.ndarray[Any, Any]
    size: int
    labels: tuple[object, ...] | None
    is_matrix: bool = False
    positions: bool = True

    def __repr__(self) -> str:
        return f"<{self.size} candidates>"

    def scores_on_grid(
        self, reading: Reading, *, minimize: bool = False, threshold: Fraction | None = None
    ) -> GridScores:
        """Read the scores.

        Args:
            reading: how numbers become steps.
            minimize: prefer small scores.
            threshold: a public number that takes part as one more candidate, the last.

        Returns:
            uint64, shape (n,), or (m, n) for m rows; private.  The caller is its only owner.
            Larger is better, and only differences within a row matter.

        Raises:
            ScoreError: a score is not a number, or the reading does not cover it.
        """
        extra = [] if threshold is None else [reading.nearest(threshold)]
        shape = len(self.rows), self.size + len(extra)
        scores_on_grid: GridScores = np.empty(shape, dtype=np.uint64)
        plain = self.rows[0].held if isinstance(self.rows, tuple) else self.rows
        is_all = type(plain) is np.ndarray and plain.size == scores_on_grid.size
        if is_all and plain.dtype.kind in "iu" and reading.step == 1:
            in_order(plain, minimize, scores_on_grid.reshape(plain.shape))
        else:
            with np.errstate(all="ignore"):  # a warning would tell of a score
                for row, out in zip(self.rows, scores_on_grid, strict=True):
                    column = row if isinstance(row, Column) else Column(row, self.size)
                    numbers = column.numbers()
                    try:
                        write_steps(numbers, reading, minimize, extra, out)
                    finally:
                        # An array fetched for this call alone is ours; any other is the caller's.
                        is_own = type(column.held) is Unread
                        if is_own and isinstance(numbers, np.ndarray) and numbers.flags.writeable:
                            numbers.fill(0)
        return scores_on_grid if self.is_matrix else scores_on_grid[0]


def read_candidates(scores: object, *, labels: object = None) -> Candidates:
    """Take scores and read their labels.

    Args:
        scores: a dict from labels to scores, a list or tuple, a one-dimensional NumPy array, or a
            pandas, polars or Arrow column (or a table with one column).
        labels: one label a candidate, all different; not with a mapping; by default the index of a
            pandas column.

    Raises:
        ParameterError: the labels are wrong.
        ScoreError: the scores have a class or a shape that cannot be read.
    """
    if type(scores) is Unread and scores.labels:
        return Candidates((hand_over(scores),), scores.size, scores.labels, positions=False)
    found = pairs(scores, labels)
    brought, values = found or (None, scores)
    column = hand_over(values)
    if found is None and labels is None:
        brought = labels_of(scores)
    names = _names(labels, column.size, brought)
    return Candidates((column,), column.size, names, positions=brought is None)


def read_matrix(scores: object, *, labels: object = None) -> Candidates:
    """Take m rows of scores of the same n candidates; otherwise as `read_candidates`.

    Args:
        scores: a two-dimensional NumPy array, or a list of m lists of n numbers.
    """
    if id(type(scores)) not in PLAIN or getattr(scores, "ndim", 2) != 2:
        raise ScoreError(
            "scores must be a plain two-dimensional NumPy array or a list of rows, got "
            f"{type(scores).__name__}; use [scores] for one row, scores.to_numpy() for a data frame"
        )
    rows: Any = scores
    if len(rows) == 0:
        raise ScoreError("scores must contain at least one row")
    if id(type(rows)) in ARRAYS:
        size = rows.shape[1]
        return Candidates(rows.view(np.ndarray), size, _names(labels, size), is_matrix=True)
    first, *others = (
        read_candidates(row, labels=labels if place == 0 or labels_of(row) is not None else None)
        for place, row in enumerate(rows)
    )
    if any(each.size != first.size for each in others):
        raise ScoreError("every row of scores must have the same number of candidates")
    if labels is None and any(each.labels != first.labels for each in others):
        raise ParameterError(
            "all rows of scores must have the same labels in the same order unless you pass labels="
        )
    columns = tuple(column for each in (first, *others) for column in each.rows)
    return Candidates(columns, first.size, first.labels, True, first.positions)


def _names(labels: object, size: int, brought: object = None) -> tuple[Any, ...] | None:
    """The labels that were stated, or those that the scores brought along.

    Labels that are all floats and all integers become integers, but for a list, which somebody
    wrote.  Where one row is missing, pandas makes floats of a column of integers, and so of the
    labels of whatever counts its values: "1.0" instead of "1" would tell of that row.
    """
    if size == 0:
        raise ScoreError("scores must contain at least one candidate")
    given = labels if brought is None else brought
    names: tuple[Any, ...] | None = None if given is None else read_labels(given, size)
    if names is None or (brought is None and id(type(labels)) in LISTS):
        return names
    are_whole = all(isinstance(name, FLOATS) and name % 1 == 0 for name in names)
    return tuple(map(int, names)) if are_whole else names


def read_labels(labels: object, count: int) -> tuple[object, ...]:
    """Read one label for each of `count` scores: anything that can be written down and compared.

    Raises:
        ParameterError: no list, another number of labels, labels that are not all different, or one
            that cannot be written or compared.
    """
    given: Any = listed(labels)
    kind = id(type(labels))
    given = given.tolist() if kind in ARRAYS else given
    if kind not in PLAIN:
        from safeselect.scores.columns import names_of

        given = names_of(given)
    names = tuple(given)
    if len(names) != count:
        raise ParameterError(
            f"labels must contain one label for each score, in the same order, got {len(names)} "
            f"labels for {count} scores"
        )
    different = None
    with suppress(Exception):  # a label's own error may quote a label, so ours is raised below
        for name in names:
            if type(name) not in (str, int):
                label_text(name)  # now, while no error can depend on which candidate is chosen
        different = _count_different(names)
    if different is None:
        raise ParameterError(
            "labels must be comparable with == and convertible to text, as strings and integers are"
        )
    if different != count:
        raise ParameterError(f"labels must be unique, but only {different} of {count} are distinct")
    return names


def listed(labels: object, each: str = "score") -> Iterable[object]:
    """Take labels that are a list, which alone has an order.

    Raises:
        ParameterError: another class, or not one dimension.
    """
    # A set has no order of its own: chance would decide which label belongs to which score.
    if isinstance(labels, (str, bytes, Set)) or not isinstance(labels, Iterable):
        raise ParameterError(
            f"labels must be a list, got {type(labels).__name__}; pass one label for each {each}, "
            "in the same order, for example labels=['red', 'blue']"
        )
    if (dimensions := len(getattr(labels, "shape", (0,)))) != 1:
        raise ParameterError(f"labels must have one dimension, got {dimensions}")
    return labels


def label_text(label: object) -> str:
    """A label as text."""
    if type(label) is int or type(label) is Fraction:
        # GMP writes the digits: Python may limit how many digits of an int str() writes.
        return exact_text(Fraction(label))
    return label if isinstance(label, str) else str(label)


def _count_different(names: tuple[object, ...]) -> int:
    """How many of these labels are different: by hash where each has one, else one by one."""
    with suppress(Exception):  # a label without a hash, for whatever reason
        return len(set(names))
    with suppress(Exception):
        return len(set(map(_key, names)))
    return sum(
        not any(name is other or name == other for other in names[:place])
        for place, name in enumerate(names)
    )


def _key(label: Any) -> object:
    """A hashable stand-in for a label, equal where the labels are equal."""
    with suppress(TypeError):
        hash(label)
        return label
    if isinstance(label, (set, bytearray)):  # equal to a frozenset or bytes
        return frozenset(label) if isinstance(label, set) else bytes(label)
    if type(label) is dict:
        return dict, frozenset((key, _key(value)) for key, value in label.items())
    if type(label) in (list, tuple):
        return type(label), tuple(_key(value) for value in label)
    raise TypeError("the label is not hashable")


def read_values(values: Column, reading: Reading = INTEGERS) -> list[int]:
    """Read the nearest step of each number.

    Args:
        values: the numbers, in any container.
        reading: how they become steps.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    with np.errstate(all="ignore"):  # a warning would tell of a value
        return nearest_steps(values.numbers(), reading)
