"""Several scopes charged by one call: all of them in one line, or none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, ListStore, pure
from workers import kinds

import safeselect
from safeselect import Budget, BudgetError, Ledger, ParameterError, PureDP, ScoreError
from safeselect.ledger import Scope

pytestmark = pytest.mark.claim("C8")

PURPOSE = "a test"


def three(place: Any = ":memory:", **options: Any) -> Ledger:
    budgets = {
        "data": Budget(**TERMS, epsilon=1),
        "analyst": Budget(**TERMS, epsilon="1/2", delta="1e-6"),
        "month": Budget(**TERMS, rho=1),
    }
    return Ledger.create(place, budgets, **options)


def named(ledger: Ledger, *names: str, purpose: str = PURPOSE) -> list[Scope]:
    return [ledger.scope(name, **TERMS, purpose=purpose) for name in names]


def spent(ledger: Ledger) -> dict[str, dict[str, Fraction]]:
    return {name: ledger.balance(name).spent for name in ("data", "analyst", "month")}


@pytest.mark.parametrize("place", ["file", "memory", "own store"])
def test_one_line_charges_all(place: str, tmp_path: Path) -> None:
    where = {"file": tmp_path / "l", "memory": ":memory:", "own store": ListStore()}[place]
    ledger = three(where)
    a, b, c = named(ledger, "data", "analyst", "month")
    joined = a & (b & c) if place == "memory" else a & b & c
    best = safeselect.top_k(
        [1, 9, 3], k=1, epsilon="1/4", sensitivity=1, monotonic=True, ledger=joined
    )
    assert best.receipt is not None
    assert kinds(ledger) == ["created", *["scope"] * 3, "charged", "released"]
    *_, charged, _ = ledger.records()
    assert [each["scope"] for each in charged.content["charges"]] == ["data", "analyst", "month"]
    assert spent(ledger)["data"] == {"epsilon": Fraction(1, 4)}
    analyst = spent(ledger)["analyst"]
    assert analyst == ledger.balance("analyst").budget.price(best.guarantee)
    assert (analyst["epsilon"], analyst["not_pure"], analyst["own_delta"]) == (Fraction(1, 4), 0, 0)
    assert all(analyst[f"moment_{number}"] > 0 for number in (1, 2, 3))
    assert 0 < spent(ledger)["month"]["rho"] <= Fraction(1, 32)
    assert ledger.check().pending == set()


def test_all_or_none() -> None:
    """The one that does not allow it may be first, in the middle or last."""
    for order in (("data", "analyst"), ("analyst", "data"), ("data", "analyst", "month")):
        ledger, joined = three(), None
        for each in named(ledger, *order):
            joined = each if joined is None else joined & each
        assert joined is not None
        head = ledger.head
        with pytest.raises(BudgetError, match="scope 'analyst' does not allow") as caught:
            joined.pay(pure("3/4"))
        assert caught.value.scope == "analyst"
        assert caught.value.left == ledger.balance("analyst").budget.caps
        assert caught.value.left["epsilon"] == Fraction(1, 2)
        assert caught.value.asked == ledger.balance("analyst").budget.price(PureDP("3/4"))
        assert ledger.head == head


def test_what_cannot_be_joined(tmp_path: Path) -> None:
    ledger = three(tmp_path / "l")
    again = Ledger.open(tmp_path / "l")  # a copy has the same identity, and is not what is charged
    a, b, c = named(ledger, "data", "analyst", "month")
    for act in (lambda: a & a, lambda: (a & b) & a, lambda: a & (b & a), lambda: (a & b) & (b & c)):
        with pytest.raises(ParameterError, match="twice"):
            act()
    with pytest.raises(ParameterError, match="must share one ledger object"):
        a & named(again, "analyst")[0]
    with pytest.raises(ParameterError, match="the same purpose"):
        a & named(ledger, "analyst", purpose="another")[0]
    ledger.add_scope("visits", Budget("visit", "add_remove", epsilon=1))
    ledger.add_scope("swapped", Budget("person", "replace_one", epsilon=1))
    for name, unit, neighbours in (
        ("visits", "visit", "add_remove"),
        ("swapped", "person", "replace_one"),
    ):
        with pytest.raises(ParameterError, match="the same unit and neighbours"):
            a & ledger.scope(name, unit=unit, neighbours=neighbours, purpose=PURPOSE)
    words = {name: type("Text", (str,), {})(word) for name, word in TERMS.items()}
    assert type(ledger.scope("data", **words, purpose=PURPOSE).unit) is str  # the budget's own
    for wrong in ("analyst", None, 1, ledger):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \&:"):
            a & wrong


def test_a_refusal_of_private_input_counts_in_each_scope() -> None:
    ledger = three(max_refusals=2)
    a, b, c = named(ledger, "data", "analyst", "month")
    for refusals in (1, 2):
        with pytest.raises(ScoreError, match="do not fit"):
            safeselect.permute_and_flip(
                [1, float("nan")], epsilon="1/100", sensitivity=1, ledger=a & b
            )
        assert [ledger.balance(each).refusals for each in ("data", "analyst", "month")] == [
            refusals, refusals, 0
        ]  # fmt: skip
    under_way = c.pay(pure("1/100"))
    for closed in (a, b, c & b, a & c):
        with pytest.raises(BudgetError, match="is closed"):
            closed.pay(pure("1/100"))
    under_way.released("blue", b"s" * 32)
    ledger.reopen("data", reason="found")
    with pytest.raises(BudgetError, match="scope 'analyst' is closed"):
        (a & b).pay(pure("1/100"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("replace-one", "replace_one"), ("replace", "replace_one"), ("add/remove", "add_remove")],
)
def test_neighbours_that_are_nearly_a_known_word_are_refused(written: str, meant: str) -> None:
    """Such a scope took `monotonic=True`, which is not private where a unit is replaced."""
    budget = Budget("person", written, epsilon=1)
    ledger = Ledger.create(":memory:", {"main": Budget("person", meant, epsilon=1)})
    for make in (
        lambda: Ledger.create(":memory:", {"main": budget}),
        lambda: ledger.add_scope("other", budget),
    ):
        with pytest.raises(ParameterError, match=f"use neighbours='{meant}'"):
            make()
    assert set(ledger.scopes()) == {"main"}
    ledger.add_scope("own words", Budget("person", "one trip more or less", epsilon=1))
