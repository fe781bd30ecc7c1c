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

pytestmark = pytest.mark.claim("C9")

ANN, BEN, CID, EVE = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in range(1, 5))
PUBLIC = [each.public_key for each in (ANN, BEN, CID)]
MORE = Budget(**TERMS, epsilon=5)


CEILING = {"epsilon": 1, "ceiling": {"epsilon": 2}}


def guarded(place: Any, **budget: Any) -> Ledger:
    """Two of three approve."""
    budgets = {"a": Budget(**TERMS, **(budget or CEILING)), "b": Budget(**TERMS, rho=1)}
    return Ledger.create(place, budgets, approvers=PUBLIC, approvals_needed=2, max_refusals=1)


def signed(proposal: Proposal, *people: Ed25519Signer) -> list[dict[str, str]]:
    return [approve(Proposal(proposal.text), each) for each in people]


def test_two_of_three_open_a_scope_and_raise_a_budget(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = guarded(path)
    scope(ledger).pay(pure(1))
    with pytest.raises(BudgetError, match="release: it needs 10 % of the budget, and 0 % is left"):
        scope(ledger).pay(pure())
    wanted = ledger.propose.limit("a", limit="epsilon", to=2, reason="a second year")
    assert wanted.content["before"] == "1"
    assert (wanted.content["after"], wanted.content["scope"]) == ("2", "a")
    ledger.enact(wanted, signed(wanted, CID, ANN))
    scope(ledger).pay(pure(1)).released("x", b"s" * 32)
    with pytest.raises(BudgetError, match="5 % of the budget, and 0 % is left") as caught:
        scope(ledger).pay(pure())
    assert caught.value.left == {"epsilon": 0}
    wanted = ledger.propose.scope("c", MORE, max_refusals=7)
    ledger.enact(wanted, signed(wanted, ANN, BEN, CID))
    scope(ledger, "c").pay(pure(5))
    again = Ledger.open(path)
    assert again.scopes() == ledger.scopes() == ledger.check().scopes
    assert again.balance("a").budget == Budget(**TERMS, **CEILING).at("epsilon", Fraction(2))
    assert (again.balance("a").budget.caps, again.balance("c").max_refusals) == ({"epsilon": 2}, 7)


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
    with pytest.raises(ParameterError, match="sign new scopes"):
        ledger.add_scope("c", MORE)
    with pytest.raises(ParameterError, match="sign new scopes"):
        ledger.reopen("a", reason="x")
    wanted, other = ledger.propose.scope("c", MORE), ledger.propose.scope("d", MORE)
    good = signed(wanted, ANN)[0]
    for approvals, said in (
        ([], "requires 2 approvals, but has 0"),
        ([good, good], "approved twice by one key"),
        (signed(wanted, ANN, EVE), "by an unknown key"),
        (signed(other, ANN, BEN), "is for another change"),
        ([good, {**good, "key": BEN.public_key.hex()}], "is for another change"),
        ([good, {**signed(wanted, BEN)[0], "until": "9999"}], "is for another change"),
        ([good, {**good, "until": "-1"}], "invalid approval"),
        ([{name: good[name] for name in ("key", "signature")}], "invalid approval"),
        ([good, {**good, "more": "x"}], "invalid approval"),
        ([good, {**good, "key": good["key"].upper()}], "invalid approval"),
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
        with pytest.raises(ParameterError, match="changed since it was made; make a new proposal"):
            ledger.enact(stale, by)
    foreign = guarded(":memory:").propose.scope("c", MORE)
    with pytest.raises(ParameterError, match="is for another ledger"):
        ledger.enact(foreign, signed(foreign, ANN, BEN))


def test_approvals_expire_after_so_many_records(tmp_path: Path) -> None:
    """The record may stand at the last place that was signed, and at none after it."""
    for records, more, is_late in ((4, 3, False), (4, 4, True), (1, 0, False), (1, 1, True)):
        path = tmp_path / f"{records} {more}"
        ledger = guarded(path)
        wanted = ledger.propose.within(records).scope("c", MORE)
        assert wanted.content["until"] == str(2 + records)
        approvals = signed(wanted, ANN, BEN)
        assert {each["until"] for each in approvals} == {wanted.content["until"]}
        for _ in range(more):
            scope(ledger).pay(pure("1/100"))
        if is_late:
            with pytest.raises(ParameterError, match=f"expired after record {2 + records}"):
                ledger.enact(wanted, approvals)
            # Whoever may write to the file writes it all the same: every reader refuses it.
            known = [record.content for record in ledger.records()]
            content = {**wanted.content, "utc": known[1]["utc"], "approvals": approvals}
            del content["since"], content["until"]
            path.write_bytes(chained([*known, {**content, "schema": known[0]["schema"]}]))
            with pytest.raises(LedgerDamaged, match=f"expired after record {2 + records}"):
                Ledger.open(path)
        else:
            ledger.enact(wanted, approvals)
            assert Ledger.open(path).balance("c").budget == MORE
    for wrong in (0, 10**9 + 1, "7", None):
        with pytest.raises(ParameterError, match="records must be"):
            ledger.propose.within(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "to", "said"),
    [
        ("epsilon", 1, "epsilon of scope 'a' must be raised above 1"),
        ("rho", 2, "scope 'a' limits epsilon, not 'rho'"),
        ("unit", 3, "scope 'a' limits epsilon"),
        ("epsilon", 0, "to must be"),
        ("epsilon", "2.1", r"above the ceiling of this scope \(2\)"),
        ("epsilon", Fraction(2**1025), r"\(2\); open another scope"),
    ],
)
def test_what_cannot_be_raised(limit: Any, to: Any, said: str) -> None:
    ledger = guarded(":memory:")
    with pytest.raises(ParameterError, match=said):
        ledger.propose.limit("a", limit=limit, to=to, reason="x")
    with pytest.raises(ParameterError, match="has no scope 'z'"):
        ledger.propose.limit("z", limit="epsilon", to=3, reason="x")
    with pytest.raises(ParameterError, match="scope 'b' already exists"):
        ledger.propose.scope("b", MORE)
    with pytest.raises(ParameterError, match="scope 'a' is not closed"):
        ledger.propose.reopening("a", reason="x")
    with pytest.raises(ParameterError, match=r"\(it has none\); open another scope"):
        ledger.propose.limit("b", limit="rho", to=2, reason="x")


MOMENTS = ["moment_1", "moment_2", "moment_3"]
RAISES = [
    ({"epsilon": 1}, "epsilon", 2, ["epsilon"]),
    ({"rho": "1/2"}, "rho", 1, ["rho"]),
    ({"rho": "1/2", "delta": "1e-6"}, "delta", "1e-5", ["own_delta"]),
    ({"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"}, "delta", "1e-5", ["own_delta"]),
    ({"epsilon": 1, "delta": "1e-6"}, "delta", "1e-5", [*MOMENTS, "own_delta"]),
    ({"epsilon": 1, "delta": "1e-6"}, "epsilon", 2, ["epsilon", *MOMENTS]),
]


@pytest.mark.parametrize(("budget", "limit", "to", "grow"), RAISES)
def test_every_form_of_budget_is_raised_to_its_ceiling_and_no_further(
    budget: dict[str, Any], limit: str, to: Any, grow: list[str]
) -> None:
    ledger = guarded(":memory:", **budget, ceiling={limit: to})
    scope(ledger).pay(pure())
    before = ledger.balance("a")
    wanted = ledger.propose.limit("a", limit=limit, to=to, reason="x")
    ledger.enact(wanted, signed(wanted, ANN, BEN))
    after = ledger.balance("a")
    # What is promised is the ceiling, and its orders are those of a scope opened with it.
    own = {"own_delta": to} if "own_delta" in budget else {}
    fresh = Budget(**TERMS, **{**budget, limit: to, **own})
    assert (after.budget.terms, after.budget.caps) == (fresh.terms, fresh.caps)
    assert ledger.check().scopes["a"] == after
    assert (after.budget.ceiling, after.spent) == (before.budget.ceiling, before.spent)
    assert [n for n, cap in after.budget.caps.items() if cap > before.budget.caps[n]] == grow
    assert all(after.left[name] > before.left[name] for name in grow)
    scope(ledger).pay(pure())
    for beyond in (Fraction(to) + 1 / Fraction(10**9), to):
        with pytest.raises(ParameterError, match=r"above the ceiling|raised above"):
            ledger.propose.limit("a", limit=limit, to=beyond, reason="x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"after": "3"}, "to a value that is not allowed"),
        ({"after": "1/2"}, "to a value that is not allowed"),
        ({"before": "1/2"}, "does not raise the limit from its current"),
        ({"caps": {"epsilon": "3"}}, "states caps that differ"),
        ({"caps": {}}, "states caps that differ"),
        ({"caps": {"epsilon": "2", "rho": "1"}}, "states caps that differ"),
        ({"limit": "delta"}, "is not approved, or raises a limit that its scope lacks"),
        ({"limit": "max_refusals", "before": "1", "after": "2"}, "raise the current max_refusals"),
        ({"scope": "b", "limit": "rho", "before": "1", "after": "2"}, "a value that is not allow"),
    ],
)
def test_approvers_cannot_raise_beyond_what_was_stated(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """Though enough of them signed it: the statement of the scope is its ceiling."""
    path = tmp_path / "l"
    ledger = guarded(path)
    head = ledger.head
    content = {**ledger.propose.limit("a", limit="epsilon", to=2, reason="x").content, **change}
    forged = Proposal(json.dumps(content, sort_keys=True, separators=(",", ":")))
    with pytest.raises(LedgerError, match=f"nothing was written, because .*{said}"):
        ledger.enact(forged, signed(forged, ANN, BEN))
    assert ledger.head == head


def test_without_approvers_nobody_proposes() -> None:
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, **CEILING)})
    for act in (
        lambda: ledger.propose.scope("c", MORE),
        lambda: ledger.propose.limit("a", limit="epsilon", to=2, reason="x"),
        lambda: ledger.enact(Proposal("{}"), []),
    ):
        with pytest.raises(ParameterError, match="this ledger has no approvers"):
            act()


