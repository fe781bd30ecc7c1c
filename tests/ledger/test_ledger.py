"""The ledger as its callers see it, on a file, in memory and in a store of one's own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, ListStore, new, pure, scope
from workers import kinds

import safeselect as s
from safeselect.ledger.signing import Ed25519Signer

pytestmark = pytest.mark.claim("C8")


@pytest.fixture(params=["file", "memory", "own store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {"file": tmp_path / "budget.db", "memory": ":memory:", "own store": ListStore()}[
        request.param
    ]


def test_ten_charges_of_a_tenth_fit_in_one_and_no_more(place: Any) -> None:
    ledger = new(place, epsilon=1)
    for _ in range(10):
        scope(ledger).pay(pure("0.1"))
    before = ledger.head
    with pytest.raises(s.BudgetError, match=r"0\.1 % of the budget, and 0 % is left$") as caught:
        scope(ledger).pay(pure("1e-6"))
    assert (caught.value.asked, caught.value.left) == (
        {"epsilon": Fraction(1, 10**6)},
        {"epsilon": 0},
    )
    assert (ledger.head, ledger.balance("a").spent) == (before, {"epsilon": 1})
    assert ledger.balance("a").left == {"epsilon": 0}


def test_a_charge_is_released_or_aborted_once_and_never_refunded(place: Any) -> None:
    ledger = new(place)
    first, second, third = (scope(ledger).pay(pure()) for _ in range(3))
    receipt = first.released("blue", b"s" * 32)
    second.aborted("source")
    assert (receipt.ledger, receipt.record, receipt.salt) == (ledger.id, 5, b"s" * 32)
    assert kinds(ledger) == ["created", "scope", *["charged"] * 3, "released", "aborted"]
    for again in (first, second):
        with pytest.raises(s.LedgerError, match="the ledger already has the outcome"):
            again.aborted("error")
        with pytest.raises(s.LedgerError, match="the ledger already has the outcome"):
            again.released("red", b"s" * 32)
    checker = ledger.check()
    assert checker.pending == {str(third.charge)}
    assert ledger.balance("a").spent == checker.scopes["a"].spent == {"epsilon": Fraction(3, 10)}


def test_a_nonce_that_comes_twice_is_cloned_randomness(place: Any) -> None:
    ledger = s.Ledger.create(
        place, {"a": s.Budget(**TERMS, epsilon=1), "b": s.Budget(**TERMS, epsilon=1)}
    )
    scope(ledger).pay(pure(nonce=b"n" * 16))
    before = ledger.head
    for name in ("a", "b"):
        with pytest.raises(
            s.SourceError, match="the source repeats its bytes; nothing was charged"
        ):
            scope(ledger, name).pay(pure(nonce=b"n" * 16))
    assert ledger.head == before


def test_scopes_have_budgets_of_their_own_and_may_be_added(place: Any) -> None:
    ledger = new(place, epsilon=1)
    ledger.add_scope("b", s.Budget("household", "replace_one", rho="1/2"))
    scope(ledger).pay(pure(1))
    there = ledger.scope("b", unit="household", neighbours="replace_one", purpose="p")
    there.pay(pure(guarantee=s.ZeroConcentratedDP("1/2")))
    for name in ("a", "b"):
        assert set(ledger.balance(name).left.values()) == {0}
        with pytest.raises(s.ParameterError, match="already exists"):
            ledger.add_scope(name, s.Budget(**TERMS, epsilon=100))
    assert set(ledger.check().scopes) == {"a", "b"}


@pytest.mark.parametrize(
    ("unit", "neighbours"), [("visit", "add_remove"), ("person", "replace_one"), (None, None)]
)
def test_a_scope_adds_up_one_unit_and_one_kind_of_neighbours(unit: Any, neighbours: Any) -> None:
    ledger = new(":memory:")
    with pytest.raises(s.ParameterError, match="has unit 'person' and neighbours 'add_remove'"):
        ledger.scope("a", unit=unit, neighbours=neighbours, purpose="p")


def test_creating_and_opening_are_two_things(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with pytest.raises(
        s.LedgerError, match=r"file .*budget.db.* does not exist; create it with Ledger.create"
    ):
        s.Ledger.open(path)
    assert not path.exists()
    ledger = new(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(s.LedgerError, match="already exists; open it"):
        new(path)
    again = s.Ledger.open(str(path))
    assert (again.id, again.head) == (ledger.id, ledger.head)
    assert [each.name for each in tmp_path.iterdir()] == ["budget.db"]


def test_wrong_arguments_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    long = {"a" * 150: s.Budget(**TERMS, epsilon=1, blocks=["b" * 100, "c"])}  # with its block
    for budgets in ({"a": 1}, {"a\n": s.Budget(**TERMS, epsilon=1)}, long, {1: 2}, [1], None):
        with pytest.raises(s.ParameterError, match=r"budgets must map|of a scope must"):
            s.Ledger.create(path, budgets)  # type: ignore[arg-type]
    wards = s.Budget(**TERMS, epsilon=1, blocks=["x"])
    for names in ({"w": wards, "w/a": wards}, {"w/x": wards, "w": wards}):
        with pytest.raises(
            s.ParameterError, match=r"scope 'w.*' already exists, or its name confl"
        ):
            s.Ledger.create(path, names)
    for signer in (b"key" * 20, Ed25519Signer, object()):
        with pytest.raises(s.ParameterError, match="signer"):
            new(path, signer=signer)
    for wrong in (7, b"x.db", None, ListStore):
        with pytest.raises(s.ParameterError, match="a ledger requires a path or a Store"):
            s.Ledger.open(wrong)  # type: ignore[arg-type]
    assert not path.exists()
    ledger = new(path)
    for name, purpose in (("b", "p"), ("a", ""), ("a", "two\nlines"), ("a", 3), (None, "p")):
        with pytest.raises(s.ParameterError, match=r"must be|has no scope"):
            ledger.scope(name, **TERMS, purpose=purpose)  # type: ignore[arg-type]


def test_what_a_ledger_hands_out_is_a_copy(place: Any) -> None:
    whole = {"a": s.Budget(**TERMS, epsilon=1, ceiling={"epsilon": 2}, blocks=["x", "y", "z"])}
    ledger = s.Ledger.create(place, whole)
    scope(ledger, "a/x").pay(pure(1))
    before = str(ledger.scopes())
    for balance in (ledger.balance("a/x"), (balances := ledger.scopes())["a/z"]):
        balance.spent["epsilon"] -= 1
        balance.budget.ceiling["epsilon"] = Fraction(9)
    assert (balances["a/y"].spent, str(ledger.scopes())) == ({"epsilon": 0}, before)
    with pytest.raises(s.BudgetError, match="0 % is left"):
        scope(ledger, "a/x").pay(pure("1/2"))
    assert ledger.check().scopes == ledger.scopes()


def test_a_guarantee_without_a_price_is_refused_and_nothing_is_charged(place: Any) -> None:
    approximate, rho = s.ApproximateDP("1/2", "1e-7"), s.ZeroConcentratedDP("1/100")
    cases = [
        ({"epsilon": 1}, approximate, "limits epsilon; use a budget with epsilon and delta"),
        ({"epsilon": 1}, rho, "limits epsilon; use a budget with epsilon and delta"),
        (
            {"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"},
            rho,
            "limits epsilon and delta; use a budget with epsilon and delta and with own_delta",
        ),
        ({"rho": 1}, approximate, "limits rho; use a budget with rho and delta"),
    ]
    budgets = {str(i): s.Budget(**TERMS, **terms) for i, (terms, _, _) in enumerate(cases)}
    ledger = s.Ledger.create(place, budgets)
    before = ledger.head
    for i, (_, guarantee, said) in enumerate(cases):
        with pytest.raises(
            s.ParameterError, match=f"cannot be charged to this budget, which {said}"
        ):
            scope(ledger, str(i)).pay(pure(guarantee=guarantee))
    assert ledger.head == before


def test_messages_quote_parameters_however_long() -> None:
    ledger = new(":memory:", epsilon="1e-30")
    with pytest.raises(s.BudgetError, match=r"budget epsilon 1e-30 of .* more than 1000 % of the"):
        scope(ledger).pay(pure(2**4000))
