"""The written form of guarantees and of numbers: one spelling for each."""

from __future__ import annotations

import re
from dataclasses import fields
from fractions import Fraction
from typing import Any

import gmpy2

Content = str | list["Content"] | dict[str, "Content"]

_EXACT = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)


def exact_text(value: Fraction) -> str:
    """A number as records spell it: exact, in lowest terms.

    GMP writes the digits, because Python may limit how many digits of an int str() writes.
    """
    above, below = gmpy2.mpz(value.numerator).digits(), value.denominator
    return above if below == 1 else f"{above}/{gmpy2.mpz(below).digits()}"


def read_exact(written: str) -> Fraction:
    """Read what `exact_text` writes, with any number of digits.

    Raises:
        ValueError: it is another spelling, or no number.
    """
    match = _EXACT.fullmatch(written)
    above, below = match.groups() if match else ("0", "0")
    # GMP reads the digits: Python may limit how many int() reads.
    divisor = int(gmpy2.mpz(below or "1"))
    value = Fraction(int(gmpy2.mpz(above)), divisor or 1)
    if not divisor or exact_text(value) != written:
        raise ValueError("it is no number in its one spelling")
    return value


def guarantee_record(guarantee: Any) -> dict[str, Content]:
    """A guarantee as content: its type and its numbers, or the guarantee that it is about."""
    given = ((field.name, getattr(guarantee, field.name)) for field in fields(guarantee))
    texts = {n: exact_text(v) if isinstance(v, Fraction) else guarantee_record(v) for n, v in given}
    return {"type": type(guarantee).__name__, **texts}
