"""The only door for data: scores of any accepted type become integers on a public grid.

The rules, which the rest of the package relies on:

- What a call does is decided by its *arguments* and by n, never by the type or the representation
  of scores.  Inputs that are equal as real numbers, in whatever types, are the same input.
- Containers, their lengths and public labels are looked at before a ledger is charged; types and
  values of scores only afterwards.
- The caller's scores are copied once; later writes by the caller change nothing.
- Only differences between scores are kept: each candidate's shortfall from the best, in grid
  steps.  A shortfall beyond 2**64 - 1 steps is cut to that.  Cutting shortfalls is safe for every
  calibration: a neighbour moves all shortfalls within an interval of the range's length that
  contains 0, and cutting only shortens each move (docs/adr/0008).
- No message quotes a score.  SECURITY.md lists the sentences that depend on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.errors import ParameterError, ScoreError
from safeselect.selection._columns import ARRAYS, Column, hand_over, pairs, subclass_refused
from safeselect.selection._float_columns import NOT_FINITE, float_steps, is_fast
from safeselect.selection._held import Steps
from safeselect.selection._labels import labels_of, read_labels
from safeselect.selection._numbers import ratio
from safeselect.selection._reading import Reading

__all__ = ["Candidates", "Steps", "read_candidates", "read_matrix", "read_values"]

_LARGEST = 2**64 - 1
# XOR masks that map a dtype onto uint64 in order, or in reverse order.  Flipping the sign bit maps
# int64 onto uint64 with all differences kept; flipping all bits reverses the order.
_SIGN = np.int64(-(2**63))
_FLIPPED = {
    ("i", False): _SIGN,
    ("i", True): ~_SIGN,
    ("u", False): np.uint64(0),
    ("u", True): ~np.uint64(0),
}
_NOT_WHOLE = (
    "scores must be integers where no grid= is given; for real scores write {}, a thousandth of "
    "what you declare that they change by; for multiples of a step, such as k/n computed in "
    "floats, write grid=that step, on_grid=True"
)


class _NotWholeError(Exception):
    """A score that should be an integer is none; told to the caller as a `ScoreError`."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Candidates:
    """The candidates of one call: how many and what they are called; no score was looked at.

    Attributes:
        rows: the scores: one column, or a column for each row, or a plain array of all rows.
        size: how many candidates there are.
        labels: what to call the candidates, or None for their positions.
        is_matrix: whether rows of scores were handed over.
        positions: whether they may be released: those in a mapping or in a labelled column often
            follow from the data, as in `value_counts`, which is sorted.
    """

    rows: tuple[Column, ...] | np.ndarray[Any, Any]
    size: int
    labels: tuple[object, ...] | None
    is_matrix: bool = False
    positions: bool = True

    def __repr__(self) -> str:
        return f"<{self.size} candidates>"

    def label(self, index: int) -> object:
        """The label of a candidate; without labels, its position."""
        return index if self.labels is None else self.labels[index]

    def steps(
        self,
        reading: Reading,
        *,
        minimize: bool = False,
        proposed: str = "grid=",
        threshold: Fraction | None = None,
    ) -> Steps:
        """Read the scores.

        Args:
            reading: how numbers become steps.
            minimize: prefer small scores.
            proposed: the grid that a message proposes; it follows from parameters.
            threshold: a public number that takes part as one more candidate, the last.

        Returns:
            uint64, shape (n,), or (m, n) for m rows, of which the caller is the only owner;
            private: larger is better, only differences within a row matter.

        Raises:
            ScoreError: a score is no number, or none that the reading covers.
        """
        extra = [] if threshold is None else [reading.nearest(threshold)]
        steps: Steps = np.empty((len(self.rows), self.size + len(extra)), dtype=np.uint64)
        rows = self.rows
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu" and reading.step == 1:
            _in_order(rows, minimize, steps)
            return steps
        try:
            for row, out in zip(rows, steps, strict=True):
                column = row if isinstance(row, Column) else Column(row, self.size)
                _read(column.numbers(), reading, minimize, extra, out)
        except _NotWholeError:
            raise ScoreError(_NOT_WHOLE.format(proposed)) from None
        return steps if self.is_matrix else steps[0]


def read_candidates(scores: object, *, labels: object = None) -> Candidates:
    """Take scores and read their labels.

    Args:
        scores: a dict label -> score, a list or tuple, a one-dimensional NumPy array, or a column
            (or a table of one column) of pandas, polars or Arrow.
        labels: one label a candidate, all different; not with a mapping; by default the index of a
            pandas column.

    Raises:
        ParameterError: the labels are wrong.
        ScoreError: the scores have a class or a shape that cannot be read.
    """
    found = pairs(scores)
    if found is not None:
        if labels is not None:
            raise ParameterError(
                "labels= is not needed with a mapping, whose keys are the labels; leave it out"
            )
        keys, values = found
        column = hand_over(values)
        return Candidates((column,), column.size, _names(keys, column.size), positions=False)
    column = hand_over(scores)
    brought = labels_of(scores) if labels is None else None
    if brought is not None:
        return Candidates((column,), column.size, _names(brought, column.size), positions=False)
    return Candidates((column,), column.size, _names(labels, column.size))


