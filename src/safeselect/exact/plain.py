"""A number of any class, as a number of Python's own.

The class alone says what is a number.  The methods of the class that it extends read it, so that
none of its own runs: a subclass may say anything of itself.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq, mpz

FLOATS = (float, np.float16, np.float32, np.float64)
INTEGERS = frozenset((int, bool, np.bool_, type(mpz()), *(np.dtype(c).type for c in "bBhHiIlLqQ")))
_EXTENDED = (int, np.integer, np.bool_, type(mpz()))
_PLAIN = frozenset((int, float, Decimal, Fraction, type(mpq())))
_ABOVE, _BELOW = (vars(Fraction)[name].fget for name in ("numerator", "denominator"))


def is_integer(kind: type) -> bool:
    """Whether numbers of this class are integers; True and False are 1 and 0.

    An `__index__` is not enough: arrays and tensors have a usable one only if they hold integers,
    and whether they do may follow from the data.
    """
    return issubclass(kind, _EXTENDED) and not issubclass(kind, np.timedelta64)


def to_int(kind: type, value: Any) -> int:
    """A number of a class of integers as Python's own."""
    held = np.generic.item(value) if issubclass(kind, np.generic) else value
    return int.__int__(held) if isinstance(held, int) else int(held)


def plain(value: Any) -> Any:
    """Return the number that is equal; None if the class has no numbers.

    Returns:
        An int, float, Decimal, Fraction or mpq, of exactly that class.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if issubclass(kind, Decimal):
        return Decimal(value)
    if is_integer(kind):
        return to_int(kind, value)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, Fraction):
        return mpq(_ABOVE(value), _BELOW(value))  # GMP divides by large factors quickly
    return np.generic.item(value) if issubclass(kind, FLOATS) else None


def ratio_of(number: Any) -> tuple[int, int]:
    """Numerator and denominator of a finite number that `plain` returned."""
    above, below = number.as_integer_ratio()
    return int(above), int(below)