TEXTS = "", "{}", "x", '{"since":"x"}', '{"kind":"charged"}', '{"until":"5"}', "[" * 10**5, 7, None


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_are_no_proposals(text: Any, tmp_path: Path) -> None:
    ledger = guarded(tmp_path / "l")
    head = ledger.head
    with pytest.raises(ParameterError, match=r"proposal|propose"):
        ledger.enact(Proposal(text), [])
    with pytest.raises(ParameterError, match=r"not written by a ledger|must be a Proposal"):
        approve(Proposal(text), ANN)
    (tmp_path / "p").write_text(ledger.propose.scope("c", MORE).text)
    (tmp_path / "a").write_text(str(text))
    assert main(["ledger", "enact", *(str(tmp_path / name) for name in "lpa")]) == 2
    assert ledger.head == head


def test_a_proposal_has_the_fields_of_its_change() -> None:
    wanted = guarded(":memory:").propose.scope("c", MORE).content
    for change in ({"more": "x"}, {"kind": "raised"}, {"until": {}}, {"since": []}, {"scope": ""}):
        forged = json.dumps({**wanted, **change}, sort_keys=True, separators=(",", ":"))
        with pytest.raises(ParameterError, match=r"not written by a ledger|must be a string"):
            approve(Proposal(forged), ANN)


