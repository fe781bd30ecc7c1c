"""The optimal bounds: published numbers, every outcome enumerated, and what they must never do."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import ParameterError
from safeselect.accounting import optimal_pure_delta
from safeselect.accounting.pure import EqualPure, UnequalPure, smallest_delta, smallest_epsilon

pytestmark = pytest.mark.claim("C2")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())
FAST = settings(derandomize=True, deadline=None, max_examples=25)
EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)


def mp(value) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def holds(ours: Fraction, exact: mpmath.mpf, slack: str = "1e-15") -> None:
    """At least the exact value (known to 40 digits), and next to nothing more."""
    assert mp(ours) >= exact * (1 - mpmath.mpf(10) ** -28)
    assert mp(ours) <= exact * (1 + mpmath.mpf(slack))


def test_published_numbers():
    for case in VECTORS["f1_optimal_composition_pure_dp"]["cases"].values():
        with mpmath.workdps(40):
            found = optimal_pure_delta(case["eps"], case["k"], case["eps_g"])
            holds(found, mpmath.mpf(case["delta"]))


# ------------------------------------------------------------------------- by every outcome


def by_outcomes(epsilons, at) -> mpmath.mpf:
    """Murtagh and Vadhan's sum over all subsets."""
    total = mpmath.mpf(0)
    for kept in itertools.product((True, False), repeat=len(epsilons)):
        gained = mpmath.fsum(mp(e) for e, keep in zip(epsilons, kept, strict=True) if keep)
        lost = mpmath.fsum(mp(e) for e, keep in zip(epsilons, kept, strict=True) if not keep)
        total += max(mpmath.exp(gained) - mpmath.exp(mp(at) + lost), 0)
    return total / mpmath.fprod(1 + mpmath.exp(mp(e)) for e in epsilons)


@given(
    epsilons=st.lists(EPSILONS, min_size=1, max_size=7),
    at=st.fractions(min_value=0, max_value=5, max_denominator=20),
)
@FAST
def test_unequal_pure_guarantees(epsilons, at):
    counted = {e: epsilons.count(e) for e in epsilons}
    tails = UnequalPure.of(list(counted.items()))
    with mpmath.workdps(40):
        exact = by_outcomes(epsilons, at)
        if exact < mpmath.mpf(10) ** -30:
            assert smallest_delta(tails, at) < Fraction(1, 10**29)
        else:
            holds(smallest_delta(tails, at), exact)


def test_equal_is_a_case_of_unequal():
    for at in (0, Fraction(1, 2), Fraction(9, 10), 2):
        equal = smallest_delta(EqualPure(Fraction(3, 10), 9), Fraction(at))
        split = smallest_delta(UnequalPure.of([(Fraction(3, 10), 9)]), Fraction(at))
        assert abs(equal - split) <= equal / 2**60
        assert equal == optimal_pure_delta("0.3", 9, at)


def test_twenty_unequal_are_few_enough_and_forty_are_not():
    assert UnequalPure.of([(Fraction(i, 7), 1) for i in range(1, 21)]) is not None
    assert UnequalPure.of([(Fraction(i, 7), 1) for i in range(1, 41)]) is None


# ------------------------------------------------------------------------------- the inverse


@given(
    epsilon=EPSILONS,
    k=st.integers(1, 200),
    delta=st.sampled_from(["1e-12", "1e-6", "0.01", "0.4", "0.999"]),
)
@FAST
def test_the_smallest_epsilon_inverts_delta(epsilon, k, delta):
    delta, tails = Fraction(delta), EqualPure(epsilon, k)
    found = smallest_epsilon(tails, delta, epsilon * k)
    assert smallest_delta(tails, found) <= delta
    if found:
        less = found * (1 - Fraction(1, 10**6))
        assert smallest_delta(tails, less) > delta * (1 - Fraction(1, 10**9))


def test_a_guess_that_is_better_is_kept():
    assert smallest_epsilon(EqualPure(Fraction(1), 3), Fraction(1, 10**6), Fraction(1)) is None


def test_parameters_are_checked():
    assert optimal_pure_delta(1, 3, 3) == 0
    assert optimal_pure_delta(1, 3, 100) == 0
    for wrong in (
        {"epsilon": 0},
        {"epsilon": -1},
        {"k": 0},
        {"k": 1.5},
        {"k": 10**7},
        {"epsilon_g": -1},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            optimal_pure_delta(**{"epsilon": 1, "k": 3, "epsilon_g": 1, **wrong})
