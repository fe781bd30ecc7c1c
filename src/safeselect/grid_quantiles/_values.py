"""Values that are handed over: known by their class alone until they are paid for.

Lists, arrays and columns are those that `scores.containers` knows.  What runs code of its own while
it is iterated, such as a generator, is refused by its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safeselect.columns import hushed
from safeselect.errors import ScoreError
from safeselect.scores.containers import LISTS, hand_over, table_reader


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Later:
    """Values that are read once they are paid for, and whose they are, where that is said."""

    read: Callable[[], Sequence[Any]]
    unit: str | None


def reader(values: object) -> Later:
    """How to read values once they are paid for; only their class and their shape are looked at.

    Raises:
        ScoreError: another class, or not one dimension.
    """
    if type(values) is Later:
        return values
    if type(values) is range:
        return Later(lambda: values, None)
    column: Any = None
    with hushed():  # only the class, or the shape, is wrong; the sentence below says it of values
        column = hand_over(values)
    if column is None:
        kind = type(values)
        instead = "write one value for each unit of privacy"
        if issubclass(kind, Mapping):
            instead = "write list(values.values()) for one value of each unit of privacy"
        elif issubclass(kind, Iterable) and not issubclass(kind, (str, bytes)):
            instead = "write list(values) for one value of each unit of privacy"
        raise ScoreError(
            "values must be a list, a tuple, a range, a NumPy array or a column of pandas, polars "
            f"or Arrow, of one dimension, got {kind.__name__}; {instead}"
        )
    held = column.held
    return Later(lambda: _cells(held), None)


def _cells(held: Any) -> Sequence[Any]:
    """The values as Python objects, which a grid reads one by one.

    Raises:
        ScoreError: another library cannot read its column; its own error may quote a cell.
    """
    if id(type(held)) in LISTS:
        return tuple(held)
    if isinstance(held, np.ndarray):
        return _of_array(held)
    with hushed():
        kind = getattr(held, "dtype", None)
        # polars panics at dates that Python lacks, and tells standard error of it.
        if getattr(kind, "is_nested", bool)():
            return [None] * len(held)
        if getattr(kind, "is_temporal", bool)():
            return _of_array(held.dt.date().to_numpy())
        return table_reader().names(held)
    raise ScoreError(f"values of type {type(held).__name__} cannot be read")


def _of_array(array: np.ndarray[Any, Any]) -> list[Any]:
    # NumPy turns spans and fine times into integers; each is read as what it is.
    return array.tolist() if array.dtype.kind in "biufO" else list(array)
