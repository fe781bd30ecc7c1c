"""Parameters as typed: an epsilon, sensitivity or delta becomes the exact rational that was typed.

Records spell every number in one way only: `exact_text` writes it, `read_exact` reads it.

Sizes are limited *before* any big arithmetic: when a number outgrows its memory, GMP does not raise
but ends the whole process.

The class of a number alone says that it is one.  The methods of the class that it extends read it,
so that none of its own runs: a subclass may say anything of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from gmpy2 import mpq, mpz

from safeselect.errors import ParameterError

Number = int | str | Fraction | Decimal | float
"""An exact parameter: 1, "0.1", Fraction(1, 3); a float counts as the decimal that it prints."""

MAX_BITS = 4096
"""Largest bit length of a parameter's numerator and of its denominator."""

_SMALL = 1 << 32  # people mostly type integers below this: each is read once, and kept
_MAX_DIGITS = 1234  # decimal digits of 2**MAX_BITS, and far below int()'s own limit
_TOO_LONG = f"has too many digits: at most {_MAX_DIGITS} are read"
_FRACTION = re.compile(r"([+-]?[0-9]+)(?:/([0-9]+))?", re.ASCII)
_EXACT = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)
# NumPy counts its booleans and time spans among the numbers.
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)
# Examples for messages, by the last word of a parameter's name.
_EXAMPLES = {"delta": "'1e-9'", "epsilon": "1 or '0.1'", "grid": "'0.01'", "sensitivity": "1"}
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)

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


def describe(value: object) -> str:
    """A parameter in words for an error message: its type, and its value when it is short."""
    kind = type(value).__name__
    if isinstance(value, (int, Fraction)) and (bits := _bits(plain(value))) > 128:
        # Not through repr(): Python limits how many digits it prints, and may raise.
        return f"{kind} of {bits} bits"
    if isinstance(value, (bool, int, float, str, Decimal, Fraction)) or value is None:
        text = repr(value)
        return f"{text} ({kind})" if len(text) <= 60 else f"a {kind} of {len(text)} characters"
    return f"an object of type {kind}"


def integer(value: object, name: str, *, minimum: int, maximum: int, limit: str = "") -> int:
    """Read an integer parameter; booleans and numbers that merely equal an integer are refused.

    Args:
        value, name: what the caller passed, and the parameter's name for messages.
        minimum, maximum: the least and the largest integer allowed.
        limit: what the maximum stands for, in messages.

    Raises:
        ParameterError: not an int (or NumPy integer), or outside minimum .. maximum.
    """
    kind = type(value)
    if issubclass(kind, _NO_NUMBERS) or not issubclass(kind, (int, np.integer)):
        example = min(max(3, minimum), maximum)
        raise ParameterError(f"{name} must be an integer such as {example}, got {describe(value)}")
    number: int = plain(value)
    if not minimum <= number <= maximum:
        limits = f"between {minimum} and {maximum}" + ", which is impossible" * (maximum < minimum)
        why = f"; {maximum} is {limit}" if limit else ""
        raise ParameterError(f"{name} must be {limits}, got {describe(number)}{why}")
    return number


def rational(
    value: object, name: str, *, below: int | None = None, zero: bool = False, signed: bool = False
) -> Fraction:
    """Read a positive parameter as the exact rational that was typed.

    Accepts int, Fraction, Decimal, gmpy2 mpz and mpq, strings such as "1/3", "0.1" and "1e-6",
    NumPy integers, and floats: a float stands for its shortest decimal form, so 0.1 is 1/10.

    Args:
        value: what the caller passed.
        name: the parameter's name, for messages.
        below: an exclusive upper limit, if there is one.
        zero: whether zero is allowed too (in guarantees, never in what a call asks for).
        signed: whether zero and negative numbers are allowed too (for places, never for sizes).

    Raises:
        ParameterError: another type, a boolean, NaN, infinity, zero, a negative number, a number
            of more than MAX_BITS bits, or one that is not below `below`.
    """
    if type(value) is int and 0 < value < _SMALL and below is None:
        return _small(value)
    number = value if type(value) is Fraction else _read(value, name)
    _check_size(number, name)
    if not signed and (number.numerator < 0 or (number.numerator == 0 and not zero)):
        least = "at least" if zero else "greater than"
        raise _wrong(f"{least} zero", value, name)
    if below is not None and number.numerator >= below * number.denominator:
        raise _wrong(f"less than {below}", value, name)
    return number


_small = lru_cache(maxsize=256)(Fraction)


