"""The door for counts whose candidates are themselves private: the largest, in a fixed order.

The rules, which the proofs of `docs/mathematics.md`, section 15, rely on:

- The order is (count descending, label ascending): integers by value come before strings by code
  point.  It says which of two equal counts comes first without looking at any other count.
- An item with a count below 1 is as good as absent.  What only the data tell, no items or fewer
  than are wanted, is no error: places that nothing fills are *dummies*, with no label and count 0.
- Counts beyond 2**42 are cut to that.  Cutting is monotone and moves no count further than before,
  and it comes before the ordering, so what follows sees a histogram like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safeselect.errors import ParameterError
from safeselect.mechanisms._columns import Column, hand_over
from safeselect.mechanisms._labels import read_labels
from safeselect.mechanisms._reading import INTEGERS
from safeselect.mechanisms._scores import read_values

__all__ = ["Histogram", "Label", "read_histogram"]

Label = int | str

_MOST = 2**42


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
        counts: a mapping label -> count, or a list, an array or a column of counts.
        labels: one label a count, all different, integers or strings; not with a mapping.

    Reveals: time depends on how many items there are and on how their counts compare.

    Raises:
        ParameterError: the labels have a wrong type or number.
        ScoreError: the counts have a type or a shape that cannot be read.
    """
    if isinstance(counts, Mapping):
        if labels is not None:
            raise ParameterError(
                "labels= is not needed with a mapping, whose keys are the labels; leave it out"
            )
        pairs = list(counts.items())  # read once: keys and values belong together
        labels, counts = [key for key, _ in pairs], [value for _, value in pairs]
    elif labels is None:
        raise ParameterError(
            "counts need labels=, or a mapping label -> count: a position in a table of items "
            "found in the data means nothing"
        )
    values = _whole(hand_over(counts))
    # How many items there are is private here.
    names = [_label(name) for name in read_labels(labels, values.size, public=False)]
    kept = np.flatnonzero(values > 0)
    if kept.size > size:
        # Only those that reach the size-th largest count can be among the first.
        least = np.partition(values[kept], kept.size - size)[kept.size - size]
        kept = kept[values[kept] >= least]
    found = sorted(
        (-int(values[place]), isinstance(names[place], str), names[place])
        for place in kept.tolist()
    )[:size]
    padding = size - len(found)
    result = np.array([-count for count, _, _ in found] + [0] * padding, dtype=np.int64)
    values.fill(0)
    return Histogram(result, (*(name for _, _, name in found), *(None,) * padding))


def _whole(column: Column) -> npt.NDArray[np.int64]:
    """A private copy of the counts, cut to 0 .. 2**42."""
    values = column.numbers() if column.size else []
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        counts: npt.NDArray[np.int64] = np.minimum(wide, _MOST).astype(np.int64)
        return np.maximum(counts, 0, out=counts)
    whole = read_values(Column(values, len(values)), INTEGERS, "integers")
    return np.array([min(max(value, 0), _MOST) for value in whole], dtype=np.int64)


def _label(label: object) -> Label:
    # The plain types only: a subclass may compare as it likes, and the order must be fixed.
    if type(label) in (int, str):
        return label  # type: ignore[return-value]
    is_span = isinstance(label, np.timedelta64)  # which NumPy counts among its integers
    if isinstance(label, np.integer) and not is_span:
        return int(label)
    if type(label) is np.str_:
        return str(label)
    raise ParameterError(f"labels must be integers or strings, got {type(label).__name__}")
