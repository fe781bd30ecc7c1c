"""Input that nobody should hand over, within the limits and beyond them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import gmpy2
import numpy as np
from hypothesis import strategies as st

_SIGNS = "0123456789+-./eE_ ,\t\nxXnaifNAIF١²Ⅷ−"
_EDGES = [2**exponent + step for exponent in (0, 31, 52, 53, 62, 63, 64) for step in (-1, 0, 1)]


def _digits() -> st.SearchStrategy[str]:
    """Numbers in digits, of which some are far too many."""
    many = st.builds(lambda digit, count: digit * count, st.sampled_from("019"), st.integers(1, 9))
    size = st.sampled_from([1, 4, 308, 1233, 1234, 1235, 5000])
    long = st.builds(lambda digit, count: digit * count, st.sampled_from("19"), size)
    whole = st.one_of(many, long)
    return st.one_of(
        whole,
        st.builds(lambda a, b: f"{a}/{b}", whole, whole),
        st.builds(lambda a, b: f"-{a}.{b}", whole, whole),
        st.builds(lambda a, b: f"{a}e{b}", many, st.integers(-(10**10), 10**10)),
        st.text(_SIGNS, max_size=12),
        st.text(max_size=4),
    )


def _integers() -> st.SearchStrategy[int]:
    huge = st.builds(
        lambda size, sign: sign * ((1 << size) - 1),
        st.integers(60, 20_000),
        st.sampled_from([1, -1]),
    )
    edges = st.builds(
        lambda edge, sign: sign * edge, st.sampled_from(_EDGES), st.sampled_from([1, -1])
    )
    return st.one_of(st.integers(-9, 9), edges, huge)


@cache
def numbers() -> st.SearchStrategy[Any]:
    """Whatever might pass for a number."""
    integers = _integers()
    fractions = st.builds(lambda a, b: Fraction(a, abs(b) or 1), integers, integers)
    decimals = st.builds(
        lambda sign, digits, exponent: Decimal((sign, digits, exponent)),
        st.sampled_from([0, 1]),
        st.lists(st.integers(0, 9), min_size=1, max_size=8).map(tuple),
        st.one_of(st.integers(-5000, 5000), st.sampled_from([10**9, -(10**9)])),
    )
    return st.one_of(
        integers,
        fractions,
        decimals,
        st.floats(),
        st.sampled_from([Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")]),
        integers.map(gmpy2.mpz),
        fractions.map(lambda each: gmpy2.mpq(each.numerator, each.denominator)),
        st.integers(-(2**63), 2**63 - 1).map(np.int64),
        st.floats(width=32).map(np.float32),
        st.floats(width=16).map(np.float16),
        st.booleans(),
        st.booleans().map(np.bool_),
        _digits(),
    )


@cache
def things() -> st.SearchStrategy[Any]:
    """Numbers, and what is none."""
    return st.one_of(
        numbers(),
        st.none(),
        st.binary(max_size=9),
        st.complex_numbers(),
        st.lists(numbers(), max_size=3),
        st.tuples(numbers(), numbers()),
        st.dictionaries(st.text(max_size=2), numbers(), max_size=2),
        st.sampled_from([object(), type, len, np.datetime64("2000"), ...]),
        st.builds(np.timedelta64, st.integers(0, 9)),  # which cannot be hashed
        st.lists(st.integers(-9, 9), max_size=3).map(np.array),
        st.lists(st.floats(), max_size=3).map(np.array),
        st.text(max_size=3).map(np.array),
    )


def refused(error: Exception, start: str = "") -> None:
    """Check an error: short, whatever was handed over, and with these words at its start."""
    assert len(str(error)) <= 500
    assert str(error).startswith(start)