def _read(value: Any, name: str) -> Fraction:
    kind = type(value)
    if issubclass(kind, _NO_NUMBERS):
        raise _wrong("a number", value, name)
    if issubclass(kind, str):
        return _read_text(str.__str__(value), name, value)
    number = plain(value)
    if issubclass(kind, np.floating):
        # str() of every NumPy float is the shortest decimal that reads back as the same number.
        number = np.generic.astype(value, value.dtype)
    if isinstance(number, (float, np.floating, Decimal)):
        return _read_text(str(number), name, value)
    if number is not None:
        # The size is checked first, because building a Fraction takes a greatest common divisor.
        _check_size(number, name)
        return Fraction(*ratio_of(number))
    raise ParameterError(
        f"{name} must be an int, Fraction, Decimal or float, or a string such as '1/3' or '0.1', "
        f"got {describe(value)}"
    )


def _read_text(text: str, name: str, value: object) -> Fraction:
    # The cache never keeps a text that is too long.
    number = _parsed(text) if len(text) <= 2 * _MAX_DIGITS else _TOO_LONG
    if isinstance(number, Fraction):
        return number
    if number is None:
        raise _wrong("a finite number", value, name, comma="," in text)
    raise ParameterError(f"{name} {number}")


@lru_cache(maxsize=256)
def _parsed(text: str) -> Fraction | str | None:
    """The number, or what is wrong with it in words; None if the text is no number."""
    if match := _FRACTION.fullmatch(text):
        numerator, denominator = match.group(1), match.group(2) or "1"
        if max(len(numerator), len(denominator)) > _MAX_DIGITS:
            return _TOO_LONG
        # Decimal's constructor is exact.  int() has a limit of digits that any code may lower.
        above, below = int(Decimal(numerator)), int(Decimal(denominator))
        return Fraction(above, below) if below else "must not have a denominator of zero"
    if not _DECIMAL.fullmatch(text):
        return None
    decimal = Decimal(text)  # the constructor is exact: it never rounds to the context
    exponent = decimal.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _MAX_DIGITS:
        return f"must have an exponent between -{_MAX_DIGITS} and {_MAX_DIGITS}"
    return Fraction(decimal)


def _wrong(wanted: str, value: object, name: str, *, comma: bool = False) -> ParameterError:
    example = _EXAMPLES.get(name.rpartition("_")[2], "'0.5'")
    instead = "use a decimal point, not a comma" if comma else f"for example {example}"
    return ParameterError(f"{name} must be {wanted}, got {describe(value)}; {instead}")


def _check_size(value: Any, name: str) -> None:
    if _bits(value) > MAX_BITS:
        raise ParameterError(
            f"{name} must have a numerator and a denominator of at most {MAX_BITS} bits each"
        )


def _bits(value: Any) -> int:
    """The longer of numerator and denominator, in bits."""
    return max(int(value.numerator.bit_length()), int(value.denominator.bit_length()))


def read_choice(value: object, name: str, choices: tuple[str, ...], more: str = "") -> None:
    """Check an argument that is one of some words.

    A subclass of str is refused: it may equal a word, and print or compare as another.

    Raises:
        ParameterError: it is none of them.
    """
    if type(value) is not str or value not in choices:
        *others, last = (f"'{choice}'" for choice in choices)
        raise ParameterError(
            f"{name} must be {', '.join(others)} or {last}, got {describe(value)}{more}"
        )


def read_list(value: object, name: str, more: str = "") -> list[Any]:
    """Return the members of a list, or of anything else that has members in an order.

    Raises:
        ParameterError: it is a text, bytes or a mapping, or has no members.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ParameterError(f"{name} must be a list, got {describe(value)}{more}")
    return list(value)


def as_float(value: Any) -> float:
    """The nearest float; beyond the largest, an infinite one."""
    try:
        return float(value)
    except OverflowError:
        return float("inf" if value > 0 else "-inf")


def exact_text(value: Fraction) -> str:
    """A number as records spell it: exact, in lowest terms.

    GMP writes the digits, because Python may limit how many digits of an int str() writes.
    """
    above, below = mpz(value.numerator).digits(), value.denominator
    return above if below == 1 else f"{above}/{mpz(below).digits()}"


def read_exact(written: str) -> Fraction:
    """Read what `exact_text` writes, with any number of digits.

    Raises:
        ValueError: it is another spelling, or no number.
    """
    match = _EXACT.fullmatch(written)
    above, below = match.groups() if match else ("0", "0")
    # GMP reads the digits: Python may limit how many int() reads.
    divisor = int(mpz(below or "1"))
    value = Fraction(int(mpz(above)), divisor or 1)
    if not divisor or exact_text(value) != written:
        raise ValueError("the number is not in canonical form")
    return value
