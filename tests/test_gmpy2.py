"""What every enclosure relies on: gmpy2's context methods use their own context, and no other.

The lower bound in `pyproject.toml` is the first release on which this test passes; it is also what
would notice a later one on which it does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import gmpy2
import pytest
from gmpy2 import mpfr, mpq, mpz

TWO, ONE = ("add", "sub", "mul", "div"), ("exp", "expm1", "log", "sqrt", "lngamma", "erfc")
OPERATIONS = {**dict.fromkeys(TWO, 2), **dict.fromkeys(ONE, 1)}


@pytest.fixture(params=[gmpy2.RoundUp, gmpy2.RoundDown])
def current(request: pytest.FixtureRequest) -> Iterator[int]:
    """A current context that nobody should listen to: 20 bits, rounding one way."""
    with gmpy2.context(precision=20, round=request.param):
        yield request.param


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_rounds_in_its_own_context(operation: str, current: int) -> None:
    exact = gmpy2.context(precision=2000)
    # Far apart, so that neither a sum nor a difference fits into 200 bits.
    operands = (mpfr(mpq(1, 3), 0, exact), mpfr(mpq(5, 7) / 2**90, 0, exact))
    operands = operands[: OPERATIONS[operation]]
    nearly = getattr(exact, operation)(*operands)
    for rounding in (gmpy2.RoundDown, gmpy2.RoundUp):
        end = getattr(gmpy2.context(precision=200, round=rounding), operation)(*operands)
        assert (end.precision, end < nearly) == (200, rounding == gmpy2.RoundDown)
        assert end != nearly


@pytest.mark.parametrize("value", [mpq(1, 3), mpz(3) ** 300])
def test_a_conversion_rounds_in_the_context_that_it_is_given(value: object, current: int) -> None:
    down = mpfr(value, 0, gmpy2.context(precision=200, round=gmpy2.RoundDown))
    up = mpfr(value, 0, gmpy2.context(precision=200, round=gmpy2.RoundUp))
    assert down.precision == up.precision == 200
    assert down < value < up


def test_changing_the_sign_is_exact(current: int) -> None:
    down = gmpy2.context(precision=200, round=gmpy2.RoundDown)
    third = mpfr(mpq(1, 3), 0, down)
    assert (down.minus(third).precision, down.add(third, down.minus(third))) == (200, 0)
