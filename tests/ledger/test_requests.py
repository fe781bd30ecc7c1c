"""Requests: a retry is never charged or drawn again, and what is told of one is on the disk."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, Box, ListStore, forge, new, pure, scope
from tapes import TapeSource
from workers import ended, kinds, start_child

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerError, ParameterError, RepeatedRequest
from safeselect.ledger.record import commitment
from safeselect.ledger.stores import file

pytestmark = pytest.mark.claim("C8")

ID = "0b5f6c1e-7d0e-4c57-a3f7-5b1f0c8f9a11"
SALT = b"s" * 32


def select(there: Any, **more: Any) -> Any:
    options: dict[str, Any] = {"epsilon": "1/10", "sensitivity": 1, **more}
    return safeselect.permute_and_flip({"red": 1, "blue": 90}, **options, ledger=there)


@pytest.fixture(params=["file", "memory", "own store"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    place = {"file": tmp_path / "l", "memory": ":memory:", "own store": ListStore()}[request.param]
    return new(place, epsilon=1)


def test_the_same_question_again_is_told_and_not_charged(ledger: Ledger) -> None:
    first, head = select(scope(ledger).asked(ID)), ledger.head
    with pytest.raises(RepeatedRequest, match="in record 2, which was released; nothing") as caught:
        select(scope(ledger).asked(ID))
    assert (caught.value.record, caught.value.outcome, caught.value.scope) == (2, "released", "a")
    assert isinstance(caught.value, BudgetError)
    assert ledger.head == head
    known = ledger.request(ID)
    assert known is not None
    assert (known.charge, known.outcome, known.record) == (2, "released", first.receipt.record)
    assert ledger.request(ID + "x") is None
    # Another request is another charge, and a call without one too.
    select(scope(ledger).asked(ID + "x"))
    select(scope(ledger))
    assert kinds(ledger).count("charged") == 3


@pytest.mark.parametrize("other", [{"epsilon": "1/9"}, {"minimize": True}, {"grid": "1/2"}])
def test_another_question_under_the_identity_is_a_mistake(
    ledger: Ledger, other: dict[str, Any]
) -> None:
    select(scope(ledger).asked(ID))
    head = ledger.head
    with pytest.raises(ParameterError, match="already used for a different question"):
        select(scope(ledger).asked(ID), **other)
    assert ledger.head == head


def test_mechanism_purpose_and_the_callers_own_words_belong_to_the_question() -> None:
    ledger = new(":memory:", epsilon=1)
    there = scope(ledger)
    select(there.asked(ID, question="column=colour"))
    for another in (
        lambda: select(there.asked(ID)),
        lambda: select(there.asked(ID, question="column=wheels")),
        lambda: select(ledger.scope("a", **TERMS, purpose="b").asked(ID, question="column=colour")),
        lambda: safeselect.exponential_mechanism(
            {"red": 1, "blue": 90},
            epsilon="1/10",
            sensitivity=1,
            ledger=there.asked(ID, question="column=colour"),
        ),
    ):
        with pytest.raises(ParameterError, match="a different question"):
            another()
    with pytest.raises(RepeatedRequest, match="which was released"):
        select(there.asked(ID, question="column=colour"))


def test_the_scopes_belong_to_the_question_in_any_order() -> None:
    ledger = new(":memory:", epsilon=1)
    ledger.add_scope("b", Budget(**TERMS, epsilon=1))
    a, b = scope(ledger), scope(ledger, "b")
    select((a & b).asked(ID))
    for repeated in (a & b, b & a):
        with pytest.raises(RepeatedRequest, match="which was released") as caught:
            select(repeated.asked(ID))
        assert caught.value.scope == repeated.name
    with pytest.raises(RepeatedRequest, match="which was released"):
        select(a.asked(ID) & b)
    with pytest.raises(ParameterError, match="a different question"):
        select(a.asked(ID))
    with pytest.raises(ParameterError, match="have the same request"):
        a.asked(ID) & b.asked("another")
    with pytest.raises(ParameterError, match="already belongs to a request"):
        a.asked(ID).asked("another")
    assert ledger.balance("a").spent == ledger.balance("b").spent


@pytest.mark.parametrize("wrong", ["", " ", "a\nb", 7, None, "x" * 201, "\ud800"])
def test_what_is_no_identity(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="request must be"):
        scope(new(":memory:")).asked(wrong)


def test_wrong_questions_and_outboxes_are_refused() -> None:
    there = scope(new(":memory:"))
    with pytest.raises(ParameterError, match="question must be a string"):
        there.asked(ID, question=7)
    with pytest.raises(ParameterError, match="outbox must be a function"):
        there.asked(ID, outbox={})


def test_a_question_may_be_long_and_is_not_in_the_records() -> None:
    ledger = new(":memory:")
    select(scope(ledger).asked(ID, question="é\n" * 10**5))
    written = "".join(str(record) for record in ledger.records())
    assert ID not in written
    assert "é" not in written


def test_a_refusal_for_lack_of_budget_leaves_the_identity_free(ledger: Ledger) -> None:
    there = scope(ledger).asked(ID)
    with pytest.raises(BudgetError, match="does not allow") as caught:
        select(there, epsilon=2)
    assert not isinstance(caught.value, RepeatedRequest)
    assert ledger.request(ID) is None
    select(there)  # even another question


def test_a_repeated_request_is_told_where_nothing_is_left() -> None:
    there = scope(Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=1)}, max_refusals=1))
    select(there.asked(ID), epsilon="1/2")
    select(there, epsilon="1/2")
    with pytest.raises(RepeatedRequest, match="which was released"):
        select(there.asked(ID), epsilon="1/2")


def test_an_aborted_request_does_not_leave_its_identity_free(ledger: Ledger) -> None:
    with pytest.raises(safeselect.SourceError, match="the device is gone"):
        select(scope(ledger).asked(ID), source=TapeSource(lasts=0))
    assert kinds(ledger)[2:] == ["charged", "aborted"]
    with pytest.raises(RepeatedRequest, match="which was aborted") as caught:
        select(scope(ledger).asked(ID))
    assert caught.value.outcome == "aborted"


def test_the_outbox_gets_the_answer_before_it_is_released(ledger: Ledger) -> None:
    seen: list[list[str]] = []
    box = Box(lambda: seen.append(kinds(ledger)))
    result = select(scope(ledger).asked(ID, outbox=box))
    assert seen == [["created", "scope", "charged"]]
    ((charge, salt, output),) = box.kept
    known = ledger.request(ID)
    assert known is not None
    assert (charge, salt) == (known.charge, result.receipt.salt)
    assert known.commitment == commitment(salt, output)
    assert json.loads(output)["label"]["text"] == result.label
    assert "receipt" not in output
    # For a retry the caller shows the entry, and the ledger says that it may.
    for _ in range(2):
        assert ledger.finish(charge, salt, output) == result.receipt
    assert kinds(ledger)[2:] == ["charged", "released"]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize(
    "mistake", [OSError, safeselect.ScoreError, safeselect.SourceError, LedgerError]
)
def test_an_outbox_that_fails_withholds_the_answer(
    ledger: Ledger, mistake: type[Exception], keeps: bool
) -> None:
    def fail() -> None:
        raise mistake("could not keep: blue")

    box = Box(fail, keeps=keeps)
    said = f"the outbox failed with {mistake.__name__}"
    with pytest.raises(safeselect.ChargeStands, match=said) as caught:
        select(scope(ledger).asked(ID, outbox=box))
    assert caught.value.charge == 2
    # What the outbox said may quote the answer.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "blue" not in str(caught.value)
    *_, last = ledger.records()
    assert (last.content["kind"], last.content["reason"]) == ("aborted", "error")
    assert ledger.balance("a").refusals == 0
    if keeps:
        with pytest.raises(LedgerError, match="the ledger already has the outcome of charge 2"):
            ledger.finish(*box.kept[0])
    with pytest.raises(RepeatedRequest, match="which was aborted") as repeated:
        select(scope(ledger).asked(ID, outbox=box))
    assert repeated.value.outcome == "aborted"


def test_a_session_knows_requests_and_keeps_no_answer() -> None:
    ledger, box = new(":memory:", epsilon=1), Box()
    asked = scope(ledger).asked(ID, outbox=box)
    given: dict[str, Any] = {"threshold": 1, "epsilon": "1/9", "sensitivity": 1, "k": 1}
    safeselect.SparseVector(**given, ledger=asked)
    with pytest.raises(RepeatedRequest, match="was already charged in record") as caught:
        safeselect.SparseVector(**given, ledger=asked)
    # A session that is settled at its end has answered before: there is no answer to be kept.
    assert (caught.value.outcome, box.kept) == (None, [])
    assert ledger.balance("a").spent["epsilon"] * 9 == 1


def test_a_process_killed_between_outbox_and_ledger_is_finished_by_another(tmp_path: Path) -> None:
    ledger, entry = new(tmp_path / "l", epsilon=1), tmp_path / "entry"

    def kept_then_killed(request: str, charge: int, salt: bytes, output: str) -> None:
        entry.write_text(json.dumps([charge, salt.hex(), output]))
        os.kill(os.getpid(), signal.SIGKILL)

    child = start_child(lambda: select(scope(ledger).asked(ID, outbox=kept_then_killed)))
    assert ended(child) == -signal.SIGKILL
    with pytest.raises(RepeatedRequest, match="which has no outcome yet") as caught:
        select(scope(ledger).asked(ID))
    assert caught.value.outcome is None
    charge, salt, output = json.loads(entry.read_text())
    first = Ledger.open(tmp_path / "l").finish(charge, bytes.fromhex(salt), output)
    assert ledger.finish(charge, bytes.fromhex(salt), output) == first
    with pytest.raises(LedgerError, match="already"):
        ledger.finish(charge, bytes.fromhex(salt), output.replace("blue", "red"))
    assert kinds(ledger)[2:] == ["charged", "released"]
    assert json.loads(output)["label"]["text"] == "blue"


def test_what_a_finish_refuses(ledger: Ledger) -> None:
    scope(ledger).pay(pure())
    assert scope(ledger).asked(ID).pay(pure()).charge == 3
    for arguments, said in (
        ((2, SALT, "x"), "record 2 is not the charge of a request"),
        ((-1, SALT, "x"), "charge must be"),
        ((3, "s" * 32, "x"), "salt must be the 32 bytes"),
        ((3, SALT, b"x"), "output must be a string"),
    ):
        with pytest.raises(ParameterError, match=said):
            ledger.finish(*arguments)  # type: ignore[arg-type]
    assert ledger.finish(3, SALT, "x").record == 4


def test_a_released_line_that_is_not_on_the_disk_yet_is_made_durable_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer was killed after the write and before the sync; then the power may fail."""
    path = tmp_path / "l"
    there, other = scope(new(path, epsilon=1)), Ledger.open(path)
    box = Box()

    def dies() -> None:
        pending = there.asked(ID, outbox=box).pay(pure())
        with monkeypatch.context() as patch:
            patch.setattr(file, "sync", lambda _: os.kill(os.getpid(), signal.SIGKILL))
            pending.released("blue", SALT)

    assert ended(start_child(dies)) == -signal.SIGKILL
    durable: list[int] = []
    real = file.sync

    def watched(opened: Any) -> None:
        real(opened)
        durable.append(os.fstat(opened.fileno()).st_size)

    def repeats() -> None:
        with pytest.raises(RepeatedRequest, match="which was released"):
            scope(other).asked(ID).pay(pure())

    size = path.stat().st_size
    assert path.read_bytes().count(b'"kind":"released"') == 1
    monkeypatch.setattr(file, "sync", watched)
    for tell in (
        repeats,
        lambda: Ledger.open(path).request(ID),
        lambda: Ledger.open(path).finish(2, SALT, "blue"),
        lambda: Ledger.open(path).head,
    ):
        durable.clear()
        tell()
        assert durable == [size]


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A ledger of three requests, in its records 2, 4 and 6."""
    path = tmp_path / "l"
    ledger = new(path)
    for number in range(3):
        scope(ledger).asked(f"r{number}").pay(pure()).released("blue", SALT)
    return path


@pytest.mark.parametrize("place", [4, 6])
def test_a_request_that_is_charged_twice_is_refused(asked: Path, place: int) -> None:
    first = [*Ledger.open(asked).records()][2].content["request"]
    forge(asked, lambda record: record.update(request=first), place)
    with pytest.raises(safeselect.LedgerDamaged, match=f"record {place} repeats a request"):
        Ledger.open(asked)
