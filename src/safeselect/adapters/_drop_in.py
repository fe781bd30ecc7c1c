"""What the drop-ins share: numbers as numerical programs hand them over, and a grid for scores."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, rational

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
    return {
        "epsilon": total,
        "sensitivity": size,
        "monotonic": number(monotonic),
        "grid": size / _STEPS,
    }


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
    return np.asarray(given) if hasattr(given, "__array__") else given
