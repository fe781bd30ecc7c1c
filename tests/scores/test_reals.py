"""One number of any type has one place among all, by its value; sizes around the limits."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np
import pytest

from safeselect import ScoreError
from safeselect.scores import reals
from safeselect.scores.reals import place_of

pytestmark = pytest.mark.claim("C3")

FAR, DIGITS, PLACES = reals._FAR, reals._DIGITS, reals._MOST_PLACES
EQUALS: list[list[Any]] = [
    [math.nan, Decimal("NaN"), np.float16("nan")],
    [-math.inf, -FAR, Decimal("-1e999999999"), -Fraction(10**5000, 3), -(10**9999)],
    [Decimal(1 - FAR), 1 - FAR],
    [-5e-324, Fraction(-5e-324)],
    [Decimal("-1e-5000"), Fraction(-1, FAR + 1), Decimal("-1e-999999999")],
    [0, False, -0.0, Decimal("0E+5000"), Decimal("-0E-999999999"), Fraction(0), gmpy2.mpq(0)],
    [Decimal("1e-5000"), Fraction(1, FAR + 1), Fraction(1, 10**9999)],
    [Fraction(1, FAR), Decimal("1e-4096")],
    [5e-324, Fraction(5e-324), Decimal.from_float(5e-324), Fraction(5, 10**324)],
    [0.3, np.float64(0.3), Fraction(0.3), Decimal.from_float(0.3), Decimal("0.3"), "3/10"],
    [np.float32(0.7), float(np.float32(0.7)), Fraction(float(np.float32(0.7)))],
    [1, True, 1.0, np.True_, np.float16(1), np.uint8(1), Decimal("1.00"), gmpy2.mpz(1)],
    [2**60 + 256, float(2**60 + 256), Decimal(2**60 + 256)],
    [FAR - 1, Decimal(FAR - 1), Fraction(FAR - 1)],
    [math.inf, FAR, Decimal("1e5000"), Decimal("Infinity"), np.float32(np.inf), 10**9999],
]


def placed(number: Any) -> tuple[int, Fraction]:
    return (2, Fraction(number)) if isinstance(number, str) else place_of(number)


def test_equal_numbers_have_one_place_and_others_are_in_order() -> None:
    places = [[*map(placed, same)] for same in EQUALS]
    assert [same for same, found in zip(EQUALS, places, strict=True) if len({*found}) > 1] == []
    assert [(a, b) for (a, *_), (b, *_) in pairwise(places) if not a < b] == []


def test_what_a_double_holds_is_its_decimal_and_anything_else_itself() -> None:
    odd = 2**DIGITS - 1
    assert place_of(Fraction(odd, 2)) == (2, Fraction(repr(odd / 2)))
    assert place_of(Fraction(odd, 2**60)) == (2, Fraction(repr(odd / 2**60)))
    for beyond in (odd + 2, 2 * odd + 1):
        assert place_of(Fraction(beyond, 2**60)) == (2, Fraction(beyond, 2**60))
    assert place_of(Fraction(1, 2**PLACES)) == (2, Fraction("5e-324"))
    assert place_of(Fraction(1, 2 ** (PLACES + 1))) == (2, Fraction(1, 2 ** (PLACES + 1)))


def test_what_is_no_number_is_refused_by_its_class() -> None:
    for value in (None, "1", 1j, b"1", [1], np.timedelta64(5, "ns")):
        with pytest.raises(ScoreError, match="expected a number, got"):
            place_of(value)
