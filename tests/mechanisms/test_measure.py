"""`measure`: what it costs, what it refuses, and that it is charged like every release."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from ledgers import TERMS, new, scope
from tapes import TapeSource

from safeselect import (
    Budget,
    BudgetError,
    Counts,
    GaussianDP,
    Ledger,
    Measurement,
    ParameterError,
    PureDP,
    ScoreError,
    SourceError,
    ZeroConcentratedDP,
    compose,
    measure,
)
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.release.call import UNREADABLE

VECTORS = Path(__file__).parents[1] / "vectors" / "measurements.json"
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
    assert isinstance(found, Measurement)
    assert found.guarantee == guarantee
    assert compose(found.parts).guarantee == guarantee
    assert all(type(value) is int for value in found.values)
    noise = np.array([v - w for v, w in zip(found.values, [10**30, -5, 0], strict=True)])
    assert abs(noise).max() < 2000
    if name == "epsilon":
        assert (found.rate, found.sigma_squared) == (Fraction(1, 6), None)
    else:
        squared = {"rho": Fraction(12), "mu": Fraction(75)}[name]
        assert (found.rate, found.sigma_squared) == (None, squared)


def test_the_published_chance_of_a_vector_of_discrete_laplace_noise() -> None:
    """With the rate that a measurement states, from the formula of the law."""
    (vector,) = (
        v for v in json.loads(VECTORS.read_text("utf-8")) if v["name"] == "discrete_laplace_vector"
    )
    stated = measure([0, 0, 0], epsilon=1, sensitivity_l1=10).rate
    assert stated == Fraction(vector["inputs"]["rate"])
    with mpmath.workdps(50):
        rho = mpmath.exp(-mpmath.mpf(stated.numerator) / stated.denominator)
        chance = mpmath.fprod(
            (1 - rho) / (1 + rho) * rho ** abs(x) for x in vector["inputs"]["noise"]
        )
        assert abs(chance / mpmath.mpf(vector["output"]) - 1) < mpmath.mpf(10) ** -27


@pytest.mark.parametrize("name", COSTS)
def test_the_noise_has_the_variance_of_its_law(name: str) -> None:
    """20 000 values; the fourth moments of these laws are below 7 variances squared.

    So the mean of the squares is within 6.2 deviations of itself, 12 % here, but with probability
    1e-9 (nearly normal); twice or half the variance would be 90 % off.
    """
    cost, _ = COSTS[name]
    found = measure(np.zeros(20_000, dtype=np.int64), **cost)
    squares = sum(value * value for value in found.values) / 20_000
    if found.rate is not None:
        rho = mpmath.exp(-mpmath.mpf(1) / 6)
        variance = float(2 * rho / (1 - rho) ** 2)
    else:
        variance = float(found.sigma_squared) + (1 / 12 if name == "mu" else 0)
    assert abs(squares / variance - 1) < 0.12
    assert abs(sum(found.values) / 20_000) < 6.2 * (variance / 20_000) ** 0.5


@pytest.mark.parametrize("squared", ["rho", "mu"])
def test_wide_noise_has_the_variance_of_its_law(squared: str) -> None:
    """Beyond the tables: a chi-square variable of 300 degrees of freedom, over 300.

    It lies outside of these bounds with probability below 1e-9 (Wilson and Hilferty 1931); half or
    twice the variance would be outside.
    """
    cost = {"rho": "1/100000000", "mu": "1/10000"}[squared]
    found = measure([0] * 300, **{squared: cost}, sensitivity_l2_squared=1)
    mean = sum(value * value for value in found.values) / 300
    assert 0.58 < mean / float(found.sigma_squared) < 1.6


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
    written = json.loads(found.to_json())
    assert written["schema"] == "safeselect.measurement/1"
    assert written["values"] == [str(value) for value in found.values]
    assert written["receipt"]["ledger"] == ledger.id
    measure([1], **cost, ledger=scope(ledger))
    left = new(MemoryStore(), **dict.fromkeys(budget, "1/1000"))
    with pytest.raises(BudgetError, match="does not allow"):
        measure([1], **cost, ledger=scope(left))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "epsilon, rho and mu|exactly one"),
        ({"epsilon": 1, "rho": 1, "sensitivity_l1": 1}, "exactly one"),
        ({"epsilon": 1}, "goes with sensitivity_l1"),
        ({"epsilon": 1, "sensitivity_l2_squared": 1}, "goes with sensitivity_l1"),
        ({"epsilon": 1, "sensitivity_l1": 1, "sensitivity_l2_squared": 1}, "goes with"),
        ({"rho": 1, "sensitivity_l1": 1}, "sensitivity_l2_squared"),
        ({"mu": 1, "sensitivity_l1": 1}, "sensitivity_l2_squared"),
        ({"mu": 0, "sensitivity_l2_squared": 1}, "mu must be greater"),
        ({"mu": 1, "sensitivity_l2_squared": 2**101}, "sigma squared"),
        ({"rho": 2**90, "sensitivity_l2_squared": 1}, "sigma squared"),
        ({"epsilon": 1, "sensitivity_l1": 2**41}, "noise rate"),
    ],
)
def test_wrong_costs_are_refused_before_the_charge(arguments: dict, message: str) -> None:
    ledger = new(MemoryStore(), rho=1000)
    with pytest.raises(ParameterError, match=message):
        measure([1], **arguments, ledger=scope(ledger))
    assert len(list(ledger.records())) == 2


@pytest.mark.parametrize("bad", [0.5, float("nan"), None, "7", Fraction(987_654, 5)])
def test_a_value_that_is_no_integer(bad: object) -> None:
    with pytest.raises(ScoreError, match="values must be integers") as told:
        measure([1, bad], epsilon=1, sensitivity_l1=1)
    ledger = new(MemoryStore(), epsilon=3)
    with pytest.raises(
        ScoreError, match="the scores cannot be read as the arguments say; what was charged stays"
    ) as failed:
        measure([1, bad], epsilon=1, sensitivity_l1=1, ledger=scope(ledger))
    assert str(failed.value) == UNREADABLE
    assert "987" not in str(told.value)
    assert [r.content["kind"] for r in ledger.records()][-1] == "aborted"


def test_requests_depend_on_the_number_of_values_alone() -> None:
    for cost, _ in COSTS.values():
        asked = set()
        for values in ([0, 1, 2], np.array([10**9] * 3), (10**40, -1, 5), {"a": 1, "b": 2, "c": 0}):
            source = TapeSource(seed=4)
            measure(values, **cost, source=source)
            asked.add(source.asked)
        assert len(asked) == 1


def test_the_same_numbers_of_any_type_are_the_same_input() -> None:
    found = {
        measure(values, rho=1, sensitivity_l2_squared=1, source=TapeSource(seed=4)).values
        for values in ([3, 5], (3.0, 5.0), np.array([3, 5], np.uint8), [Fraction(3), 5])
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (Counts({"a": 1, "b": 2, "c": 3}, places="all"), "at least 3"),
        (Counts({"a": 1, "b": 2, "c": 3}, places="all", max_contributions=2), "at least 2"),
        (Counts({"a": 1}, places=5), "private"),
        (Counts({"a": 1}, places="all", unit="one house"), "one house"),
    ],
)
def test_counts_that_move_further_are_refused(counts: Counts, message: str) -> None:
    ledger = new(MemoryStore(), rho=1000)
    for cost in ({"epsilon": 1, "sensitivity_l1": 1}, {"mu": 1, "sensitivity_l2_squared": 1}):
        with pytest.raises(ParameterError, match=message):
            measure(counts, **cost, ledger=scope(ledger))
    measure(Counts({"a": 1, "b": 2}, places="all"), epsilon=1, sensitivity_l1=2)


def test_neighbours_that_replace_are_the_callers_affair() -> None:
    """The sensitivity is declared for the scope's neighbours, whatever they are."""
    terms = {**TERMS, "neighbours": "replace_one"}
    from safeselect import Budget

    ledger = Ledger.create(MemoryStore(), {"a": Budget(**terms, epsilon=1)})
    found = measure(
        [1, 2], epsilon=1, sensitivity_l1=2, ledger=ledger.scope("a", **terms, purpose="a test")
    )
    assert found.receipt is not None


