"""Items of an unknown domain: integers and strings, read from labels that are private.

- No label raises an error, now or later.  A subclass of a string or a number is read by the methods
  of the class that it extends, so that none of its own methods runs.
- Equal labels are the same item.  A label that equals an integer in Python, such as 1.0, True or
  Decimal(1), is that integer.
- Every other label (None, NaN, a date, a tuple, bytes, 1.5) cannot be an item, nor can an integer
  beyond 2**65536.  This depends on the label only.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.columns import hushed
from safeselect.errors import ParameterError
from safeselect.exact.plain import is_integer, to_int

Label = int | str

_MOST_BITS = 2**16
_MOST_PLACES = 20_000  # before the decimal point: 2**65536 has fewer
_MPQ = type(gmpy2.mpq())


def item(label: Any) -> Label | None:
    """Return the item that a label equals; None for a label that cannot be an item."""
    kind = type(label)
    if kind is str:
        return label  # type: ignore[no-any-return]
    if issubclass(kind, str):
        return str.__str__(label)
    number = whole(label)
    return None if number is None or number.bit_length() > _MOST_BITS else number


def whole(number: object) -> int | None:
    """Return the integer that a number equals; None if it equals none or is not a number.

    A Decimal with more than 20 000 places before the point gives None too: it is beyond any item,
    and writing it out could exhaust the memory.
    """
    if type(number) is int:
        return number
    # NaN and infinity equal no integer; a class of its own may raise anything.
    with suppress(Exception):
        numerator, denominator = _ratio(type(number), number)
        return numerator if denominator == 1 else None
    return None


def _ratio(kind: type, number: Any) -> tuple[int, int]:
    """Return a number as a fraction in lowest terms."""
    if is_integer(kind):
        return to_int(kind, number), 1
    if issubclass(kind, float):
        return float.as_integer_ratio(number)
    if issubclass(kind, (complex, np.complexfloating)):
        real, imaginary = number.real, number.imag
        return (0, 0) if imaginary else _ratio(type(real), real)
    if issubclass(kind, np.floating):
        return number.as_integer_ratio()  # type: ignore[no-any-return]
    if issubclass(kind, Fraction):
        return Fraction(number).as_integer_ratio()
    if issubclass(kind, _MPQ):
        return int(number.numerator), int(number.denominator)
    return _decimal_ratio(Decimal(number)) if issubclass(kind, Decimal) else (0, 0)


def _decimal_ratio(number: Decimal) -> tuple[int, int]:
    if number.is_finite() and number and not 0 <= number.adjusted() <= _MOST_PLACES:
        return (0, 0)  # smaller than 1 in magnitude, or beyond any item
    return number.as_integer_ratio() if number else (0, 1)


def read_items(labels: Iterable[Any], count: int) -> list[Label | None]:
    """Return the items that `count` labels equal, None for labels that cannot be items.

    Raises:
        ParameterError: there are more or fewer labels; never because of a label.
    """
    found = [label if type(label) is str else item(label) for label in _cells(labels)]
    if len(found) != count:
        # The number of items is private here, so the message does not quote it.
        raise ParameterError(
            "labels must be as many as the scores; write one label for each, in the same order"
        )
    return found


def _cells(labels: Any) -> list[Any]:
    """Return the labels of a list or column as Python objects; None for an unreadable cell."""
    dimensions = len(getattr(labels, "shape", (0,)))
    if dimensions != 1:
        raise ParameterError(f"labels must have one dimension, got {dimensions}")
    kind = getattr(labels, "dtype", None)
    # Dates and time spans, which NumPy would turn into integers.  Dates, lists and structs of
    # polars, which panics at dates that Python lacks, and tells standard error of it.
    if getattr(kind, "kind", "") in ("M", "m") or any(
        hasattr(kind, name) and getattr(kind, name)() for name in ("is_temporal", "is_nested")
    ):
        return [None] * len(labels)
    names = [name for name in ("to_pylist", "to_list", "tolist") if hasattr(labels, name)]
    if not names:
        return list(labels)
    for name in names:
        with hushed():  # another library's error may quote a label
            return list(getattr(labels, name)())
    cells: list[Any] = []
    for place in range(len(labels)):
        cells.append(None)
        with hushed():
            cell = labels[place]
            cells[place] = cell.as_py() if hasattr(cell, "as_py") else cell
    return cells
