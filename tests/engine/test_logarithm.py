"""Logarithms in integers, against mpmath."""

from __future__ import annotations

import mpmath
import pytest

from safeselect.engine import laws
from safeselect.engine.laws import DIGITS, minus_logs

pytestmark = pytest.mark.claim("C1")


FIRST = SECOND = 1024  # cells
ABSOLUTE = mpmath.mpf(2) ** (DIGITS - 61)


def minus_log(v: int, bits: int, *, close: bool = False) -> int:
    (found,) = minus_logs([(v, bits)], close=close)
    return found


def error(v: int, bits: int, *, close: bool = False) -> mpmath.mpf:
    """How far off, in units of 2**-140."""
    exact = -mpmath.ldexp(mpmath.log(mpmath.ldexp(mpmath.mpf(v), -bits)), DIGITS)
    return abs(minus_log(v, bits, close=close) - exact)


def beside(ends: list[int], bits: int) -> list[int]:
    """The ends of cells and the numbers next to them, of so many digits."""
    near = [v for end in ends for v in (end - 1, end, end + 1)]
    return [v for v in near if 1 << bits - 1 <= v < 1 << bits]


def first_ends(bits: int) -> list[int]:
    return beside([FIRST + cell << bits - 11 for cell in range(FIRST + 1)], bits)


def second_ends(cell: int, bits: int) -> list[int]:
    """Where r passes a multiple of 2**-20, for the x of one cell: x = (1 - r) / c."""
    factor, _ = laws._tables()[0][cell]
    ends = [
        -(-((SECOND**2 - inner) << laws._FIRST + bits) // (SECOND**2 * factor))
        for inner in range(SECOND + 1)
    ]
    low, high = FIRST + cell << bits - 11, FIRST + cell + 1 << bits - 11
    return [v for v in beside(ends, bits) if low <= v < high]


def test_every_cell() -> None:
    with mpmath.workdps(80):
        places = first_ends(80)
        assert len(places) > 3 * FIRST - 3
        assert max(error(v, 80) for v in places) < ABSOLUTE
        assert max(error(v, 80, close=True) for v in places) < ABSOLUTE / 2**19


@pytest.mark.parametrize("cell", [0, 1, 511, 1022, 1023])
def test_every_inner_cell(cell: int) -> None:
    with mpmath.workdps(80):
        places = second_ends(cell, 80)
        assert len(places) > SECOND
        worst = max(error(v, 80) for v in places)
        assert worst < ABSOLUTE
        # The bound is no idle one: the series ends where it says.
        assert worst > ABSOLUTE / 2
        assert ABSOLUTE / 2**22 < max(error(v, 80, close=True) for v in places) < ABSOLUTE / 2**19


def test_no_number_is_outside_the_cells() -> None:
    """In integers, for every x of each cell: 0 <= r < 2**-10 and 0 <= s < 2**-20 * 513/512."""
    cells, inner, _ = laws._tables()
    one = 1 << laws._FIRST
    for cell, (factor, _) in enumerate(cells):
        assert factor * (FIRST + cell + 1) <= 2 * FIRST * one  # 1 - r <= 1 at the upper end
        least = one * 2 * FIRST - factor * (FIRST + cell)  # r * 2**22 * 2048 at the lower end
        assert least * SECOND < one * 2 * FIRST
    one = 1 << laws._SECOND
    for number, (factor, _) in enumerate(inner):
        assert factor * (SECOND**2 - number) <= SECOND**2 * one
        most = SECOND**2 * one - factor * (SECOND**2 - number - 1)  # s * 2**38 * 2**20
        assert 512 * most < 513 * one
    assert cells[-1] == (1 << laws._FIRST, 0)
    assert inner[0] == (1 << laws._SECOND, 0)


def test_the_logarithms_of_the_factors() -> None:
    with mpmath.workdps(80):
        for table, digits in zip(laws._tables(), (laws._FIRST, laws._SECOND), strict=False):
            for factor, logarithm in table:  # type: ignore[union-attr]
                exact = mpmath.log(mpmath.ldexp(mpmath.mpf(factor), -digits))
                assert -1e-6 < mpmath.ldexp(exact, DIGITS) - logarithm < 1 + 1e-6


@pytest.mark.parametrize("size", range(1, 80))
def test_at_every_distance_from_one_it_is_relatively_exact(size: int) -> None:
    for short in (2**size - 1, 2**size, 2**size + 1, 3 << size - 1):
        relatively_exact(short)


def relatively_exact(short: int) -> None:
    with mpmath.workdps(120):
        value = -mpmath.ldexp(mpmath.log1p(-mpmath.ldexp(mpmath.mpf(short), -80)), DIGITS)
        off = abs(minus_log((1 << 80) - short, 80, close=True) - value)
        assert off < mpmath.ldexp(value, -61)