class Failing(TapeSource):
    """Fails once so many bytes have been asked for."""

    def __init__(self, after: int) -> None:
        super().__init__(seed=2)
        self._after = after

    def fill(self, buffer: object, /) -> None:
        if self.asked >= self._after:
            raise SourceError("the device is gone")
        super().fill(buffer)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("name", COSTS)
def test_a_failure_keeps_the_charge_and_a_refusal_draws_nothing(name: str, after: int) -> None:
    cost, guarantee = COSTS[name]
    price = {"epsilon": "1/2"} if name == "epsilon" else {"rho": guarantee.zcdp.rho}
    ledger = new(MemoryStore(), **price)
    with pytest.raises(SourceError, match="gone"):
        measure([1, 2], **cost, source=Failing(after), ledger=scope(ledger))
    assert [record.content["kind"] for record in ledger.records()][2:] == ["charged", "aborted"]
    source = TapeSource()
    with pytest.raises(BudgetError, match="does not allow"):
        measure([1, 2], **cost, source=source, ledger=scope(ledger))
    assert source.asked == 0


def test_counts_in_which_users_are_replaced_move_twice_as_far() -> None:
    """The one who leaves takes c contributions away, and the one who comes brings c others."""
    budget = Budget("person", "replace_one", epsilon=9)
    ledger = Ledger.create(":memory:", {"a": budget})
    there = ledger.scope("a", unit="person", neighbours="replace_one", purpose="a test")
    counts = Counts(dict.fromkeys(range(5), 7), "all", max_contributions=2)
    with pytest.raises(ParameterError, match="one user in another's place may move 4 of these"):
        measure(counts, epsilon=1, sensitivity_l1=2, ledger=there)
    assert measure(counts, epsilon=1, sensitivity_l1=4, ledger=there).receipt is not None
    with pytest.raises(ParameterError, match="sensitivity_l2_squared must be at least 4"):
        measure(counts, rho=1, sensitivity_l2_squared=3, ledger=there)
    uncapped = Counts(dict.fromkeys(range(5), 7), "all")
    with pytest.raises(ParameterError, match="sensitivity_l1 must be at least 5"):
        measure(uncapped, epsilon=1, sensitivity_l1=4, ledger=there)
    assert measure(uncapped, epsilon=1, sensitivity_l1=5, ledger=there).receipt is not None
