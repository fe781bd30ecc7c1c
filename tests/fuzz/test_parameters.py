"""Hostile parameters: the number that was typed, or one of our errors, and never big arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from entry_points import FUNCTIONS, call, parameters
from hostile import refused, things
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import ParameterError, SafeSelectError
from safeselect.exact.parameters import MAX_BITS, integer, rational


@pytest.mark.claim("C11")
@settings(max_examples=600)
@given(things(), st.booleans(), st.booleans(), st.sampled_from([None, 1, 7]))
def test_rationals(value, zero, signed, below):
    try:
        found = rational(value, "epsilon", zero=zero, signed=signed, below=below)
    except ParameterError as error:
        refused(error, "epsilon ")
        return
    assert type(found) is Fraction
    assert max(found.numerator.bit_length(), found.denominator.bit_length()) <= MAX_BITS
    assert signed or found > 0 or (zero and found == 0)
    assert below is None or found < below
    if isinstance(value, (str, int, Fraction)):
        assert found == Fraction(value)


@settings(max_examples=300)
@given(things(), st.integers(-5, 5), st.integers(0, 2**70))
def test_integers(value, minimum, width):
    try:
        found = integer(value, "k", minimum=minimum, maximum=minimum + width)
    except ParameterError as error:
        refused(error)
        return
    assert type(found) is int
    assert minimum <= found <= minimum + width
    assert found == value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_right_is_accepted(name):
    call(name, **FUNCTIONS[name])


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_with_one_or_two_hostile_arguments(name, data):
    names = st.sampled_from(parameters(name))
    changed = data.draw(st.lists(names, min_size=1, max_size=2, unique=True))
    more = {each: data.draw(things(), each) for each in changed}
    try:
        call(name, **{**FUNCTIONS[name], **more})
    except SafeSelectError as error:
        refused(error)
