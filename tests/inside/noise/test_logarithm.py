"""Logarithms in integers, against mpmath."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.noise import laws
from safeselect.noise.laws import DIGITS, minus_log

pytestmark = pytest.mark.claim("C1")


def error(v: int, bits: int) -> mpmath.mpf:
    """How far off, in units of 2**-160."""
    exact = -mpmath.ldexp(mpmath.log(mpmath.ldexp(mpmath.mpf(v), -bits)), DIGITS)
    return abs(minus_log(v, bits) - exact)


def beside_the_cells() -> list[int]:
    """In every cell: both ends, and the numbers next to them; of 40 digits."""
    ends = [(512 + cell) << 30 for cell in range(513)]
    return [v for end in ends for v in (end - 1, end, end + 1) if (1 << 39) <= v < 1 << 40]


def test_every_cell() -> None:
    with mpmath.workdps(80):
        worst = max(error(v, 40) for v in beside_the_cells())
        assert worst < mpmath.mpf(2) ** (DIGITS - 74)
        # The bound is no idle one: the series ends where it says.
        assert worst > mpmath.mpf(2) ** (DIGITS - 77)


@given(st.integers(1, 167).flatmap(lambda size: st.integers(1, 2**size - 1)), st.integers(0, 160))
@settings(max_examples=300, deadline=None)
def test_any_argument(v: int, bits: int) -> None:
    with mpmath.workdps(120):
        assert error(v, bits) < mpmath.mpf(2) ** (DIGITS - 74)


@given(
    st.integers(11, 80).flatmap(
        lambda size: st.tuples(st.just(80), st.integers(1, 2 ** (80 - size)))
    )
)
@settings(max_examples=300, deadline=None)
def test_near_one_it_is_relatively_exact(number: tuple[int, int]) -> None:
    bits, short = number
    with mpmath.workdps(120):
        value = -mpmath.ldexp(mpmath.log1p(-mpmath.ldexp(mpmath.mpf(short), -bits)), DIGITS)
        off = abs(minus_log((1 << bits) - short, bits) - value)
        assert off < mpmath.ldexp(value, -65) + 16


def test_a_wrong_cell_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, ln2 = laws._table()
    factor, total = cells[100]
    wrong = (*cells[:100], (factor, total + (1 << 90)), *cells[101:])
    monkeypatch.setattr(laws, "_table", lambda: (wrong, ln2))
    with mpmath.workdps(80):
        assert max(error(v, 40) for v in beside_the_cells()) > mpmath.mpf(2) ** (DIGITS - 74)
