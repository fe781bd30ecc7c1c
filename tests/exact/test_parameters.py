"""Parameters are the exact rationals that were typed, or refused quickly with a short sentence."""

from __future__ import annotations

import time
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.errors import ParameterError
from safeselect.estimates.explain import decimal
from safeselect.exact.parameters import MAX_BITS, _parsed, describe, integer, rational, read_choice

pytestmark = pytest.mark.claim("C11")

LONGEST_MESSAGE = 220  # characters
SLOWEST = 0.05  # seconds of processor time, the best of three
TENTH = Fraction(1, 10)


def refused(call, *arguments, **options) -> str:
    """The message of a refusal, which must be quick and short."""
    times, message = [], ""
    for _ in range(3):
        start = time.process_time()
        with pytest.raises(ParameterError, match=r" must |has too many digits") as caught:
            call(*arguments, **options)
        times.append(time.process_time() - start)
        message = str(caught.value)
        if times[-1] < SLOWEST:
            break
    assert min(times) < SLOWEST
    assert len(message) <= LONGEST_MESSAGE
    assert caught.value.__cause__ is None
    return message


# ------------------------------------------------------------------------------ what is accepted


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (1, Fraction(1)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (gmpy2.mpz(7), Fraction(7)),
        (gmpy2.mpq(1, 3), Fraction(1, 3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), TENTH),
        ("0.1", TENTH),
        ("1/3", Fraction(1, 3)),
        ("1e-6", Fraction(1, 10**6)),
        (".5", Fraction(1, 2)),
        (np.str_("0.1"), TENTH),
        (0.1, TENTH),
        (np.float32(0.1), TENTH),
        (np.longdouble("0.1"), TENTH),
        (1e-6, Fraction(1, 10**6)),
        (5e-324, Fraction(5, 10**324)),
        (1 << (MAX_BITS - 1), Fraction(1 << (MAX_BITS - 1))),
    ],
)
def test_what_was_typed_is_what_is_read(typed, meant):
    read = rational(typed, "epsilon")
    assert read == meant
    assert type(read) is Fraction


@given(st.floats(min_value=1e-300, max_value=1e300))
@settings(derandomize=True, deadline=None)
def test_a_float_is_its_shortest_decimal(value):
    assert rational(value, "epsilon") == Fraction(repr(value))
    assert rational(np.float64(value), "epsilon") == Fraction(repr(value))


def test_the_callers_decimal_context_changes_nothing():
    with localcontext() as context:
        context.prec = 3
        context.Emax, context.Emin = 5, -5
        assert rational(Decimal("0.123456789"), "epsilon") == Fraction("0.123456789")
        assert rational("123456789.5", "epsilon") == Fraction("123456789.5")


# ------------------------------------------------------------------------------- what is refused

