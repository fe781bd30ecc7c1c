"""The reader of float columns on grids that are powers of two, proved by z3 for all floats.

The shipped kernel runs on a float of which sign and exponent are known and the 52 digits are not.
Other exponents than those named are looked at where SAFESELECT_LONG=1 is set: ten minutes.
"""

from __future__ import annotations

from typing import Any

import proved
import pytest
import z3
from effort import LONG, some
from symbolic import broken, symbolic
from symbolic_floats import Floats, Row, proved_floats

pytestmark = pytest.mark.claim("C3")

ONE = 1023  # the exponent field of 1
REACH = ONE + 66  # |x| < 2**67 steps, as the caller sees to; see section 6 of docs/mathematics.md
SMALL = range(ONE - 2, ONE + 31)  # from a quarter of a step to 2**31 steps
LARGE = range(ONE + 31, REACH + 1)
WIDE = 128
DIGITS = z3.BitVec("digits", 52)
FIELD = z3.BitVec("field", 11)


def steps(maker: Any, places: int, bits: Any) -> Any:
    """What the kernel of a grid of 2**-places makes of a float, modulo 2**64, without an offset."""

    p, q = (1, 1 << places) if places >= 0 else (1 << -places, 1)
    kernel, moved = symbolic(maker, Floats())(p, q, 0.0)
    out = Row([z3.BitVecVal(0, 64)], "i")
    kernel(out, [Row([z3.fpBVToFP(bits, z3.Float64())]), Row([None])])
    return out.bits + z3.BitVecVal(moved, 64)


def nearest(sign: int, exponent: int) -> Any:
    """floor(x + 1/2) for x of this sign and exponent field, from its digits, in WIDE bits."""
    mantissa = z3.ZeroExt(WIDE - 53, z3.Concat(z3.BitVecVal(int(exponent > 0), 1), DIGITS))
    shift = max(exponent, 1) - ONE - 52 + 1  # 2 |x| = mantissa * 2**shift
    if shift >= 0:
        twice, more = mantissa << shift, z3.BoolVal(False)
    else:
        twice = z3.LShR(mantissa, min(-shift, WIDE - 1))
        more = twice << min(-shift, WIDE - 1) != mantissa
    if sign:
        twice = -twice - z3.If(more, z3.BitVecVal(1, WIDE), z3.BitVecVal(0, WIDE))
    return (twice + 1) >> 1


def right(maker: Any, places: int, sign: int, exponent: int) -> bool:
    """Whether all floats of this sign, so many steps in size, are read as the nearest step."""
    bits = z3.Concat(z3.BitVecVal(sign, 1), z3.BitVecVal(exponent - places, 11), DIGITS)
    return proved_floats(steps(maker, places, bits) == z3.Extract(63, 0, nearest(sign, exponent)))


@pytest.mark.parametrize(("places", "sign"), some([(p, s) for p in (0, 10, -7) for s in (0, 1)], 5))
def test_floats_up_to_a_quarter_of_a_step_are_read_as_0(sign: int, places: int) -> None:
    bits = z3.Concat(z3.BitVecVal(sign, 1), FIELD, DIGITS)
    below = z3.ULT(FIELD, ONE - 2 - places)
    assert proved_floats(steps(proved.DYADIC, places, bits) == 0, below)


@pytest.mark.parametrize("places", [0, 10])
@pytest.mark.parametrize("sign", [0, 1])
def test_floats_of_up_to_32_digits_are_read_right(sign: int, places: int) -> None:
    for exponent in some(SMALL, 6):
        assert right(proved.DYADIC, places, sign, exponent), exponent


@pytest.mark.parametrize("exponent", LARGE if LONG else [REACH])
@pytest.mark.parametrize("sign", [0, 1] if LONG else [0])
def test_large_floats_are_read_right(sign: int, exponent: int) -> None:
    assert right(proved.DYADIC, 0, sign, exponent)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.add(y, _ROUNDER + 1, out=y)", "np.add(y, _ROUNDER, out=y)"),
        ("np.add(y, _ROUNDER + 1, out=y)", "np.add(y, _ROUNDER + 2, out=y)"),
        ("np.floor(y, out=y)", "pass"),
        ("np.right_shift(whole, 1, out=whole)", "pass"),
        ("halves = float(np.ldexp(1, fineness + 1))", "halves = float(np.ldexp(1, fineness))"),
        ("np.ldexp(_ROUNDER, 32 - fineness)", "np.ldexp(_ROUNDER, 33 - fineness)"),
    ],
)
def test_a_fault_in_the_reader_is_refuted(old: str, new: str) -> None:
    kernel = broken(proved.DYADIC, old, new)
    sizes = [(sign, ONE + size) for size in (-1, 0, 5, 34) for sign in (0, 1)]
    assert any(not right(kernel, 0, sign, exponent) for sign, exponent in sizes)
