"""The bounds that formulas give: each is valid, and the least of them is what a list costs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from composed import composed_epsilon

from safeselect import BoundedRange, PureDP, compose
from vectors import vectors

pytestmark = pytest.mark.claim("C2")
VECTORS = vectors("guarantees")


def test_up_to_twenty_unequal_parts_are_billed_at_their_optimum():
    parts = [PureDP(Fraction(i, 40)) for i in range(1, 21)]
    more = [PureDP(Fraction(i, 41)) for i in range(1, 21)]
    few, many = compose(parts, "1e-3", "1e-2"), compose([*parts, *more], "1e-3", "1e-2")
    assert "Murtagh" in few.theorem
    assert "dominating pairs" in many.theorem
    assert few.guarantee.epsilon < many.guarantee.epsilon
    assert few.lower < few.guarantee.epsilon < few.lower * (1 + Fraction(1, 10**8))
    assert many.lower < many.guarantee.epsilon


@pytest.mark.parametrize("name", VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"])
def test_better_than_the_closed_forms_for_bounded_range(name):
    case = VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"][name]
    epsilon, count, delta = (part.split("=")[1] for part in name.split(","))
    ours = composed_epsilon([(BoundedRange(epsilon), int(count))], delta, Fraction(1, 100))
    assert ours < Fraction(case["ddr20"]) < Fraction(case["dr19"])
    assert ours > Fraction(case["ddr20"]) / 2
