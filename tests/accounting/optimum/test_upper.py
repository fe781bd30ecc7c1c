"""The upper bound on which a rate rests: above what some adversary reaches, and not far above."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safeselect import BoundedRange, LaplaceDominated, compose
from safeselect.accounting.optimum.upper import quick_epsilon

pytestmark = pytest.mark.claim("C2")
DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (BoundedRange("1/2"), 16),
        (BoundedRange("1/20"), 400),
        (LaplaceDominated("1/2"), 16),
        (LaplaceDominated("1/20"), 200),
    ],
)
def test_a_coarse_grid_costs_little_and_promises_nothing_false(part, count):
    found = quick_epsilon(part, count, DELTA)
    lower = compose([part] * count, DELTA, "1e-2").lower
    assert lower <= found <= lower * Fraction(103, 100)


def test_no_bound_is_found_quickly_above_four_nats():
    assert quick_epsilon(BoundedRange(5), 16, DELTA) is None
    # One bound more holds there, as it holds everywhere.
    found = compose([BoundedRange(5)] * 16, DELTA)
    assert "optimum of bounded ranges" not in found.theorem
    assert 0 < found.guarantee.epsilon <= 16 * 5
