"""Hostile parameters: the number that was typed, or one of our errors, and never big arithmetic."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hostile import numbers, refused, things
from hypothesis import given, settings
from hypothesis import strategies as st

import safeselect
from safeselect import ParameterError, SafeSelectError
from safeselect._exact import MAX_BITS, integer, rational


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


GUARANTEES: dict[str, tuple[str, ...]] = {
    "PureDP": ("epsilon",),
    "LaplaceDominated": ("epsilon",),
    "BoundedRange": ("epsilon",),
    "ZeroConcentratedDP": ("rho",),
    "ApproximateDP": ("epsilon", "delta"),
}


@settings(max_examples=60)
@given(numbers(), numbers(), numbers())
@pytest.mark.parametrize("name", GUARANTEES)
def test_guarantees(name, first, second, delta):
    kind = getattr(safeselect, name)
    try:
        made = kind(*(first, second)[: len(GUARANTEES[name])])
    except ParameterError as error:
        refused(error)
        return
    repr(made)
    for ask in (
        lambda: made.approximate(delta),
        lambda: made.zcdp,
        lambda: made.pure,
        lambda: safeselect.compose([made, made, made]),
        lambda: safeselect.compose([made, made], delta),
    ):
        try:
            ask()
        except SafeSelectError as error:
            refused(error)


FUNCTIONS: dict[str, dict[str, Any]] = {
    "permute_and_flip": {"epsilon": 1, "sensitivity": 1},
    "exponential_mechanism": {"rho": 1, "sensitivity": 1},
    "exponential_mechanism_base2": {"base": "1/2", "sensitivity": 1},
    "report_noisy_max": {"epsilon": 1, "sensitivity": 1, "noise": "laplace"},
    "report_noisy_max_with_gap": {"epsilon": 1, "sensitivity": 1, "noise": "laplace"},
    "permute_and_flip_with_gap": {"epsilon": 1, "sensitivity": 1},
    "exponential_mechanism_with_gap": {"epsilon": 1, "sensitivity": 1},
    "top_k": {"k": 2, "epsilon": 1, "sensitivity": 1},
    "top_k_with_gaps": {"k": 2, "epsilon": 1, "sensitivity": 1},
    "top_k_above": {"k": 2, "threshold": 2, "epsilon": 1, "sensitivity": 1},
    "unknown_domain_top_k": {"k": 1, "k_bar": 2, "epsilon": 1, "delta": "1e-6"},
    "SparseVector": {"threshold": 2, "k": 2, "epsilon": 1, "sensitivity": 1},
    "AdaptiveSparseVector": {"threshold": 2, "k": 2, "epsilon": 1, "sensitivity": 1},
    "PayWhatYouGet": {"outcomes": 5, "queries": 2, "epsilon": 1, "delta": "1e-6"},
    "Budget": {"unit": "person", "neighbours": "add_remove", "epsilon": 1},
    "calibrate": {"draws": 5, "guarantee": safeselect.BoundedRange, "epsilon": 1, "delta": "1e-6"},
    "expected_error": {"n": 5, "gap": 1, "epsilon": 1, "sensitivity": 1},
    "explain": {"k": 2, "epsilon": 1},
    "expected_gap": {"leads": [1, 2], "rate": 1},
    "gap_p_value": {},
    "gap_confidence_bound": {},
    "estimate_from_gaps": {"measurements": [1], "gaps": [1], "variance_ratio": 1},
}
SCORES = {"a": 5, "b": 1, "c": 3}


def call(name: str) -> Callable[..., Any]:
    function = getattr(safeselect, name)
    takes = next(iter(inspect.signature(function).parameters)) in ("scores", "counts")
    return lambda **more: function(SCORES, **more) if takes else function(**more)


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_with_one_or_two_hostile_arguments(name, data):
    names = list(inspect.signature(getattr(safeselect, name)).parameters)
    changed = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    more = {each: data.draw(things(), each) for each in changed if each not in ("scores", "counts")}
    try:
        call(name)(**{**FUNCTIONS[name], **more})
    except SafeSelectError as error:
        refused(error)
    except TypeError as error:
        refused(error, f"{name}")
