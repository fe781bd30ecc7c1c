"""The second look, after the charge: types and values of the scores that were handed over.

Columns become plain arrays of 64-bit integers or floats where that loses nothing, and otherwise are
read number by number, each as an exact ratio of integers.  No message quotes a cell, nor is an
error of another library, which may quote one, passed on.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.errors import ScoreError
from safeselect.scores.reading import Reading, nearest

__all__ = [
    "NOT_FINITE",
    "ONE_COLUMN",
    "NotWholeError",
    "Numbers",
    "count_nulls",
    "is_integer",
    "nearest_steps",
    "numbers_of",
    "ratio",
    "to_int",
]

Numbers = np.ndarray[Any, Any] | Sequence[Any]

_FLOATS = (float, np.float16, np.float32, np.float64)
_INTEGERS = (int, np.integer, np.bool_, type(gmpy2.mpz()))
_RATIONALS = (Fraction, type(gmpy2.mpq()))
_MAX_EXPONENT = 4096  # beyond which the integer of a Decimal could exhaust the memory
_BEYOND = 10**_MAX_EXPONENT
_MAX_BITS = _BEYOND.bit_length()
_WIDE = ("Int128", "UInt128")  # polars' integers for which NumPy has no type
_ENCODED = ("dictionary<", "run_end_encoded<")  # pyarrow's, whose nulls are not counted outside

NOT_FINITE = (
    "scores must be finite numbers: NaN and infinity are refused; decide what such a record counts "
    "before records are added up"
)
ONE_COLUMN = (
    "scores must have one dimension, got {} with {}; pass one column, such as table['votes'], or "
    "one row; select_many takes many rows at once"
)
_TOO_LARGE = "scores must be below 10**4096 in size"
_NULL = "scores must not contain nulls: decide what a missing score means before selecting"
_CONVERT = "scores must be numbers, got {}; convert them to integers first, such as {}"


class NotWholeError(Exception):
    """A score that should be an integer is none; told to the caller as a `ScoreError`."""


def numbers_of(held: Any, size: int) -> Numbers:
    """The scores as a plain array of integers or floats, or as numbers to be read one by one.

    Args:
        held: a list, a tuple, a plain array or a column of another library.
        size: how many scores there were when they were handed over.

    Raises:
        ScoreError: nulls, a type that is no number, or another number of scores.
    """
    name = type(held).__name__
    if isinstance(held, np.ndarray):
        values: Numbers = np.asarray(held)
    else:
        values = tuple(held) if type(held) in (list, tuple) else _convert(held)
    if isinstance(values, np.ndarray) and values.ndim != 1:  # a column of arrays
        raise ScoreError(ONE_COLUMN.format(name, values.ndim))
    if len(values) != size:
        raise ScoreError("the scores changed their number while they were read")
    if not isinstance(values, np.ndarray) or values.dtype.kind == "O":
        cells = tuple(values)  # a tuple is itself
        packed = _packed(cells)
        return cells if packed is None else packed
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    # By type, so that the byte order does not matter; and no text of a dtype: for strings it tells
    # how long the longest one is.
    if issubclass(values.dtype.type, _FLOATS):
        return values.astype(np.float64)  # every narrower float is one of these
    cell = values.dtype.type.__name__
    raise ScoreError(_CONVERT.format(f"{name} of {cell}", "scores.astype(int)"))


def _packed(values: tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """Integers of 64 bits, or floats, as an array; None for any other numbers."""
    try:
        # Checks the size of each, unlike NumPy, to which [2**63, -1] are floats.
        words = struct.Struct(f"{len(values)}q").pack(*values)
        # Whatever has an index was packed.  Integers of other classes than Python's own add up to
        # something of their own class: a third of the time that looking at each class takes.
        plain = type(sum(values)) is int
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - of whatever stands in the list: its class is looked at below
        words, plain = b"", False
    if not plain:
        kinds = set(map(type, values))
        if kinds.issubset(_FLOATS):
            return np.array(values, dtype=np.float64)
        if not words or not all(map(is_integer, kinds)):
            return None
    return np.frombuffer(words, dtype=np.int64)


def _convert(column: Any) -> Numbers:
    """Another library's column as an array, or as Python's integers where NumPy has no type."""
    nulls, values = 0, None
    try:
        if str(getattr(column, "type", "")).startswith(_ENCODED):
            column = column.cast(column.type.value_type)
        # Counted before conversion, because converting turns nulls into NaN or into zeros.
        nulls = count_nulls(column)
        if not nulls:
            is_wide = str(getattr(column, "dtype", None)) in _WIDE
            values = list(column.to_list()) if is_wide else np.asarray(column)
    except Exception:  # noqa: BLE001, S110 - whatever it is, ours is raised below, without a context
        pass
    if nulls:
        raise ScoreError(_NULL)
    if values is None:
        raise ScoreError(f"scores of type {type(column).__name__} cannot be read as an array")
    return values


def count_nulls(column: Any) -> int:
    """How many cells of another library's column are missing."""
    nulls = getattr(column, "null_count", None)
    if nulls is None:
        is_null = getattr(column, "isna", None)
        return 0 if is_null is None else int(is_null().sum())
    return int(nulls() if callable(nulls) else nulls)


