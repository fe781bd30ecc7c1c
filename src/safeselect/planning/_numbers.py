"""Numbers and tables in a short form for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number


def each_of(epsilons: Number | Iterable[Number]) -> list[Number]:
    """One epsilon or several, as a list; text is one number.

    Raises:
        ParameterError: there is none.
    """
    one = isinstance(epsilons, str) or not isinstance(epsilons, Iterable)
    found: list[Any] = [epsilons] if one else [*epsilons]  # type: ignore[misc]  # told by `one`
    if not found:
        raise ParameterError("give one epsilon or more")
    return found


def decimal(value: Fraction) -> str:
    """Write a number of at least 0 with four significant digits; a whole number in full."""
    if value.denominator == 1 and value < 10**9:
        return str(value)
    above, below = value.as_integer_ratio()
    places, limit = 0, 4 * below.bit_length()
    while above < 1000 * below and places < limit:
        above, places = 10 * above, places + 1
    return f"{Decimal(round(Fraction(above, below))).scaleb(-places):.4g}"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
