"""One score as an exact ratio of integers, whatever its type."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.errors import ScoreError
from safeselect.selection._float_columns import NOT_FINITE

__all__ = ["CONVERT", "FLOATS", "NULL", "is_integer", "ratio", "to_int"]

FLOATS = (float, np.float16, np.float32, np.float64)
_INTEGERS = (int, np.integer, np.bool_, type(gmpy2.mpz()))
_RATIONALS = (Fraction, type(gmpy2.mpq()))
_MAX_EXPONENT = 4096  # beyond which the integer of a Decimal could exhaust the memory
_BEYOND = 10**_MAX_EXPONENT
_MAX_BITS = _BEYOND.bit_length()
_TOO_LARGE = "scores must be below 10**4096 in size"
NULL = "scores must not contain nulls: decide what a missing score means before selecting"
CONVERT = "convert them to integers first, such as {}"


def is_integer(kind: type) -> bool:
    """Whether numbers of this class are integers; True and False are 1 and 0.

    Not whatever has an `__index__`: of arrays and tensors only those of integers can be read so,
    and which ones they are may follow from the data.
    """
    return issubclass(kind, _INTEGERS) and not issubclass(kind, np.timedelta64)


def to_int(kind: type, value: Any) -> int:
    """A number of a class of integers as Python's own: by the plain type's method, for a subclass
    may have another.
    """
    return int.__int__(value) if issubclass(kind, int) else int(value)


def ratio(value: Any) -> tuple[int, int]:
    """A score as numerator and denominator.

    A float is the binary number that it is: scores are computed, parameters are typed.
    """
    kind = type(value)
    if is_integer(kind):
        return _limited(to_int(kind, value), 1)
    if issubclass(kind, float):
        value = float.__float__(value)
    if issubclass(kind, FLOATS):
        if not np.isfinite(value):
            raise ScoreError(NOT_FINITE)
        above, below = value.as_integer_ratio()
        return above, below
    if issubclass(kind, Decimal):
        return _decimal(Decimal(value))
    if issubclass(kind, _RATIONALS):
        return _limited(int(value.numerator), int(value.denominator))
    raise _no_number(value)


def _limited(above: int, below: int) -> tuple[int, int]:
    """The same limit for all types, so that equal numbers of any two are refused together."""
    # Digits first: only numbers that are large are compared.
    if above.bit_length() - below.bit_length() >= _MAX_BITS - 1 and abs(above) >= below * _BEYOND:
        raise ScoreError(_TOO_LARGE)
    return above, below


def _decimal(value: Decimal) -> tuple[int, int]:
    if not value.is_finite():
        raise ScoreError(NOT_FINITE)
    if value and value.adjusted() >= _MAX_EXPONENT:
        raise ScoreError(_TOO_LARGE)
    if value and value.adjusted() < -_MAX_EXPONENT:
        # Nearer to 0 than half a step of any grid can be, and no integer.
        return (-1 if value < 0 else 1), 1 << 4 * _MAX_EXPONENT
    return value.as_integer_ratio()


def _no_number(value: object) -> ScoreError:
    if value is None:
        return ScoreError(NULL)
    instead = (
        "pass one row of numbers; select_many takes many rows at once"
        if isinstance(value, (list, tuple, np.ndarray))
        else CONVERT.format("[int(score) for score in scores]")
    )
    return ScoreError(f"scores must be numbers, got {type(value).__name__}; {instead}")
