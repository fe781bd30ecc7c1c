"""The only door for data: scores of any accepted type become integers on a public grid.

The rules, which the rest of the package relies on:

- What happens is decided by *types* and arguments, never by values.
- The caller's scores are copied once; later writes by the caller change nothing.
- Only differences between scores are kept: each candidate's shortfall from the best, in grid
  steps.  A shortfall beyond 2**64 - 1 steps is cut to that.  Cutting shortfalls is safe for every
  calibration: a neighbour moves all shortfalls within an interval of the range's length that
  contains 0, and cutting only shortens each move (docs/adr/0008).
- No message quotes a score.  Three sentences, and nothing else, depend on values: one for NaN
  and infinity, one for nulls, and one for decimals of more than 4096 places before the point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from safeselect._exact import describe, rational
from safeselect.errors import ParameterError, ScoreError
from safeselect.mechanisms._columns import INTEGERS, RATIONALS, as_column, refuse_types
from safeselect.mechanisms._labels import labels_of, read_labels

__all__ = ["Candidates", "Steps", "read_candidates", "read_matrix", "read_values"]

Steps = npt.NDArray[np.uint64]

_LARGEST = 2**64 - 1
# What to flip in an integer of that kind, to minimize or not.  Flipping the sign bit maps int64
# onto uint64 in order, with all differences kept; flipping all bits turns the order round.
_SIGN = np.int64(-(2**63))
_FLIPPED = {
    ("i", False): _SIGN,
    ("i", True): ~_SIGN,
    ("u", False): np.uint64(0),
    ("u", True): ~np.uint64(0),
}
_MAX_EXPONENT = 4096  # of a Decimal score, beyond which its integer would exhaust the memory
_NOT_FINITE = (
    "scores must be finite numbers: NaN and infinity are refused; decide what such a record counts "
    "before records are added up"
)
_TOO_LARGE = "scores must be below 10**4096 in size"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Candidates:
    """The scores of one call, ready to be selected from; its repr says nothing about them.

    Attributes:
        steps: uint64, shape (n,), or (m, n) for m rows; private: larger is better, only
            differences within a row matter.
        labels: what to call the candidates, or None for their positions.
        grid: the size of one step in score units.
        exact: whether the types make sure that no score was moved by putting it on the grid.
        positions: whether they may be released: those in a mapping or in a labelled column often
            follow from the data, as in `value_counts`, which is sorted.
    """

    steps: Steps
    labels: tuple[object, ...] | None
    grid: Fraction
    exact: bool
    positions: bool = True

    def __repr__(self) -> str:
        return f"<{len(self.steps)} candidates>"

    def label(self, index: int) -> object:
        """The label of a candidate; without labels, its position."""
        return index if self.labels is None else self.labels[index]


def read_candidates(
    scores: object,
    *,
    grid: object = None,
    labels: object = None,
    minimize: object = False,
    threshold: Fraction | None = None,
) -> Candidates:
    """Read scores and labels.

    Args:
        scores: a mapping label -> score, a list or tuple, a one-dimensional NumPy array, or a
            column (or a table of one column) of another library that offers itself as one.
        grid: positive rational, the public grid; needed for every type but integers.
        labels: one label a candidate, all different; not with a mapping; by default the index of a
            pandas column.
        minimize: prefer small scores.
        threshold: a public number that takes part as one more candidate, the last, without a label;
            rounded down to the grid as scores are.

    Raises:
        ParameterError: grid or labels are wrong.
        ScoreError: the scores have a type, a shape or a missing grid that cannot be read.
    """
    if not isinstance(minimize, (bool, np.bool_)):
        raise ParameterError(f"minimize must be True or False, got {describe(minimize)}")
    minimize = bool(minimize)
    step = None if grid is None else rational(grid, "grid")
    brought = labels_of(scores) if labels is None else None
    labels, positions = (labels, True) if brought is None else (brought, False)
    extra = [] if threshold is None else [_floor_to_grid(threshold, step or Fraction(1))]
    if isinstance(scores, Mapping):
        if labels is not None:
            raise ParameterError(
                "labels= is not needed with a mapping, whose keys are the labels; leave it out"
            )
        pairs = list(scores.items())  # read once: keys and values belong together
        labels, scores = [key for key, _ in pairs], [value for _, value in pairs]
        positions = False
    values = as_column(scores)
    if len(values) == 0:
        raise ScoreError("scores must contain at least one candidate")
    names = None if labels is None else read_labels(labels, len(values))
    if isinstance(values, np.ndarray):
        integers = values.dtype.kind in "iu"
        steps = _from_array(values, step, minimize, extra)
    else:
        kinds = set(map(type, values))
        refuse_types(kinds)
        integers = _all_integers(kinds)
        steps = _from_numbers(values, step, minimize, integers=integers, extra=extra)
    size = Fraction(1) if step is None else step
    # An integer lies on every grid 1, 1/2, 1/3 ...; nothing else is known from the type alone.
    return Candidates(steps, names, size, integers and size.numerator == 1, positions)


def read_matrix(
    scores: object, *, grid: object = None, labels: object = None, minimize: object = False
) -> Candidates:
    """Read m rows of scores of the same n candidates; otherwise as `read_candidates`.

    Args:
        scores: a two-dimensional NumPy array, or a list of m lists of n numbers.
    """
    if not isinstance(scores, (list, tuple)) and not (
        isinstance(scores, np.ndarray) and scores.ndim == 2
    ):
        raise ScoreError(
            "scores must be a two-dimensional array or a list of rows, got "
            f"{type(scores).__name__}; write [scores] for one row, scores.to_numpy() for a table"
        )
    if len(scores) == 0:
        raise ScoreError("scores must contain at least one row")
    first = read_candidates(scores[0], grid=grid, labels=labels, minimize=minimize)
    if isinstance(scores, np.ndarray) and scores.dtype.kind in "iu" and first.grid == 1:
        # All rows in one conversion; a subclass of arrays was refused with its first row.
        steps = _from_array(np.asarray(scores), None, bool(minimize))
        first.steps.fill(0)
        return Candidates(steps, first.labels, first.grid, first.exact, first.positions)
    others = [
        read_candidates(
            row,
            grid=grid,
            labels=None if labels_of(row) is None else labels,
            minimize=minimize,
        )
        for row in scores[1:]
    ]
    if any(each.steps.size != first.steps.size for each in others):
        raise ScoreError("every row of scores must have the same number of candidates")
    steps = np.stack([first.steps, *(each.steps for each in others)])
    if labels is None and any(each.labels != first.labels for each in others):
        raise ParameterError(
            "every row of scores must have the same labels, in the same order; or pass labels="
        )
    exact = all(each.exact for each in (first, *others))
    for each in (first, *others):  # copies of a copy
        each.steps.fill(0)
    return Candidates(steps, first.labels, first.grid, exact, first.positions)


def read_values(values: object, *, grid: Fraction | None) -> list[int]:
    """Read numbers that count by themselves, not by their differences: whole grid steps of each.

    Raises:
        ScoreError: as for `read_candidates`.
    """
    column = as_column(values)
    if isinstance(column, np.ndarray):
        integers = column.dtype.kind in "iu"
        return _whole_steps(column.tolist() if integers else list(column), grid, integers=integers)
    kinds = set(map(type, column))
    refuse_types(kinds)
    return _whole_steps(column, grid, integers=_all_integers(kinds))


def _all_integers(kinds: Iterable[type]) -> bool:
    return all(issubclass(kind, INTEGERS) for kind in kinds)


def _from_array(
    values: np.ndarray[Any, Any], grid: Fraction | None, minimize: bool, extra: Sequence[int] = ()
) -> Steps:
    kind = values.dtype.kind
    if kind == "f":
        if grid is None:
            raise ScoreError(_grid_hint(str(values.dtype)))
        return _from_numbers(list(values), grid, minimize, integers=False, extra=extra)
    wide_type = np.int64 if kind == "i" else np.uint64
    fits = all(np.iinfo(wide_type).min <= steps <= np.iinfo(wide_type).max for steps in extra)
    if (grid is not None and grid != 1) or not fits:
        return _from_numbers(values.tolist(), grid, minimize, integers=True, extra=extra)
    count = values.shape[-1]
    steps: Steps = np.empty((*values.shape[:-1], count + len(extra)), dtype=np.uint64)
    flipped = _FLIPPED[kind, minimize]
    wide = steps.view(wide_type)
    np.bitwise_xor(values, flipped, out=wide[..., :count], dtype=wide_type)
    if extra:
        np.bitwise_xor(np.array(extra, dtype=wide_type), flipped, out=wide[..., count:])
    return steps


def _from_numbers(
    values: Sequence[Any],
    grid: Fraction | None,
    minimize: bool,
    *,
    integers: bool,
    extra: Sequence[int] = (),
) -> Steps:
    whole = [*_whole_steps(values, grid, integers=integers), *extra]
    best = min(whole) if minimize else max(whole)
    sign = -1 if minimize else 1
    # min() rather than a branch: the same work whatever the shortfalls are.
    kept = [_LARGEST - min(sign * (best - steps), _LARGEST) for steps in whole]
    return np.array(kept, dtype=np.uint64)


def _whole_steps(values: Sequence[Any], grid: Fraction | None, *, integers: bool) -> list[int]:
    if grid is None and not integers:
        raise ScoreError(_grid_hint(_type_names(values)))
    size = Fraction(1) if grid is None else grid
    return [_floor_to_grid(value, size) for value in values]


def _floor_to_grid(value: Any, grid: Fraction) -> int:
    """The number of whole grid steps in a score: exact on the grid, else rounded down.

    Rounding down is monotone and commutes with shifts by a step, so it keeps Delta and
    monotonicity up to the next multiple of the grid (`docs/mathematics.md`, section 6).
    """
    if isinstance(value, INTEGERS):
        return int(value) * grid.denominator // grid.numerator
    if isinstance(value, float):  # NumPy's float64 is one too
        # The shortest decimal that reads back as the same float: the number that was typed.
        return _floor_decimal(Decimal(repr(float(value))), grid)
    if isinstance(value, (np.float16, np.float32)):
        return _floor_decimal(Decimal(str(value)), grid)
    if isinstance(value, Decimal):
        return _floor_decimal(value, grid)
    if isinstance(value, RATIONALS):
        numerator, denominator = int(value.numerator), int(value.denominator)
        return numerator * grid.denominator // (denominator * grid.numerator)
    raise ScoreError(f"scores must be numbers, got {type(value).__name__}")


def _floor_decimal(value: Decimal, grid: Fraction) -> int:
    if not value.is_finite():
        raise ScoreError(_NOT_FINITE)
    if not value:
        return 0
    if value.adjusted() < -_MAX_EXPONENT:  # nearer to 0 than any grid step can be
        return -1 if value < 0 else 0
    if value.adjusted() > _MAX_EXPONENT:
        raise ScoreError(_TOO_LARGE)
    numerator, denominator = value.as_integer_ratio()
    return numerator * grid.denominator // (denominator * grid.numerator)


def _grid_hint(kind: str) -> str:
    return (
        f"scores of type {kind} need grid=, a public step such as grid='0.01': they are rounded "
        "down to it; integers need none"
    )


def _type_names(values: Sequence[Any]) -> str:
    return ", ".join(sorted({type(value).__name__ for value in values}))
