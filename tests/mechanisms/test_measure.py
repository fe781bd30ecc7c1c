"""`measure`: what it costs, what it refuses, and that it is charged like every release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ledgers import new, scope
from tapes import TapeSource

from safeselect import (
    Budget,
    BudgetError,
    Counts,
    GaussianDP,
    Ledger,
    ParameterError,
    PureDP,
    ScoreError,
    SourceError,
    ZeroConcentratedDP,
    compose,
    from_json,
    measure,
)
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.release.call import UNREADABLE
from safeselect.release.results import Numbers

COSTS = {
    "epsilon": ({"epsilon": "1/2", "sensitivity_l1": 3}, PureDP("1/2")),
    "rho": ({"rho": "1/8", "sensitivity_l2_squared": 3}, ZeroConcentratedDP("1/8")),
    "mu": ({"mu": "1/5", "sensitivity_l2_squared": 3}, GaussianDP("1/25")),
}


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", COSTS)
def test_what_it_costs(name: str) -> None:
    cost, guarantee = COSTS[name]
    found = measure([10**30, -5, 0], **cost)
    assert isinstance(found, Numbers)
    assert found.guarantee == guarantee
    assert compose(found.parts).guarantee == guarantee
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


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", COSTS)
def test_it_is_charged_and_has_its_receipt(name: str) -> None:
    cost, _ = COSTS[name]
    budget = {"epsilon": 1} if name == "epsilon" else {"rho": "1/4"}
    ledger = new(MemoryStore(), **budget)
    found = measure({"a": 5, "b": 7}, **cost, ledger=scope(ledger))
    (charge,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    assert charge["mechanism"] == found.mechanism
    assert charge["parameters"]["values"] == "2"
    assert found.receipt is not None
    assert found.labels == ("a", "b")
    assert from_json(found.to_json()) == found
    measure([1], **cost, ledger=scope(ledger))
    left = new(MemoryStore(), **dict.fromkeys(budget, "1/1000"))
    with pytest.raises(BudgetError, match="does not allow"):
        measure([1], **cost, ledger=scope(left))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "epsilon, rho and mu|exactly one"),
        ({"epsilon": 1, "rho": 1, "sensitivity_l1": 1}, "exactly one"),
        ({"epsilon": 1}, "requires sensitivity_l1"),
        ({"epsilon": 1, "sensitivity_l1": 1, "sensitivity_l2_squared": 1}, "requires"),
        ({"rho": 1, "sensitivity_l1": 1}, "sensitivity_l2_squared"),
        ({"mu": 0, "sensitivity_l2_squared": 1}, "mu must be greater"),
        ({"mu": 1, "sensitivity_l2_squared": 2**101}, "sigma squared"),
        ({"epsilon": 1, "sensitivity_l1": 2**41}, "noise rate"),
    ],
)
def test_wrong_costs_are_refused_before_the_charge(arguments: dict, message: str) -> None:
    ledger = new(MemoryStore(), rho=1000)
    with pytest.raises(ParameterError, match=message):
        measure([1], **arguments, ledger=scope(ledger))
    assert len(list(ledger.records())) == 2


def test_a_value_that_is_no_integer_has_one_sentence() -> None:
    ledger = new(MemoryStore(), epsilon=9)
    for bad in (0.5, float("nan"), None, "7", Fraction(987_654, 5)):
        with pytest.raises(ScoreError, match="values must be integers") as told:
            measure([1, bad], epsilon=1, sensitivity_l1=1)
        assert "987" not in str(told.value)
        with pytest.raises(ScoreError, match="the scores do not fit the") as failed:
            measure([1, bad], epsilon=1, sensitivity_l1=1, ledger=scope(ledger))
        assert str(failed.value) == UNREADABLE
        assert [r.content["kind"] for r in ledger.records()][-2:] == ["charged", "aborted"]


def test_requests_depend_on_the_number_of_values_alone() -> None:
    for cost, _ in COSTS.values():
        asked = set()
        for values in ([0, 1, 2], np.array([10**9] * 3), (10**40, -1, 5), {"a": 1, "b": 2, "c": 0}):
            source = TapeSource(seed=4)
            measure(values, **cost, source=source)
            asked.add(source.asked)
        assert len(asked) == 1


def test_counts_that_move_further_are_refused() -> None:
    """One who replaces another takes c contributions away and brings c others."""
    five, pure, spread = dict.fromkeys(range(5), 7), "sensitivity_l1", "sensitivity_l2_squared"
    ledgers = {
        by: Ledger.create(MemoryStore(), {"a": Budget("person", by, epsilon=99)})
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


@pytest.mark.parametrize("lasts", [0, 1])
def test_a_failure_keeps_the_charge_and_a_refusal_draws_nothing(lasts: int) -> None:
    for name, (cost, guarantee) in COSTS.items():
        price = {"epsilon": "1/2"} if name == "epsilon" else {"rho": guarantee.zcdp.rho}
        ledger = new(MemoryStore(), **price)
        with pytest.raises(SourceError, match="gone"):
            measure([1, 2], **cost, source=TapeSource(lasts=lasts), ledger=scope(ledger))
        assert [each.content["kind"] for each in ledger.records()][2:] == ["charged", "aborted"]
        source = TapeSource()
        with pytest.raises(BudgetError, match="does not allow"):
            measure([1, 2], **cost, source=source, ledger=scope(ledger))
        assert source.asked == 0
