"""`measure`: what it costs, what it refuses, and that it is charged like every release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import safeselect
from safeselect import Counts, Ledger, ParameterError, PureDP, ZeroConcentratedDP, measure
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.release.results import Numbers

COSTS = {
    "epsilon": ({"epsilon": "1/2", "sensitivity_l1": 3}, PureDP("1/2")),
    "rho": ({"rho": "1/8", "sensitivity_l2_squared": 3}, ZeroConcentratedDP("1/8")),
    "mu": ({"mu": "1/5", "sensitivity_l2_squared": 3}, safeselect.GaussianDP("1/25")),
}


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", COSTS)
def test_what_it_costs(name: str) -> None:
    cost, guarantee = COSTS[name]
    found = measure([10**30, -5, 0], **cost)
    assert isinstance(found, Numbers)
    assert (found.guarantee, safeselect.compose(found.parts).guarantee) == (guarantee, guarantee)
    assert all(type(value) is int for value in found.values)
    noise = np.array([v - w for v, w in zip(found.values, [10**30, -5, 0], strict=True)])
    assert abs(noise).max() < 2000
    if name == "epsilon":
        assert (found.noise_rate, found.provenance.number("sigma_squared")) == (
            Fraction(1, 6),
            None,
        )
    else:
        squared = {"rho": Fraction(12), "mu": Fraction(75)}[name]
        assert (found.noise_rate, found.provenance.number("sigma_squared")) == (None, squared)


def test_counts_that_move_further_are_refused() -> None:
    """One who replaces another takes c contributions away and brings c others."""
    five, pure, spread = dict.fromkeys(range(5), 7), "sensitivity_l1", "sensitivity_l2_squared"
    ledgers = {
        by: Ledger.create(MemoryStore(), {"a": safeselect.Budget("person", by, epsilon=99)})
        for by in ("add_remove", "replace_one")
    }
    for by, counts, least, message in (
        ("add_remove", Counts(five, "all"), 5, "one user can change 5 of these"),
        ("add_remove", Counts(five, "all", max_contributions=2), 2, "at least 2"),
        ("add_remove", Counts(five, 5), None, "private"),
        ("add_remove", Counts(five, "all", unit="one house"), None, "one house"),
        ("replace_one", Counts(five, "all"), 5, "at least 5"),
        (
            "replace_one",
            Counts(five, "all", max_contributions=2),
            4,
            "replacing one user can change",
        ),
    ):
        there = ledgers[by].scope("a", unit="person", neighbours=by, purpose="a test")
        for cost, name in (({"epsilon": 1}, pure), ({"rho": "1/100"}, spread)):
            with pytest.raises(ParameterError, match=message):
                measure(counts, **cost, **{name: (least or 9) - 1}, ledger=there)
            if least is not None:
                measure(counts, **cost, **{name: least}, ledger=there if name == pure else None)
    # For other values the sensitivity is declared for the scope's neighbours, whatever they are.
    assert measure([1, 2], epsilon=1, sensitivity_l1=2, ledger=there).receipt is not None