def nearest_steps(values: Numbers, reading: Reading) -> list[int]:
    """The number of the nearest step of each value, halves up, number by number.

    Raises:
        NotWholeError: without a grid, one is no integer.
        ScoreError: one is no number, or none that can be read.
    """
    p, q = reading.step.as_integer_ratio()
    found = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        above, below = ratio(value)
        if reading.grid is None and above % below:
            raise NotWholeError
        found.append(nearest(above, below, p, q))
    return found


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
    """A score as numerator and denominator, not always in lowest terms.

    A float is the binary number that it is: scores are computed, parameters are typed.

    Raises:
        ScoreError: no number, not finite, or 10**4096 or more in size.
    """
    kind = type(value)
    if is_integer(kind):
        return _limited(to_int(kind, value), 1)
    if issubclass(kind, float):
        value = float.__float__(value)
    if issubclass(kind, _FLOATS):
        if not np.isfinite(value):
            raise ScoreError(NOT_FINITE)
        above, below = value.as_integer_ratio()
        return above, below
    if issubclass(kind, Decimal):
        return _decimal(Decimal(value))
    if issubclass(kind, _RATIONALS):
        return _limited(int(value.numerator), int(value.denominator))
    if value is None:
        raise ScoreError(_NULL)
    if isinstance(value, (list, tuple, np.ndarray)):
        raise ScoreError(
            f"scores must be numbers, got {kind.__name__}; pass one row of numbers; select_many "
            "takes many rows at once"
        )
    raise ScoreError(_CONVERT.format(kind.__name__, "[int(score) for score in scores]"))


def _limited(above: int, below: int) -> tuple[int, int]:
    """The same limit for all types, so that equal numbers of any two are refused together."""
    # Digits first: only numbers that are large are compared.
    if above.bit_length() - below.bit_length() >= _MAX_BITS - 1 and abs(above) >= below * _BEYOND:
        raise ScoreError(_TOO_LARGE)
    return above, below


def _decimal(value: Decimal) -> tuple[int, int]:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ScoreError(NOT_FINITE)
    if not value:
        return 0, 1
    if value.adjusted() >= _MAX_EXPONENT:
        raise ScoreError(_TOO_LARGE)
    if value.adjusted() < -_MAX_EXPONENT:
        # Nearer to 0 than half a step of any grid can be, and no integer.
        return (-1 if sign else 1), 1 << 4 * _MAX_EXPONENT
    # By way of GMP: Python takes two seconds for 200 000 digits.
    above = int(gmpy2.mpz("".join(map(str, digits)))) * (-1 if sign else 1)
    power = int(gmpy2.mpz(10) ** abs(exponent))
    return (above * power, 1) if exponent > 0 else (above, power)
