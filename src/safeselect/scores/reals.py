"""One private number, of whatever type: finite, infinite or NaN.

`scores.numbers` refuses what is not finite.  Here infinities and NaN have a place among all
numbers, for mechanisms that need no distance from them.  Equal numbers have equal places in all
types.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect.errors import ScoreError
from safeselect.exact.parameters import plain, ratio_of
from safeselect.scores.numbers import ratio

Place = tuple[int, Fraction]
"""Larger for larger numbers: 0 for NaN, 1 for -infinity, 2 and the number, 3 for infinity."""

_NAN = 0, Fraction(0)
_EXPONENT = 4096
_FAR = 10**_EXPONENT
_FAR_BITS = _FAR.bit_length()
_TINY = Fraction(1, 1 << 4 * _EXPONENT)
_DIGITS, _MOST_PLACES = 53, 1074  # of a double: bits, and places after the binary point


def place_of(value: Any) -> Place:
    """Where a number stands among all, by its value alone.

    - An integer is itself, as are True and False, 1 and 0.
    - A number that a double holds exactly, in whatever type, is the shortest decimal that reads
      back as it: 0.3 is 3/10, and so is Fraction(0.3).  That is within half of its last bit.
    - Any other number is itself.
    - From 10**4096 on a number counts as infinite.  All below 10**-4096 in size count as equal, and
      are not 0.

    The plain type's methods read the number: a subclass may have others.

    Raises:
        ScoreError: the class is no class of real numbers.
    """
    number = plain(value)
    if number is None:
        raise ScoreError(f"expected a number, got {type(value).__name__}")
    if isinstance(number, Decimal):
        return _of_decimal(number)
    return _of_double(number) if isinstance(number, float) else _finite(*ratio_of(number))


def _infinite(is_negative: object) -> Place:
    return (1 if is_negative else 3), Fraction(0)


def _of_double(number: Any) -> Place:
    if number != number:
        return _NAN
    text = repr(number)
    if "inf" in text:
        return _infinite(number < 0)
    above, below = number.as_integer_ratio()
    return 2, Fraction(above) if below == 1 else Fraction(Decimal(text))


def _of_decimal(value: Decimal) -> Place:
    if value.is_nan():
        return _NAN
    # By the exponent, before any big arithmetic.
    if value.is_infinite() or (value and value.adjusted() >= _EXPONENT):
        return _infinite(value.is_signed())
    return _finite(*ratio(value)) if value else _finite(0, 1)


def _finite(above: int, below: int) -> Place:
    # The bit lengths come first, so that only numbers of about this size are multiplied.
    size = above.bit_length() - below.bit_length()
    if size > _FAR_BITS or (size >= _FAR_BITS - 2 and abs(above) >= below * _FAR):
        return _infinite(above < 0)
    tiny = size < -_FAR_BITS or (size <= 2 - _FAR_BITS and abs(above) * _FAR < below)
    if above and tiny:
        return 2, -_TINY if above < 0 else _TINY
    number = Fraction(above, below)
    above, below = number.as_integer_ratio()
    places = below.bit_length() - 1
    if not 0 < places <= _MOST_PLACES or below != 1 << places or above.bit_length() > _DIGITS:
        return 2, number
    # Exact: a double has all these digits.
    return _of_double(float(np.ldexp(above, -places)))
