"""The door for counts whose candidates are private: the largest counts, in a fixed order.

The proofs in `docs/mathematics.md`, section 15, rely on these rules:

- The order is (count descending, label ascending by code point).  It says which of two equal counts
  comes first without looking at any other count.
- A label is a text, one for what is equal (`_items`).  Of several labels of one item the larger
  count is kept.  A label that can be no item is dropped, whatever its count.
- An item with a count below 1 counts as absent.  Too few items, or none, is a fact about the data
  and so is not an error: empty places are *dummies*, with no label and count 0.
- Counts above 2**42 are cut to 2**42.  Cutting is monotone and moves no count further than before.
  It comes before the ordering, so what follows sees an ordinary histogram.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError, ScoreError
from safeselect.scores.candidates import Candidates
from safeselect.scores.columns import index_of
from safeselect.scores.containers import Column, Unread, hand_over, pairs
from safeselect.scores.counts import Counts
from safeselect.scores.reading import INTEGERS
from safeselect.scores.values import read_values
from safeselect.unknown_domain._items import read_items

_MOST = 2**42
NOT_WHOLE = (
    "counts must be integers, of whatever type, and none may be missing: decide what a missing "
    "count means before counts are handed over"
)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Histogram:
    """The largest counts of a table, padded with zeros to a public size; the repr hides them.

    Attributes:
        counts: int64, in descending order; private.
        labels: the items that are counted; None for a dummy.
    """

    counts: npt.NDArray[np.int64]
    labels: tuple[str | None, ...]

    def __repr__(self) -> str:
        return f"<Histogram of {len(self.labels)} places>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Found:
    """All items of a table with a count of 1 or more; private, and the repr is silent.

    Attributes:
        largest: item -> the largest of its counts.
        rows: how many counts there were, those of no item included.
    """

    largest: dict[str, int]
    rows: int


@dataclass(slots=True, repr=False, eq=False)
class HeldCounts:
    """Counts that the caller passed; they and their labels are read after the charge.

    Attributes:
        size: the number of places; public.
        unit: who is protected, where the counts state it.
        items: the items in these places, once the counts were read; None for a dummy.
    """

    _counts: Column | Unread
    _labels: Any
    size: int
    unit: str | None = None
    items: tuple[str | None, ...] = ()

    def __repr__(self) -> str:
        return f"<counts for {self.size} places>"

    @property
    def candidates(self) -> Candidates:
        """The places as candidates of a call; the call reads the counts in the fixed order."""
        column = Column(Unread(self.size, self._fetch), self.size)
        return Candidates((column,), self.size, None, positions=False)

    def _fetch(self) -> npt.NDArray[np.int64]:
        histogram = self.read()
        self.items = histogram.labels
        return histogram.counts

    def read(self) -> Histogram:
        """Return the largest counts in the fixed order.

        Reveals: the time depends on the number of items and on how their counts compare.

        Raises:
            ParameterError: there are more or fewer labels than counts.
            ScoreError: a count is not an integer.
        """
        largest = self.found().largest
        found = sorted((-count, name) for name, count in _at_least(largest, self.size))[: self.size]
        padding = self.size - len(found)
        result = np.array([-count for count, _ in found] + [0] * padding, dtype=np.int64)
        return Histogram(result, (*(name for _, name in found), *(None,) * padding))

    def found(self) -> Found:
        """Return all items with their counts.

        Raises:
            ParameterError: there are more or fewer labels than counts.
            ScoreError: a count is not an integer.
        """
        counts, labels = self._counts, self._labels
        if type(counts) is Unread:
            counts, labels = _both(counts.read(), None)
        values = whole_counts(counts)
        largest: dict[str, int] = {}
        for name, value in zip(read_items(labels, values.size), values.tolist(), strict=True):
            # One item has two labels: the larger count is as sensitive as each of them.
            if name is not None and value > largest.get(name, 0):
                largest[name] = value
        size = values.size
        values.fill(0)
        return Found(largest, size)


def hold_counts(counts: object, labels: object, size: int) -> HeldCounts:
    """Take counts of which the `size` largest will be read.

    Args:
        counts: a mapping label -> count; a pandas column with the labels as its index; a list, an
            array or another column of counts; or the counts of an open table, not yet read.
        labels: one label for each count; not with a mapping.

    Raises:
        ParameterError: labels are missing, or are not a list.
        ScoreError: the counts have a class that cannot be read.
    """
    if type(counts) is Unread:
        return HeldCounts(counts, None, size, counts.unit)
    unit = counts.unit if type(counts) is Counts else None
    return HeldCounts(*_both(counts, labels), size, unit)


def _both(counts: object, labels: Any) -> tuple[Column, Any]:
    """Return the counts, of which only the number is looked at, and their labels."""
    found = pairs(counts)
    if found is not None:
        if labels is not None:
            raise ParameterError(
                "labels= is not needed with a mapping, whose keys are the labels; leave it out"
            )
        labels, counts = found
    column = hand_over(counts)
    if labels is None:
        labels = index_of(counts)
    if labels is None:
        raise ParameterError(
            "counts need labels=, or a mapping label -> count: a position in a table of items "
            "found in the data means nothing"
        )
    # A set has no order: which label belongs to which count would be arbitrary.
    if isinstance(labels, (str, bytes, Set)) or not isinstance(labels, Iterable):
        raise ParameterError(
            f"labels must be a list of labels, got {type(labels).__name__}; write them in the "
            "order of the counts"
        )
    return column, labels


def _at_least(largest: dict[str, int], size: int) -> list[tuple[str, int]]:
    """Return the items that reach the size-th largest count: no other can be among the first."""
    pairs = list(largest.items())
    if len(pairs) <= size:
        return pairs
    counts = np.fromiter(largest.values(), dtype=np.int64, count=len(pairs))
    least = np.partition(counts, counts.size - size)[counts.size - size]
    kept = np.flatnonzero(counts >= least).tolist()
    counts.fill(0)
    return [pairs[place] for place in kept]


def whole_counts(column: Column) -> npt.NDArray[np.int64]:
    """Return a copy of the counts, cut to 0 .. 2**42.

    Raises:
        ScoreError: a count is not an integer.
    """
    # NumPy makes floats of an empty list; an empty table must not differ from another.
    with np.errstate(all="ignore"):  # a warning would tell of a count
        values = column.numbers() if column.size else []
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        counts: npt.NDArray[np.int64] = np.minimum(wide, _MOST).astype(np.int64)
        return np.maximum(counts, 0, out=counts)
    try:
        whole = read_values(Column(values, len(values)), INTEGERS, Fraction(1))
    except ScoreError:
        raise ScoreError(NOT_WHOLE) from None
    return np.array([min(max(value, 0), _MOST) for value in whole], dtype=np.int64)
