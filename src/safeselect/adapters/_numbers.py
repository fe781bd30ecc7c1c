"""Numbers of other libraries: as programs hand them over, and floats rounded towards privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.errors import ParameterError, ScoreError
from safeselect.exact.parameters import as_float, describe, rational
from safeselect.mechanisms.quantiles import reader

_STEPS = 1000
"""Grid steps in the sensitivity: reading widens the noise by 1 or 2 thousandths."""
_LEAST, _MOST = Fraction(1, 10**8), 10**8


def cost(epsilon: object, sensitivity: object, monotonic: object) -> dict[str, Any]:
    """Return the arguments of a mechanism of ours, scores being read on a grid of 1/1000.

    Raises:
        ParameterError: one of them is wrong.
    """
    size = rational(number(sensitivity), "sensitivity")
    total = rational(number(epsilon), "epsilon")
    if not _LEAST <= total <= _MOST:
        raise ParameterError(f"epsilon must be between 1e-8 and 1e8, got {describe(epsilon)}")
    terms = {"epsilon": total, "sensitivity": size, "monotonic": number(monotonic)}
    return {**terms, "grid": size / _STEPS}


def number(value: object) -> object:
    """Return a number for an array without dimensions, of NumPy, JAX or PyTorch; else the value."""
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic):
        return np.asarray(value)[()]
    return value


def scores(given: Any) -> Any:
    """Return scores for the door: a dict of numbers, or a column without labels of its own."""
    if isinstance(given, Mapping):
        return {key: number(value) for key, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [number(value) for value in given]
    # A column of pandas has labels, but these programs count positions.
    is_foreign = hasattr(given, "__array__") and not isinstance(given, np.ndarray)
    return array_of(given) if is_foreign else given


def array_of(given: Any) -> np.ndarray[Any, Any]:
    """Return the same numbers in an array: of the type that an array has, else one by one.

    NumPy would make floats of [2**53 + 1, 0.5], and of columns of which one has floats.
    """
    if isinstance(given, np.ndarray):
        return given.view(np.ndarray)
    if isinstance(given, (list, tuple)):
        return np.array(given, dtype=object)
    ways = (getattr(given, name, None) for name in ("iter_columns", "itercolumns", "items"))
    if len(getattr(given, "shape", ())) == 2 and (walk := next(filter(None, ways), None)):
        columns = [each[1] if isinstance(each, tuple) else each for each in walk()]
        return np.array([list(reader(each).read()) for each in columns], dtype=object).T
    with suppress(ScoreError):  # it is no column of another library
        given = list(reader(given).read())
    return np.array(given, dtype=object)


def at_least(value: Fraction) -> float:
    """Return the smallest float that is at least the value; infinity beyond the largest.

    Requires: value >= 0.
    """
    nearest = as_float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def at_most(value: Fraction) -> float:
    """Return the largest float that is at most the value; 0 below the smallest.

    Requires: value >= 0.
    """
    least = at_least(value)
    return math.nextafter(least, 0) if least > value else least