def read_matrix(scores: object, *, labels: object = None) -> Candidates:
    """Take m rows of scores of the same n candidates; otherwise as `read_candidates`.

    Args:
        scores: a two-dimensional NumPy array, or a list of m lists of n numbers.
    """
    subclass_refused(type(scores))
    if type(scores) not in (list, tuple, *ARRAYS) or getattr(scores, "ndim", 2) != 2:
        raise ScoreError(
            "scores must be a two-dimensional array or a list of rows, got "
            f"{type(scores).__name__}; write [scores] for one row, scores.to_numpy() for a table"
        )
    rows: Any = scores
    if len(rows) == 0:
        raise ScoreError("scores must contain at least one row")
    if type(rows) in ARRAYS:
        size = rows.shape[1]
        return Candidates(np.asarray(rows), size, _names(labels, size), is_matrix=True)
    first, *others = (
        read_candidates(row, labels=labels if place == 0 or labels_of(row) is not None else None)
        for place, row in enumerate(rows)
    )
    if any(each.size != first.size for each in others):
        raise ScoreError("every row of scores must have the same number of candidates")
    if labels is None and any(each.labels != first.labels for each in others):
        raise ParameterError(
            "every row of scores must have the same labels, in the same order; or pass labels="
        )
    columns = tuple(column for each in (first, *others) for column in each.rows)
    return Candidates(columns, first.size, first.labels, True, first.positions)


def _names(labels: object, size: int) -> tuple[object, ...] | None:
    if size == 0:
        raise ScoreError("scores must contain at least one candidate")
    return None if labels is None else read_labels(labels, size)


def read_values(values: Column, reading: Reading, proposed: str) -> list[int]:
    """Read numbers that count by themselves, not by their differences: the nearest step of each.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    numbers = values.numbers()
    try:
        return _nearest(numbers.tolist() if isinstance(numbers, np.ndarray) else numbers, reading)
    except _NotWholeError:
        raise ScoreError(_NOT_WHOLE.format(proposed)) from None


def _whole_times(step: Fraction) -> bool:
    """Whether integers lie on this grid, and a product with one over it keeps to 64 bits."""
    return step.numerator == 1 and step.denominator < 1 << 64


def _read(
    values: np.ndarray[Any, Any] | Sequence[Any],
    reading: Reading,
    minimize: bool,
    extra: Sequence[int],
    out: Steps,
) -> None:
    """Write the steps of one row, the fastest way that its type and the grid allow."""
    step = reading.step
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and is_fast(step):
        if reading.grid is None and not bool(np.all(np.rint(values) == values)):
            # Infinity is equal to itself and is told below; NaN is not.
            raise ScoreError(NOT_FINITE) if np.isnan(values).any() else _NotWholeError
        float_steps(values, step, minimize=minimize, extra=extra, out=out)
    elif isinstance(values, np.ndarray) and values.dtype.kind in "iu" and _whole_times(step):
        _from_integers(values, step.denominator, minimize, extra, out)
    else:
        numbers = values.tolist() if isinstance(values, np.ndarray) else values
        out[:] = _shortfalls([*_nearest(numbers, reading), *extra], minimize)


def _from_integers(
    values: np.ndarray[Any, Any],
    times: int,
    minimize: bool,
    extra: Sequence[int],
    out: Steps,
) -> None:
    """Integers on the grid 1 / times, on which they are whole; modulo 2**64 until the last line."""
    steps = out[: len(values)]
    _in_order(values, minimize, steps)
    if times == 1 and not extra:
        return
    # From the copy, not from the caller's array, which may have changed by now.
    wide, flipped = _order(values, minimize)
    top = steps.max()
    best = int(top.view(wide) ^ flipped) * times
    first = min([best, *extra]) if minimize else max([best, *extra])
    behind = abs(first - best)
    # Whoever is more integers than that behind the best is 2**64 steps or more behind the first.
    most = (_LARGEST - behind) // times
    np.subtract(top, steps, out=steps)
    near = np.logical_and(steps <= np.uint64(max(most, 0)), most >= 0)
    np.multiply(steps, np.uint64(times), out=steps)
    np.subtract(np.uint64((_LARGEST - behind) % (1 << 64)), steps, out=steps)
    np.multiply(steps, near, out=steps)
    out[len(values) :] = [max(0, _LARGEST - abs(first - step)) for step in extra]


def _in_order(values: np.ndarray[Any, Any], minimize: bool, out: Steps) -> None:
    """Integers of a dtype as uint64, larger is better, with all differences kept."""
    wide, flipped = _order(values, minimize)
    np.bitwise_xor(values, flipped, out=out.view(wide), dtype=wide)


def _order(values: np.ndarray[Any, Any], minimize: bool) -> tuple[Any, Any]:
    kind = values.dtype.kind
    return (np.int64 if kind == "i" else np.uint64), _FLIPPED[kind, minimize]


def _shortfalls(whole: Sequence[int], minimize: bool) -> Steps:
    best = min(whole) if minimize else max(whole)
    sign = -1 if minimize else 1
    # min() rather than a branch: the same work whatever the shortfalls are.
    kept = [_LARGEST - min(sign * (best - steps), _LARGEST) for steps in whole]
    return np.array(kept, dtype=np.uint64)


def _nearest(values: Sequence[Any], reading: Reading) -> list[int]:
    """The number of the nearest step of each value, halves up."""
    p, q = reading.step.numerator, reading.step.denominator
    found = []
    for value in values:
        above, below = ratio(value)
        if reading.grid is None and above % below:
            raise _NotWholeError
        found.append((2 * above * q + p * below) // (2 * p * below))
    return found
