"""The bounds that formulas give: each is valid, and the least of them is what a list costs."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from safeselect import BoundedRange, LaplaceDominated, PureDP, compose
from safeselect.accounting.composition import composed_epsilon

pytestmark = pytest.mark.claim("C2")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())


def test_the_sum_of_laplace_dominated_guarantees_is_one():
    """By the pair itself: the product of two Laplace pairs is below the pair of the sum.

    P has losses of two Laplace laws; delta of the sum of two losses, on a fine lattice of outcomes
    that is coarser than the truth, stays below 1 - e**((s - sum) / 2).
    """
    one, two, grid = 0.7, 0.4, 400

    def law(epsilon):
        # quantile cells of Laplace(0, 1): loss |x - epsilon| - |x| at the cells' middles
        from math import log

        def quantile(v):
            return log(2 * v) if v < 0.5 else -log(2 - 2 * v)

        points = [quantile((i + 0.5) / grid) for i in range(grid)]
        return [abs(x - epsilon) - abs(x) for x in points]

    from math import exp

    losses = [a + b for a in law(one) for b in law(two)]
    for at in (0.0, 0.3, 0.6, 0.9):
        delta = sum(max(0.0, 1 - exp(at - loss)) for loss in losses) / grid**2
        whole = float(
            compose([LaplaceDominated("0.7"), LaplaceDominated("0.4")]).guarantee.delta(str(at))
        )
        assert delta <= whole + 0.005
    assert whole < 0.2  # the last, so the comparison is not with 1


def test_up_to_twenty_unequal_parts_are_billed_at_their_optimum():
    parts = [PureDP(Fraction(i, 40)) for i in range(1, 21)]
    few, many = (
        compose(parts, "1e-3", "1e-2"),
        compose([*parts, *(PureDP(Fraction(i, 41)) for i in range(1, 21))], "1e-3", "1e-2"),
    )
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
