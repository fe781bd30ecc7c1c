"""Enclosures contain what they enclose, and roundings lie on the right side of it."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.accounting.search import argmin
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, rounded_down, rounded_up

pytestmark = pytest.mark.claim("C1")

FAST = settings(derandomize=True, deadline=None, max_examples=60)
PRECISIONS = st.sampled_from([2, 5, 24, 53, 64, 128, 300])
RATIONALS = st.builds(
    lambda numerator, denominator, shift: Fraction(numerator, denominator) * Fraction(2) ** shift,
    st.integers(-(2**70), 2**70),
    st.integers(1, 2**70),
    st.integers(-80, 8),
)


def ends(interval: Interval) -> tuple[Fraction, Fraction]:
    assert interval.bounded
    return interval.fractions()


def contains(interval: Interval, value: Fraction) -> bool:
    if not interval.bounded:
        return True
    low, high = interval.fractions()
    return low <= value <= high


def precise(function, value: Fraction, digits: int = 200) -> tuple[Fraction, Fraction]:
    """An mpmath value as two rationals that surely lie on either side of it."""
    with mpmath.workdps(digits):
        result = function(mpmath.mpf(value.numerator) / value.denominator)
        sign, mantissa, exponent, _ = result._mpf_
        exact = Fraction(int(mantissa) * (-1) ** sign) * Fraction(2) ** exponent
    slack = abs(exact) / 10 ** (digits - 60) + Fraction(1, 10 ** (digits - 60))
    return exact - slack, exact + slack


# ------------------------------------------------------------------------------------ containment


@given(RATIONALS, PRECISIONS)
@FAST
def test_a_rational_lies_in_its_enclosure_which_is_tight(value, precision):
    low, high = ends(Interval.of(value, precision))
    assert low <= value <= high
    assert high - low <= abs(value) / 2 ** (precision - 1)


@given(RATIONALS, RATIONALS, PRECISIONS)
@FAST
def test_arithmetic_contains_the_exact_result(a, b, precision):
    left, right = Interval.of(a, precision), Interval.of(b, precision)
    assert contains(left + right, a + b)
    assert contains(left - right, a - b)
    assert contains(left * right, a * b)
    assert contains(-left, -a)
    assert (left + right).bounded
    if b:
        assert contains(left / right, a / b)


FUNCTIONS = {
    "exp": (Interval.exp, mpmath.exp, lambda x: abs(x) < 400),
    "expm1": (Interval.expm1, mpmath.expm1, lambda x: abs(x) < 400),
    "log": (Interval.log, mpmath.log, lambda x: x > 0),
    "sqrt": (Interval.sqrt, mpmath.sqrt, lambda x: x >= 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=RATIONALS, precision=PRECISIONS)
@FAST
def test_functions_contain_the_true_value(name, value, precision):
    ours, theirs, defined = FUNCTIONS[name]
    if not defined(value):
        value = abs(value) % 400
        if not defined(value):
            return
    result = ours(Interval.of(value, precision))
    if not result.bounded:  # an end of the enclosure of a tiny number may reach zero
        assert name == "log"
        return
    low, high = result.fractions()
    below, above = precise(theirs, value)
    assert low <= above
    assert below <= high


# ------------------------------------------------------------------------- where it is undefined


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: Interval.of(1, 64) / Interval.of(0, 64),
        lambda: Interval.of(1, 64) / Interval(mpfr(-1), mpfr(1), 64),
        lambda: Interval.of(-1, 64).log(),
        lambda: Interval(mpfr(-1), mpfr(2), 64).log(),
        lambda: Interval(mpfr(-1), mpfr(2), 64).sqrt(),
        lambda: Interval.of(2**80, 64).exp(),
        lambda: Interval.of(0, 64) * Interval(mpfr("-inf"), mpfr("inf"), 64),
        lambda: Interval(mpfr(1), mpfr("inf"), 64) - Interval(mpfr(1), mpfr("inf"), 64),
        lambda: Interval(mpfr("-inf"), mpfr("inf"), 64).exp(),
        lambda: Interval(mpfr("nan"), mpfr(1), 64) + Interval.of(1, 64),
    ],
    ids=range(10),
)
def test_what_is_undefined_or_too_large_is_unbounded(undefined):
    interval = undefined()
    assert not interval.bounded
    assert interval.upper == mpfr("inf")
    assert not gmpy2.is_nan(interval.lower)
    # Unbounded stays unbounded: nothing that follows makes a number of it again.
    assert not (interval + Interval.of(1, 64)).bounded
    assert not (interval * Interval.of(0, 64)).bounded


@pytest.mark.parametrize("ends", [(0, 1), (-1, 0), (-1, 1), (0, 0)])
def test_a_divisor_that_touches_zero_says_nothing(ends):
    found = Interval.of(1, 64) / Interval(*map(mpfr, ends), 64)
    assert (found.lower, found.upper) == (mpfr("-inf"), mpfr("inf"))


def test_underflow_keeps_zero_and_what_lies_above():
    tiny = (-Interval.of(2**80, 64)).exp()
    assert tiny.bounded
    assert tiny.lower == 0
    assert tiny.upper > 0


# ------------------------------------------------------------------- the thread's gmpy2 settings

SETTINGS = [
    {"precision": 5},
    {"precision": 5, "round": gmpy2.RoundUp},
    {"precision": 5, "round": gmpy2.RoundDown},
    {"precision": 3, "emin": -2, "emax": 2},
    {"subnormalize": True, "emin": -4},
    {"trap_inexact": True, "trap_underflow": True, "trap_overflow": True},
    {"trap_invalid": True, "trap_divzero": True, "trap_erange": True},
    {"allow_complex": True},
]


def everything() -> list[object]:
    """Every operation, at a precision that nothing else has used."""
    a, b = Interval.of(Fraction(1, 3), 101), Interval.of(Fraction(-7, 5), 101)
    results = [a + b, a - b, -a, a * b, a / b, a.exp(), b.expm1(), a.log(), a.sqrt(), b.exp()]
    numbers: list[object] = [result.fractions() for result in results]
    numbers += [result.scaled(40) for result in results]
    numbers += [b.log().bounded, (a / (a - a)).bounded, Interval.of(2**80, 101).exp().bounded]
    numbers += [rounded_up(lambda bits: Interval.of(2, bits).sqrt())]
    numbers += [argmin(lambda x: Interval.of((x - 5) * (x - 5), 101), Fraction(1))]
    return numbers


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("fresh", [True, False])
def test_the_callers_gmpy2_context_changes_nothing(setting, fresh):
    from safeselect.exact import interval

    expected = everything()
    if fresh:  # contexts built while the caller's settings are in force
        interval.contexts.cache_clear()
    with gmpy2.context(gmpy2.get_context(), **setting):
        found = everything()
    if fresh:
        interval.contexts.cache_clear()
    assert found == expected


# --------------------------------------------------------------------------- integers and bounds


@given(RATIONALS, PRECISIONS, st.integers(0, 200))
@FAST
def test_scaled_integers_enclose(value, precision, bits):
    low, high = Interval.of(value, precision).scaled(bits)
    assert low <= value * 2**bits <= high
    exact_low, exact_high = Interval.of(value, precision).fractions()
    assert (low, high) == (math.floor(exact_low * 2**bits), math.ceil(exact_high * 2**bits))


@given(
    st.fractions(min_value=Fraction(1, 10**12), max_value=10**12), st.sampled_from([8, 32, 64, 90])
)
@FAST
def test_roundings_of_rationals_are_the_nearest_on_their_side(value, significant):
    size = 0
    while Fraction(2) ** size <= value:
        size += 1
    while Fraction(2) ** (size - 1) > value:
        size -= 1
    unit = Fraction(2) ** (size - significant)  # of a number with exactly `significant` bits
    up = rounded_up(lambda bits: Interval.of(value, bits), significant)
    down = rounded_down(lambda bits: Interval.of(value, bits), significant)
    assert up >= value >= down
    # At most a hair beyond the nearest multiple: the enclosure is 2**-8 of a unit wide.
    assert up == math.ceil(value / unit) * unit or up - value <= unit * (1 + Fraction(1, 128))
    assert down == math.floor(value / unit) * unit or value - down <= unit * (1 + Fraction(1, 128))
    assert ((up / unit).denominator, (down / unit).denominator) == (1, 1)


def test_cancellation_is_overcome_by_more_precision():
    """e**x - 1 - x is about 2**-401 here: 128 bits see nothing of it."""
    x = Fraction(1, 2**200)

    def bound(bits: int) -> Interval:
        return Interval.of(x, bits).exp() - Interval.of(1 + x, bits)

    assert x * x / 2 < rounded_up(bound) < x * x * Fraction(2**63 + 2, 2**64)
    assert rounded_down(bound) > x * x * Fraction(2**63 - 2, 2**64)


def test_what_stays_unbounded_is_a_parameter_error():
    with pytest.raises(ParameterError, match="too large"):
        rounded_up(lambda bits: Interval.of(2**80, bits).exp())


# ----------------------------------------------------------------------------------- the search


@pytest.mark.parametrize("best", [Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(10**9)])
def test_argmin_finds_the_bottom_of_a_bowl(best):
    found = argmin(lambda x: Interval.of(x / best + best / x, 96), Fraction(8))
    assert abs(found / best - 1) < Fraction(1, 1000)


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: Interval.of(1, 64) / Interval.of(0, 64),
        lambda x: Interval.of(1, 64),
        lambda x: Interval.of(-x, 24),
        lambda x: Interval.of(x, 24),
        # Jagged below the 32 bits to which points are shortened: no step may be undone for ever.
        lambda x: Interval.of(x.numerator % 1009, 64),
        lambda x: Interval.of((x.numerator * 7919) % 10007 - x.denominator % 101, 64),
    ],
    ids=["unbounded", "constant", "falling", "rising", "jagged", "more jagged"],
)
def test_argmin_ends_whatever_the_objective(objective):
    calls = 0

    def counted(x: Fraction) -> Interval:
        nonlocal calls
        calls += 1
        if calls > 5000:
            raise AssertionError("the search does not end")
        return objective(x)

    assert argmin(counted, Fraction(8)) > 0


@pytest.mark.parametrize("number", [3, -2, 0, Fraction(-1, 3), Fraction(2**90, 7)])
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("held", [Fraction(2, 3), Fraction(-5, 7)])
def test_a_rational_operand_is_its_enclosure(op, number, held):
    enclosed, x = Interval.of(number, 60), Interval.of(held, 60)
    assert (op(number, x), op(x, number)) == (op(enclosed, x), op(x, enclosed))
