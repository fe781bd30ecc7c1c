"""The door for counts whose candidates are themselves private: the largest, in a fixed order.

The rules, which the proofs of `docs/mathematics.md`, section 15, rely on:

- The order is (count descending, label ascending): integers by value come before strings by code
  point.  It says which of two equal counts comes first without looking at any other count.
- Items are what they equal (`_items`).  Labels that are the same item keep the larger count; those
  that can be none are dropped, whatever they count.
- An item with a count below 1 is as good as absent.  What only the data tell, no items or fewer
  than are wanted, is no error: places that nothing fills are *dummies*, with no label and count 0.
- Counts beyond 2**42 are cut to that.  Cutting is monotone and moves no count further than before,
  and it comes before the ordering, so what follows sees a histogram like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError, ScoreError
from safeselect.mechanisms._columns import as_column
from safeselect.mechanisms._items import Label, read_items, whole
from safeselect.mechanisms._labels import index_of

__all__ = ["Histogram", "read_histogram"]

_MOST = 2**42
_NOT_WHOLE = (
    "counts must be integers, of whatever type, and none may be missing: decide what a missing "
    "count means before counts are handed over"
)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Histogram:
    """The largest counts of a table, padded with zeros to a public size; its repr is silent.

    Attributes:
        counts: int64, in descending order; private.
        labels: what they count; None for a dummy.
    """

    counts: npt.NDArray[np.int64]
    labels: tuple[Label | None, ...]

    def __repr__(self) -> str:
        return f"<Histogram of {len(self.labels)} places>"


def read_histogram(counts: object, labels: object, size: int) -> Histogram:
    """Return the `size` largest counts in the fixed order.

    Args:
        counts: a mapping label -> count, a pandas column whose index is the labels, or a list, an
            array or another column of counts.
        labels: one label a count; not with a mapping.

    Reveals: time depends on how many items there are and on how their counts compare.

    Raises:
        ParameterError: labels are missing, are no list, or are of another number.
        ScoreError: the counts have a form that cannot be read, or one of them is no integer.
    """
    if isinstance(counts, Mapping):
        if labels is not None:
            raise ParameterError(
                "labels= is not needed with a mapping, whose keys are the labels; leave it out"
            )
        pairs = list(counts.items())  # read once: keys and values belong together
        labels, counts = [key for key, _ in pairs], [value for _, value in pairs]
    elif labels is None:
        labels = index_of(counts)
        if labels is None:
            raise ParameterError(
                "counts need labels=, or a mapping label -> count: a position in a table of items "
                "found in the data means nothing"
            )
    values = _whole(as_column(counts))
    largest: dict[Label, int] = {}
    for name, value in zip(read_items(labels, values.size), values.tolist(), strict=True):
        # Of two labels for one item the larger count: one user moves it by as much as those two.
        if name is not None and value > largest.get(name, 0):
            largest[name] = value
    found = sorted(
        (-count, isinstance(name, str), name) for name, count in _at_least(largest, size)
    )[:size]
    padding = size - len(found)
    result = np.array([-count for count, _, _ in found] + [0] * padding, dtype=np.int64)
    values.fill(0)
    return Histogram(result, (*(name for _, _, name in found), *(None,) * padding))


def _at_least(largest: dict[Label, int], size: int) -> list[tuple[Label, int]]:
    """The items that reach the size-th largest count: no other can be among the first."""
    pairs = list(largest.items())
    if len(pairs) <= size:
        return pairs
    counts = np.fromiter(largest.values(), dtype=np.int64, count=len(pairs))
    least = np.partition(counts, counts.size - size)[counts.size - size]
    kept = np.flatnonzero(counts >= least).tolist()
    counts.fill(0)
    return [pairs[place] for place in kept]


def _whole(values: Any) -> npt.NDArray[np.int64]:
    """A private copy of the counts, cut to 0 .. 2**42."""
    if len(values) == 0:
        # Of whatever type: NumPy calls an empty list an array of floats, and an empty table must
        # not be told from another.
        return np.empty(0, dtype=np.int64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        wide = np.minimum(wide, _MOST).astype(np.int64)
        return np.maximum(wide, 0, out=wide)
    found = [value if type(value) is int else whole(value) for value in values]
    if None in found:
        raise ScoreError(_NOT_WHOLE)
    return np.array([min(max(value or 0, 0), _MOST) for value in found], dtype=np.int64)