def test_wrong_approvers_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    budgets = {"a": Budget(**TERMS, epsilon=1)}
    for options, said in (
        ({"approvers": [PUBLIC[0], PUBLIC[0]]}, "distinct keys"),
        ({"approvers": [ANN]}, "public key must be 32 bytes"),
        ({"approvers": "x"}, "must be a list"),
        ({"approvers": PUBLIC[:1], "approvals_needed": 0}, "approvals_needed must be"),
        ({"approvals_needed": 1}, "requires approvers"),
        ({"approvers": PUBLIC[:1], "signer": ANN}, "cannot be an approver's"),
    ):
        with pytest.raises(ParameterError, match=said):
            Ledger.create(tmp_path / "l", budgets, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "l").exists()
    proposal = guarded(":memory:").propose.scope("c", MORE)
    with pytest.raises(ParameterError, match="signer must implement the"):
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
        (lambda record: record.update(approvals=[]), "requires 2 approvals, but has 0"),
        (lambda record: record["approvals"].pop(), "requires 2 approvals, but has 1"),
        (lambda record: record["approvals"].append(record["approvals"][0]), "approved twice"),
        (lambda record: record["approvals"][0].update(key=EVE.public_key.hex()), "an unknown key"),
        (lambda record: record["approvals"][0].update(signature="0" * 128), "for another change"),
        (lambda record: record["terms"].update(unit="household"), "is for another change"),
        (lambda record: record.update(scope="z"), "is for another change"),
    ],
)
def test_a_forged_change_is_refused_wherever_it_stands(
    tmp_path: Path, place: int, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    path = tmp_path / "l"
    assert [n for n, each in enumerate(changed(path)) if "approvals" in each] == PLACES
    forge(path, change, place)
    with pytest.raises(LedgerDamaged, match=said):
        Ledger.open(path)
    assert main(["ledger", "verify", str(path)]) == 3


def test_a_change_without_its_predecessor_or_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l"
    records = changed(path)
    for kept in (records[:3] + records[6:], [*records, {**records[9], "scope": "f"}]):
        path.write_bytes(chained(kept))
        with pytest.raises(LedgerDamaged, match="is for another change"):
            Ledger.open(path)
    # The chain computed anew breaks every approval: `since` is a hash.
    path.write_bytes(chained([{**records[0], "utc": "2025-01-01"}, *records[1:]]))
    with pytest.raises(LedgerDamaged, match="an approval of record 3 is for another change"):
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
    with pytest.raises(LedgerDamaged, match="record 0 does not list valid approvers"):
        Ledger.open(path)
