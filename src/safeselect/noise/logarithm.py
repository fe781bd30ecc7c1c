"""Natural logarithms in integers, for the ordinary case: quicker than MPFR, to 74 digits.

A number is written 2**-z * x with x in [1/2, 1), and x lies in one of 512 cells.  The cell has a
factor c, a little less than 1 / (upper end of the cell), so that c * x = 1 - r with 0 <= r < 2**-9,
and

    -ln x = ln c - ln(1 - r),    -ln(1 - r) = r + r**2 / 2 + r**3 / 3 + ...

of which seven terms are taken; the rest is less than r**8 / 8 * 513/512 < 2**-74.  In the last cell
c is 1, so near 1 the logarithm is the series alone and relatively as exact: the rest is below
2**-65 r.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from safeselect.exact.interval import Interval

__all__ = ["DIGITS", "minus_log"]

DIGITS = 160
_ONE = 1 << DIGITS
_CELL_BITS = 9
_CELLS = 1 << _CELL_BITS
_FACTOR_BITS = 21
_WIDTH = 168  # digits to which arguments are brought; the longest, 111 * 2**160, has 167


def _log(value: Fraction) -> int:
    """ln(value) in units of 2**-160, rounded down."""
    return Interval.of(value, DIGITS + 32).log().scaled(DIGITS)[0]


def _cell(number: int) -> tuple[int, int]:
    """The factor of a cell in units of 2**-21, and its logarithm in units of 2**-160."""
    factor = (1 << _FACTOR_BITS + _CELL_BITS + 1) // (_CELLS + number + 1)
    return factor, _log(Fraction(factor, 1 << _FACTOR_BITS))


@cache
def _table() -> tuple[tuple[tuple[int, int], ...], int]:
    """All cells, and ln 2: worked out when first needed, in some milliseconds."""
    return tuple(_cell(number) for number in range(_CELLS)), _log(Fraction(2))


def minus_log(v: int, bits: int) -> int:
    """-ln(v / 2**bits) in units of 2**-160, off by less than 2**-74 in all.

    Requires: 0 < v < 2**168, bits <= 160.
    Exactness: off by less than 2**-65 of its value and 2**-156 where v / 2**bits is in (1023/1024,
        1).  Roundings: r up by one unit of 2**-160, each term down by two, the cell's logarithm by
        one, and ln 2 by one as often as it counts.
    Reveals: the same steps for all v.
    """
    length = v.bit_length()
    mantissa = v << _WIDTH - length
    cells, ln2 = _table()
    factor, total = cells[(mantissa >> _WIDTH - _CELL_BITS - 1) - _CELLS]
    r = _ONE - (mantissa * factor >> _WIDTH + _FACTOR_BITS - DIGITS)
    r2 = r * r >> DIGITS
    r3 = r2 * r >> DIGITS
    r4 = r2 * r2 >> DIGITS
    total += (bits - length) * ln2 + r + (r2 >> 1) + r3 // 3 + (r4 >> 2)
    r5, r6, r7 = r4 * r >> DIGITS, r3 * r3 >> DIGITS, r4 * r3 >> DIGITS
    return total + r5 // 5 + r6 // 6 + r7 // 7