NO_NUMBERS = {
    "True": True,
    "nan": float("nan"),
    "signalling nan": Decimal("sNaN"),
    "text nan": "nan",
    "mpfr": gmpy2.mpfr("0.5"),
    "None": None,
    "object": object(),
    "comma": "0,5",
    "Arabic digits": "١٢",  # which int() would read
    "underscore": "1_000",
    "empty": "",
    "double ratio": "1/2/3",
    "negative below": "1/-3",
    "zero below": "1/0",
    "null byte": "1\x00",
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_no_number(name):
    assert refused(rational, NO_NUMBERS[name], "epsilon").startswith("epsilon must ")
    refused(rational, NO_NUMBERS[name], "epsilon", zero=True)


def test_zero_only_where_it_is_allowed():
    assert (rational(0, "rho", zero=True), rational(-0.0, "rho", zero=True)) == (0, 0)
    assert "at least zero" in refused(rational, -1, "rho", zero=True)


HUGE = {
    "int of 4097 bits": 1 << MAX_BITS,
    "int of a million bits": 1 << 10**6,
    "Fraction of 5000 bits": Fraction(1, 1 << 4999),
    "huge mpz": gmpy2.mpz(1) << 10**8,
    "huge mpq": gmpy2.mpq(gmpy2.mpz(3) ** 600_000, (gmpy2.mpz(1) << 900_001) + 1),
    "1e999999999": "1e999999999",
    "Decimal 1e999999": Decimal("1e999999"),
    "Decimal 1e-999999": Decimal("1e-999999"),
    "Decimal of 100 000 digits": Decimal("1" * 100_000),
    "text of a million digits": "1" * 10**6,
    "an exponent of a thousand digits": "1e-" + "9" * 1000,
    "many zeros": "0." + "0" * 10**6 + "1",
}


@pytest.mark.claim("C11")
@pytest.mark.parametrize("name", HUGE)
def test_huge_numbers_are_refused_before_any_big_arithmetic(name):
    assert refused(rational, HUGE[name], "epsilon", zero=True).startswith("epsilon ")


# ------------------------------------------------------------------------------------- integers


@pytest.mark.parametrize(
    "value",
    [
        *(True, False, np.True_, 1.0, np.float64(2), "3", "k", None, Fraction(3), Decimal(3)),
        *(gmpy2.mpq(3), [3], np.array(3), np.array([3]), 3 + 0j, np.timedelta64(3)),
        *(Fraction(10**6000, 7), Decimal("1" * 100_000), Decimal((0, (1,), 10**17)), object()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_only_equals_an_integer_is_no_integer(value):
    assert refused(integer, value, "k", minimum=1, maximum=5).startswith("k must be an integer")


@pytest.mark.parametrize(
    "value",
    [0, -1, 6, 2**32, 2**32 + 3, 2**63, 2**64 + 2, -(2**63), 1 << 10**6, np.int64(-1)],
    ids=describe,
)
def test_integers_out_of_range_never_wrap(value):
    assert "between 1 and 5" in refused(integer, value, "k", minimum=1, maximum=5)


def test_the_longest_numbers():
    assert rational("1" + "0" * 1233, "epsilon") == 10**1233
    assert rational("1/1" + "0" * 1233, "epsilon") == Fraction(1, 10**1233)
    assert rational("1e1233", "epsilon") == 10**1233
    assert rational("0e1234", "epsilon", zero=True) == 0
    assert rational(gmpy2.mpq(2**4096 - 1, 2**4096 - 3), "epsilon") > 1
    refused(rational, gmpy2.mpq(2**4096 + 1, 2), "epsilon")
    for text in ("0" * 1235, "1/" + "0" * 1235, "0e1235", "1e1234", "1" + "0" * 1234):
        refused(rational, text, "epsilon", zero=True)


def test_too_long_a_text_is_not_kept():
    before = _parsed.cache_info()
    refused(rational, "1" * 10_000, "epsilon")
    assert _parsed.cache_info() == before


@pytest.mark.parametrize(
    ("value", "least", "most", "limit", "message"),
    [
        ("x", 1, 5, "", "k must be an integer such as 3, got 'x' (str)"),
        (0, 1, 5, "", "k must be between 1 and 5, got 0 (int)"),
        (6, 1, 5, "n", "k must be between 1 and 5, got 6 (int); 5 is n"),
        (1, 1, 0, "", "k must be between 1 and 0, which is impossible, got 1 (int)"),
    ],
)
def test_the_message_says_what_is_allowed(value, least, most, limit, message):
    told = {"limit": limit} if limit else {}
    assert refused(integer, value, "k", minimum=least, maximum=most, **told) == message


@pytest.mark.parametrize("kind", [np.str_, Enum("Word", {"A": "a"}, type=str)])
def test_a_word_is_of_no_subclass_of_str(kind):
    """It may print or compare as another."""
    said = refused(read_choice, kind("a"), "noise", ("a", "b"))
    assert said == f"noise must be 'a' or 'b', got {kind('a')!r} ({kind.__name__})"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**128, "int of 129 bits"),
        (Fraction(1, 2**127), f"Fraction(1, {2**127}) (Fraction)"),
        (Fraction(2**128, 3), "Fraction of 129 bits"),
        ("a" * 59, "a str of 61 characters"),
        (None, "None (NoneType)"),
        ([7], "an object of type list"),
    ],
)
def test_short_values_are_quoted_and_others_measured(value, text):
    assert describe(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        ("1/3", "0.3333"),
        ("1e-9", "1.000e-9"),
        ("999999999/2", "5.000e+8"),
        (10**9 - 1, "999999999"),
        (10**9, "1.000e+9"),
        ("1/3000", "0.0003333"),
    ],
)
def test_a_number_for_people(value, text):
    assert decimal(Fraction(value)) == text
