"""Reading numbers that were released: they may be negative, and no message quotes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from fractions import Fraction

from safeselect.errors import ParameterError
from safeselect.exact.parameters import MAX_BITS, rational


def read_released(value: object, name: str) -> Fraction:
    """Read a number as `rational` does.

    A message names its type only: a caller may pass the private count by mistake.

    Raises:
        ParameterError: not a finite number, or one of too many bits.
    """
    try:
        return rational(value, name, signed=True)
    except ParameterError:
        pass
    raise ParameterError(
        f"{name} must be a finite number of at most {MAX_BITS} bits above and below the line, "
        f"got {type(value).__name__}"
    )


def read_gap(value: object, name: str = "gap") -> Fraction:
    """Read a gap of an answer or a winner, which is never negative."""
    gap = read_released(value, name)
    if gap < 0:
        raise ParameterError(f"{name} must not be negative")
    return gap


def read_released_list(values: object, name: str) -> list[Fraction]:
    """Read a list, tuple or array of numbers.

    Raises:
        ParameterError: the value is not an ordered list, or an element is not a number.
    """
    if (
        not isinstance(values, Iterable)
        or isinstance(values, (str, bytes, Set, Mapping))
        or getattr(values, "ndim", 1) != 1
    ):
        raise ParameterError(f"{name} must be a list of numbers, got {type(values).__name__}")
    return [read_released(value, f"{name}[{place}]") for place, value in enumerate(values)]


def read_choice(value: object, name: str, allowed: tuple[str, ...]) -> str:
    """Read one of a few words."""
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(map(repr, allowed[:-1]))
    raise ParameterError(f"{name} must be {words} or {allowed[-1]!r}, got {type(value).__name__}")
