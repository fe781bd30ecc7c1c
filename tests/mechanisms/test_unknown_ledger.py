"""A session with a ledger: the worst case in one record, what was used in a second."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, scope

from safeselect import BudgetError, Ledger, LedgerError, PayWhatYouGet
from safeselect.ledger.record import commitment
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.mechanisms.unknown import COUNTED

pytestmark = pytest.mark.claim("C8")

SESSION: dict[str, Any] = {"outcomes": 6, "queries": 2, "epsilon": "1/2", "delta": "1e-9"}
PRICE = {"epsilon": Fraction(1, 2), "not_pure": 0, "own_delta": Fraction(1, 10**9)}
# Sums, for two sessions.
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "2e-9", "own_delta": "2e-9"}
NOTHING: dict[str, Any] = {"k": 3, "k_bar": 5, "places": "all"}


def contents(ledger: Ledger) -> list[dict[str, Any]]:
    return [record.content for record in ledger.records()][2:]


def kinds(ledger: Ledger) -> list[str]:
    return [each["kind"] for each in contents(ledger)]


@pytest.mark.claim("C8")
def test_the_second_record_tells_what_was_used_and_frees_nothing() -> None:
    ledger = new(":memory:", **BUDGET)
    with PayWhatYouGet(**SESSION, ledger=scope(ledger)) as session:
        assert (ledger.balance("a").spent, ledger.check().pending) == (PRICE, {"2"})
        session.query({"Zebedee": 10**6}, **NOTHING)
        assert kinds(ledger) == ["charged"]
        assert session.release is session.receipt is None
    charged, settled = contents(ledger)
    assert charged["parameters"] == {"outcomes": "6", "queries": "2", **COUNTED}
    assert settled["charge"] == charged["seq"]
    assert settled["spent"] == {"outcomes": "2", "queries": "1"}
    assert (ledger.check().pending, ledger.balance("a").spent) == (set(), PRICE)
    release, receipt = session.release, session.receipt
    assert receipt is release.receipt is not None
    assert (receipt.ledger, str(receipt.record)) == (ledger.id, settled["seq"])
    assert release.spent == (("outcomes", 2), ("queries", 1))
    written = replace(release, receipt=None).to_json()
    assert settled["commitment"] == commitment(receipt.salt, written)
    assert "Zebedee" not in str(contents(ledger))


def test_an_exhausted_session_is_settled_at_once_and_only_once() -> None:
    for more in ({}, {"outcomes": 3}):  # of queries; of outcomes
        ledger = new(":memory:", **BUDGET)
        session = PayWhatYouGet(**{**SESSION, **more}, ledger=scope(ledger))
        many = dict.fromkeys("abc", 10**6) if more else {}
        session.query(many, **NOTHING)
        if not more:
            assert kinds(ledger) == ["charged"]
            session.query(many, **NOTHING)
        assert kinds(ledger) == ["charged", "settled"]
        spent = {"outcomes": "3", "queries": "1"} if more else {"outcomes": "2", "queries": "2"}
        assert contents(ledger)[1]["spent"] == spent
        head = ledger.head
        session.close()
        session.close()
        for _ in range(2):
            with pytest.raises(BudgetError, match="session is closed"):
                session.query({}, k=1, k_bar=1, places="all")
        assert ledger.head == head


def test_a_record_that_cannot_be_written_loses_no_answer_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = new(":memory:", **BUDGET)
    session = PayWhatYouGet(**{**SESSION, "queries": 1}, ledger=scope(ledger))

    def full(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "write", full)
        assert session.query({"a": 10**6}, **NOTHING).labels == ("a",)
        assert session.receipt is None
        with pytest.raises(LedgerError, match="the disk is full"):
            session.close()
    assert kinds(ledger) == ["charged"]
    session.close()
    assert contents(ledger)[1]["spent"] == {"outcomes": "2", "queries": "1"}


@pytest.mark.claim("C8")
def test_many_threads_settle_once() -> None:
    ledger = new(":memory:", **BUDGET)
    session = PayWhatYouGet(**{**SESSION, "queries": 12, "outcomes": 64}, ledger=scope(ledger))
    start, granted = threading.Barrier(6), []

    def work() -> None:
        start.wait()
        for _ in range(3):
            try:
                session.query({}, k=1, k_bar=1, places="all")
                granted.append(1)
            except BudgetError:
                pass
        session.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds(ledger) == ["charged", "settled"]
    used = str(len(granted))
    assert contents(ledger)[1]["spent"] == {"outcomes": used, "queries": used}
