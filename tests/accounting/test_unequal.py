"""Unequal pure guarantees: every outcome enumerated."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpmathify as mp

from safeselect.accounting.pure import equal_pure, smallest_delta
from safeselect.accounting.unequal import unequal_pure

pytestmark = pytest.mark.claim("C2")

FAST = settings(derandomize=True, deadline=None, max_examples=25)
EPSILONS = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)


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
    tails = unequal_pure(list({e: epsilons.count(e) for e in epsilons}.items()))
    with mpmath.workdps(40):
        exact = by_outcomes(epsilons, at)
        if exact < mpmath.mpf(10) ** -30:
            assert smallest_delta(tails, at) < Fraction(1, 10**29)
        else:
            found = mp(smallest_delta(tails, at))
            assert exact * (1 - mpmath.mpf(10) ** -28) <= found
            assert found <= exact * (1 + mpmath.mpf(10) ** -15)


def test_equal_is_a_case_of_unequal():
    for at in (0, Fraction(1, 2), Fraction(9, 10), 2):
        equal = smallest_delta(equal_pure(Fraction(3, 10), 9), Fraction(at))
        split = smallest_delta(unequal_pure([(Fraction(3, 10), 9)]), Fraction(at))
        assert abs(equal - split) <= equal / 2**60
