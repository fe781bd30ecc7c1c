"""Items of an unknown domain: texts, read from labels that are private.

- No label raises an error, now or later.  A subclass of a string or a number is read by the methods
  of the class that it extends, so that none of its own methods runs.
- An item is a text, and equal labels have one spelling.  A text is itself.  A whole number of any
  type is its decimal digits: 1, 1.0, True and Decimal(1) are '1', as the text '1' is.  Any other
  number is its shortest plain decimal: of one that a float of 64 bits holds, the fewest digits that
  tell it from all other floats, so that 0.1 is '0.1'; of others, all their digits.
- Every other label (None, NaN, a date, a tuple, bytes, 1/3) can be no item, nor can an integer
  beyond 2**65536, or another number beyond 10**4096 or below 2**-13108 in size.  This
  depends on the label only.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from safeselect.errors import ParameterError
from safeselect.exact.plain import is_integer, to_int
from safeselect.scores.columns import hushed
from safeselect.scores.reals import place_of

_MOST_BITS = 2**16
_MOST_PLACES = 20_000  # before the decimal point, or behind it: 2**65536 has fewer
_MPQ = type(gmpy2.mpq())


def item(label: Any) -> str | None:
    """Return the text that a label is; None for a label that can be no item."""
    kind = type(label)
    if kind is str:
        return label  # type: ignore[no-any-return]
    if issubclass(kind, str):
        return str.__str__(label)
    # NaN and infinity are no ratio; a class of its own may raise anything.
    with suppress(Exception):
        return _spelled(*_ratio(kind, label))
    return None


def _spelled(numerator: int, denominator: int) -> str | None:
    """The one spelling of a number in lowest terms; None for one that can be no item."""
    size = numerator.bit_length(), denominator.bit_length()
    if max(size) > _MOST_BITS or size[0] - size[1] < -_MOST_BITS // 5:
        return None
    places = 0
    if denominator > 1:
        # Of a number that a float holds the decimal that this float is written as.
        above, below = place_of(Fraction(numerator, denominator))[1].as_integer_ratio()
        places = below.bit_length()  # enough for each decimal that ends
        numerator, rest = divmod(above * 10**places, below)
        if rest or not numerator:
            return None
    # GMP writes the digits: Python may limit how many digits of an int str() writes.
    written = str(gmpy2.mpz(numerator).digits())
    return format(Decimal(f"{written}e-{places}"), "f").rstrip("0") if places else written


def _ratio(kind: type, number: Any) -> tuple[int, int]:
    """Return a number as a fraction in lowest terms.

    Raises:
        ValueError: it is no number.  NaN, infinity and odd classes raise as they like.
    """
    if is_integer(kind):
        return to_int(kind, number), 1
    if issubclass(kind, float):
        return float.as_integer_ratio(number)
    if issubclass(kind, (complex, np.complexfloating)) and not number.imag:
        return _ratio(type(number.real), number.real)
    if issubclass(kind, np.floating):
        return number.as_integer_ratio()  # type: ignore[no-any-return]
    if issubclass(kind, Fraction):
        return Fraction.as_integer_ratio(number)
    if issubclass(kind, _MPQ):
        return int(number.numerator), int(number.denominator)
    if issubclass(kind, Decimal):
        return _decimal_ratio(Decimal(number))
    raise ValueError(kind)


def _decimal_ratio(number: Decimal) -> tuple[int, int]:
    whole = number.to_integral_value()
    number = whole if number == whole else number
    # Written out, a short Decimal may fill the memory.
    if number and not -_MOST_PLACES <= number.adjusted() <= _MOST_PLACES:
        raise ValueError("too large or too small")
    return number.as_integer_ratio()


def read_items(labels: Iterable[Any], count: int) -> list[str | None]:
    """Return the items that `count` labels are, None for labels that can be no items.

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
