"""Approvals: with approvers, no scope and no limit without the signatures of enough of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, chained, forge, pure, scope

from safeselect import Budget, BudgetError, Ledger, LedgerDamaged, LedgerError, ParameterError
from safeselect.cli._main import main
from safeselect.ledger import Ed25519Signer, Proposal, approve

cryptography = pytest.importorskip("cryptography")


pytestmark = pytest.mark.claim("C9")

ANN, BEN, CID, EVE = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in range(1, 5))
PUBLIC = [each.public_key for each in (ANN, BEN, CID)]
MORE = Budget(**TERMS, epsilon=5)


def guarded(place: Any, **budget: Any) -> Ledger:
    """Two of three approve."""
    budgets = {"a": Budget(**TERMS, **(budget or {"epsilon": 1})), "b": Budget(**TERMS, rho=1)}
    return Ledger.create(place, budgets, approvers=PUBLIC, approvals_needed=2, max_refusals=1)


def signed(proposal: Proposal, *people: Ed25519Signer) -> list[dict[str, str]]:
    return [approve(Proposal(proposal.text), each) for each in people]


def test_two_of_three_open_a_scope_and_raise_a_budget(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = guarded(path)
    scope(ledger).pay(pure(1))
    with pytest.raises(BudgetError, match="does not allow this release: it costs epsilon"):
        scope(ledger).pay(pure())
    wanted = ledger.propose.limit("a", limit="epsilon", to=2, reason="a second year")
    assert wanted.content["before"] == "1"
    assert (wanted.content["after"], wanted.content["scope"]) == ("2", "a")
    ledger.enact(wanted, signed(wanted, CID, ANN))
    scope(ledger).pay(pure(1)).released("x", b"s" * 32)
    with pytest.raises(BudgetError, match="and 0 of 2 is left"):
        scope(ledger).pay(pure())
    wanted = ledger.propose.scope("c", MORE, max_refusals=7)
    ledger.enact(wanted, signed(wanted, ANN, BEN, CID))
    scope(ledger, "c").pay(pure(5))
    again = Ledger.open(path)
    assert again.scopes() == ledger.scopes() == ledger.check().scopes
    assert again.balance("a").budget == Budget(**TERMS, epsilon=2)
    assert again.balance("c").max_refusals == 7


def test_a_scope_that_closed_is_reopened_by_approvers(tmp_path: Path) -> None:
    ledger = guarded(tmp_path / "l")
    scope(ledger).pay(pure()).aborted("input")
    wanted = ledger.propose.reopening("a", reason="a column of text", refusals=3)
    ledger.enact(wanted, signed(wanted, ANN, BEN))
    scope(ledger).pay(pure())
    assert ledger.balance("a").max_refusals == 4


def test_without_approvals_nothing_changes() -> None:
    ledger = guarded(":memory:")
    scope(ledger).pay(pure()).aborted("input")
    head = ledger.head
    with pytest.raises(ParameterError, match="approvers sign every new scope"):
        ledger.add_scope("c", MORE)
    with pytest.raises(ParameterError, match="approvers sign every new scope"):
        ledger.reopen("a", reason="x")
    wanted, other = ledger.propose.scope("c", MORE), ledger.propose.scope("d", MORE)
    good = signed(wanted, ANN)[0]
    for approvals, said in (
        ([], "needs 2 approvals and has 0"),
        ([good, good], "approved twice by one key"),
        (signed(wanted, ANN, EVE), "by no approver's"),
        (signed(other, ANN, BEN), "is not for this"),
        ([good, {"key": BEN.public_key.hex(), "signature": good["signature"]}], "is not for this"),
        ([good, {**good, "more": "x"}], "something that is no approval"),
        ([good, {**good, "key": good["key"].upper()}], "something that is no approval"),
    ):
        with pytest.raises(ParameterError, match=said):
            ledger.enact(wanted, approvals)  # type: ignore[arg-type]
    for wrong in (good, "x", None, 7):
        with pytest.raises(ParameterError, match="approvals must be a list"):
            ledger.enact(wanted, wrong)  # type: ignore[arg-type]
    assert ledger.head == head
    ledger.enact(wanted, signed(wanted, ANN, BEN))


def test_an_approval_is_used_once_and_for_the_state_that_was_seen() -> None:
    ledger = guarded(":memory:")
    first = ledger.propose.limit("a", limit="epsilon", to=2, reason="x")
    second = ledger.propose.scope("c", MORE)
    approvals = signed(second, ANN, BEN)
    scope(ledger).pay(pure())  # charges in between do not matter
    ledger.enact(first, signed(first, ANN, BEN))
    for stale, by in ((first, signed(first, ANN, BEN)), (second, approvals)):
        with pytest.raises(ParameterError, match="have changed since: propose it anew"):
            ledger.enact(stale, by)
    other = guarded(":memory:")
    foreign = other.propose.scope("c", MORE)
    with pytest.raises(ParameterError, match="is for another ledger"):
        ledger.enact(foreign, signed(foreign, ANN, BEN))


@pytest.mark.parametrize(
    ("limit", "to", "said"),
    [
        ("epsilon", 1, "epsilon of scope 'a' is 1 already"),
        ("rho", 2, "one can raise epsilon, not 'rho'"),
        ("unit", 3, "one can raise epsilon"),
        ("epsilon", 0, "to must be"),
        ("epsilon", Fraction(2**1025), "at most 1024 bits"),
    ],
)
def test_what_cannot_be_raised(limit: Any, to: Any, said: str) -> None:
    ledger = guarded(":memory:")
    with pytest.raises(ParameterError, match=said):
        ledger.propose.limit("a", limit=limit, to=to, reason="x")
    with pytest.raises(ParameterError, match="there is no scope 'z'"):
        ledger.propose.limit("z", limit="epsilon", to=3, reason="x")
    with pytest.raises(ParameterError, match="there is a scope 'b'"):
        ledger.propose.scope("b", MORE)
    with pytest.raises(ParameterError, match="scope 'a' is not closed"):
        ledger.propose.reopening("a", reason="x")


@pytest.mark.parametrize(
    ("budget", "limit", "to"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, "delta", "1e-5"),
        ({"rho": "1/2"}, "rho", 1),
        ({"epsilon": 1, "delta": "1e-6", "order": 20}, "epsilon", 2),
    ],
)
def test_every_form_of_budget_is_raised(budget: dict[str, Any], limit: str, to: Any) -> None:
    ledger = guarded(":memory:", **budget)
    scope(ledger).pay(pure())
    before = ledger.balance("a")
    wanted = ledger.propose.limit("a", limit=limit, to=to, reason="x")
    ledger.enact(wanted, signed(wanted, ANN, BEN))
    after = ledger.balance("a")
    assert after.budget == Budget(**TERMS, **{**budget, limit: to})
    assert after.spent == before.spent
    (name,) = (n for n, cap in after.budget.caps.items() if cap > before.budget.caps[n])
    assert after.left[name] > before.left[name]
    scope(ledger).pay(pure())


def test_without_approvers_nobody_proposes() -> None:
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=1)})
    for act in (
        lambda: ledger.propose.scope("c", MORE),
        lambda: ledger.propose.limit("a", limit="epsilon", to=2, reason="x"),
        lambda: ledger.enact(Proposal("{}"), []),
    ):
        with pytest.raises(ParameterError, match="nobody approves in this ledger"):
            act()


@pytest.mark.parametrize("text", ["", "{}", "x", '{"since":"x"}', '{"kind":"charged"}', 7, None])
def test_texts_that_are_no_proposals(text: Any) -> None:
    ledger = guarded(":memory:")
    head = ledger.head
    with pytest.raises(ParameterError, match=r"proposal|propose"):
        ledger.enact(Proposal(text), [])
    assert ledger.head == head


def test_a_proposal_of_something_else_is_refused_though_it_is_signed() -> None:
    """Approvers sign what they are shown; the ledger still takes only scopes and limits."""
    ledger = guarded(":memory:")
    head = ledger.head
    for change in ({"kind": "torn"}, {"kind": "created"}, {"more": "x"}, {"kind": ["scope"]}):
        content = {**ledger.propose.scope("c", MORE).content, **change}
        forged = Proposal(json.dumps(content, sort_keys=True, separators=(",", ":")))
        with pytest.raises(LedgerError, match="nothing was written, because a reader would refuse"):
            ledger.enact(forged, signed(forged, ANN, BEN))
    assert ledger.head == head


def test_wrong_approvers_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    budgets = {"a": Budget(**TERMS, epsilon=1)}
    for options, said in (
        ({"approvers": [PUBLIC[0], PUBLIC[0]]}, "different keys"),
        ({"approvers": [ANN]}, "named by a public key"),
        ({"approvers": "x"}, "must be a list"),
        ({"approvers": PUBLIC[:1], "approvals_needed": 0}, "approvals_needed must be"),
        ({"approvals_needed": 1}, "goes with approvers"),
        ({"approvers": PUBLIC[:1], "signer": ANN}, "cannot be an approver's"),
    ):
        with pytest.raises(ParameterError, match=said):
            Ledger.create(tmp_path / "l", budgets, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "l").exists()
    proposal = guarded(":memory:").propose.scope("c", MORE)
    with pytest.raises(ParameterError, match="signer must have the members"):
        approve(proposal, PUBLIC[0])  # type: ignore[arg-type]


def changed(path: Path) -> list[dict[str, Any]]:
    """A ledger whose records 3, 6 and the last are changes by approvers; all its records."""
    ledger = guarded(path)
    for number, name in enumerate("cde"):
        wanted = ledger.propose.scope(name, Budget(**TERMS, epsilon=number + 1))
        ledger.enact(wanted, signed(wanted, ANN, BEN))
        if name != "e":
            scope(ledger).pay(pure()).released("x", b"s" * 32)
    return [record.content for record in ledger.records()]


PLACES = [3, 6, 9]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record.update(approvals=[]), "needs 2 approvals and has 0"),
        (lambda record: record["approvals"].pop(), "needs 2 approvals and has 1"),
        (
            lambda record: record["approvals"].append(record["approvals"][0]),
            "approved twice by one key",
        ),
        (lambda record: record["approvals"][0].update(key=EVE.public_key.hex()), "no approver's"),
        (lambda record: record["approvals"][0].update(signature="0" * 128), "is not for this"),
        (
            lambda record: (
                record["terms"]["budget"].update(epsilon="100")
                or record["caps"].update(epsilon="100")
            ),
            "is not for this",
        ),
        (lambda record: record.update(scope="z"), "is not for this"),
    ],
)
def test_a_forged_change_is_refused_wherever_it_stands(
    tmp_path: Path, place: int, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    path = tmp_path / "l"
    records = changed(path)
    assert [n for n, each in enumerate(records) if "approvals" in each] == PLACES
    forge(path, change, place)
    with pytest.raises(LedgerDamaged, match=said):
        Ledger.open(path)
    assert main(["ledger", "verify", str(path)]) == 3


def test_a_change_without_its_predecessor_or_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l"
    records = changed(path)
    for kept in (records[:3] + records[6:], [*records, {**records[9], "scope": "f"}]):
        path.write_bytes(chained(kept))
        with pytest.raises(LedgerDamaged, match="is not for this"):
            Ledger.open(path)
    # The chain computed anew breaks every approval: `since` is a hash.
    path.write_bytes(chained([{**records[0], "utc": "2025-01-01"}, *records[1:]]))
    with pytest.raises(LedgerDamaged, match="an approval of record 3 is not for this"):
        Ledger.open(path)


@pytest.mark.parametrize(
    "approvers",
    [
        {},
        {"keys": ["x"], "needed": "1", "scopes": "2"},
        {"keys": ["0" * 64], "needed": "2", "scopes": "2"},
        {"keys": ["0" * 64] * 2, "needed": "1", "scopes": "2"},
        {"keys": ["0" * 64], "needed": "1", "scopes": "-1"},
        {"keys": ["0" * 64], "needed": "1", "scopes": "2", "more": "x"},
    ],
)
def test_a_first_record_that_names_nobody_is_refused(tmp_path: Path, approvers: Any) -> None:
    path = tmp_path / "l"
    guarded(path)
    forge(path, lambda record: record.update(approvers=approvers), 0)
    with pytest.raises(LedgerDamaged, match="record 0 does not say who approves"):
        Ledger.open(path)


def test_the_command_shows_who_approves_and_what_was_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l"
    ledger = guarded(path)
    wanted = ledger.propose.limit("a", limit="epsilon", to=2, reason="a second year")
    ledger.enact(wanted, signed(wanted, ANN, BEN))
    assert main(["ledger", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "2 of 3 keys sign every new scope and every raised limit" in out
    assert "raised epsilon from 1 to 2, approved by 2: a second year" in out
    assert main(["ledger", "show", "--html", str(path)]) == 0
    assert "a second year" in capsys.readouterr().out
    assert main(["ledger", "export", str(path)]) == 0
    (tmp_path / "log").write_text(capsys.readouterr().out)
    assert main(["ledger", "verify", str(tmp_path / "log")]) == 0
