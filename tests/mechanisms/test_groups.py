"""Lists by group, from counts: what is charged for one user's groups, and in which order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from composed import composed_epsilon
from ledgers import new, scope

from safeselect import ApproximateDP, BoundedRange, LaplaceDominated, ParameterError, PureDP
from safeselect.accounting.cost import PrivacyCost
from safeselect.mechanisms.groups import plan_known, plan_unknown, release_by_group
from safeselect.sources import resolve

pytestmark = pytest.mark.claim("C2")

TOTAL = ApproximateDP(Fraction(4), Fraction(1, 10**6))
PURE = PrivacyCost(Fraction(6), None, None)
TABLES = {"May": {"a": 10**7, "b": 3}, "June": {"b": 10**7}, "July": {}}


def released(plan: Any, read: Any = lambda: TABLES, **more: Any) -> Any:
    return release_by_group(plan, list(TABLES), 2, {"kind": "test"}, resolve(None), read, **more)


def test_a_user_pays_for_the_draws_and_the_bottoms_of_the_groups_that_change() -> None:
    plan = plan_unknown(TOTAL, (3, 5), 2, None)
    (draw, draws), (bottom, bottoms) = plan.charge.parts
    assert isinstance(draw, BoundedRange)
    assert (draws, bottoms, plan.places) == (2 * 3, 2, 6)
    rest = TOTAL.delta - 2 * bottom.delta
    assert composed_epsilon([(draw, draws)], rest) <= 4
    found = released(plan)
    assert found.labels == (("a",), ("b",), ())
    assert found.counts is None


def test_with_counts_each_group_has_its_part() -> None:
    plan = plan_unknown(TOTAL, (3, 5), 2, 1)
    assert plan.charge.parts == ((PureDP(2), 2), (ApproximateDP(Fraction(0), TOTAL.delta / 2), 2))
    found = released(plan)
    assert found.labels == (("a",), ("b",), ())
    assert [abs(counts[0] - 10**7) < 1000 for counts in found.counts[:2]] == [True, True]


def test_of_known_candidates_k_draws_for_each_group_that_changes() -> None:
    plan = plan_known(PURE, ["a", "b", "c"], 1, 2, None)
    assert plan.charge.mechanism == "top_k_by_group_permute_and_flip/1"
    assert plan.charge.parts == ((LaplaceDominated(3), 2),)
    assert released(plan).labels[:2] == (("a",), ("b",))
    assert plan_known(PURE, ["a", "b"], 1, 2, "exponential").charge.parts == ((BoundedRange(3), 2),)


@pytest.mark.parametrize(
    ("k", "mechanism", "reason"),
    [
        (4, None, "the number of candidates"),
        (1, "laplace", "mechanism"),
        (1, "exponential_base2", "mechanism"),
    ],
)
def test_what_is_refused(k: int, mechanism: Any, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        plan_known(PURE, ["a", "b", "c"], k, 2, mechanism)


def test_the_charge_comes_before_the_counts() -> None:
    made, seen = new(":memory:", epsilon=9, delta="1/10"), []

    def read() -> Any:
        seen.append(made.check().scopes["a"].spent["epsilon"])
        return TABLES

    found = released(plan_unknown(TOTAL, (1, 2), 2, None), read, scope=scope(made))
    assert seen == [4]
    assert found.receipt is not None
    assert found.provenance.number("max_groups") == 2
