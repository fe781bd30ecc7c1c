"""An error says whether the charge stands: before it `LedgerBusy`, after it `ChargeStands`."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, Box, new, pure, scope
from workers import kinds

import safeselect
from safeselect import BudgetError, ChargeStands, Ledger, LedgerBusy, RepeatedRequest
from safeselect.ledger import scope as scope_module
from safeselect.ledger.stores.file import FileStore

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and locks as Unix does"),
    pytest.mark.claim("C8"),
]

COST: dict[str, Any] = {"epsilon": "1/10", "sensitivity": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "budget.ledger"
    new(path, epsilon=100)
    return path


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_module, "OUTCOME_WAIT", 0)


@contextmanager
def held(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    with path.open("rb") as other:
        fcntl.flock(other, kind)
        yield


def impatient(path: Path, **more: Any) -> Any:
    return scope(Ledger.open(FileStore(path, wait=0), **more))


class Holding:
    """Scores whose reading, after the charge, takes the ledger's lock: nobody gives it back."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")

    def __call__(self, *_: object) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)


def select(there: Any) -> Any:
    """All mechanisms share one transaction, `release/call.py`."""
    return safeselect.permute_and_flip([1, 2], **COST, ledger=there)


def test_a_lock_held_from_the_outbox_on_leaves_an_answer_that_can_be_finished(path: Path) -> None:
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    box = Box(holding)
    with pytest.raises(ChargeStands, match=r"record 2 remains.*withheld.*Ledger.finish") as caught:
        select(scope(ledger).asked("r", outbox=box))
    assert "nothing was charged" not in str(caught.value)
    assert caught.value.charge == 2
    assert not isinstance(caught.value, LedgerBusy)
    with pytest.raises(ChargeStands, match="record 2 remains") as caught:
        ledger.finish(*box.kept[0])
    assert caught.value.charge == 2
    holding.file.close()
    assert kinds(ledger)[2:] == ["charged"]
    with pytest.raises(RepeatedRequest, match="has no outcome yet"):
        select(scope(ledger).asked("r", outbox=box))
    # By any process, as often as asked.
    receipt = Ledger.open(path).finish(*box.kept[0])
    assert ledger.finish(*box.kept[0]) == receipt
    assert kinds(ledger)[2:] == ["charged", "released"]
    ledger.check()


def test_a_lock_held_between_charge_and_answer_says_that_the_charge_stands(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an outbox: the answer is lost."""
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    real = scope_module.commitment

    def committed(salt: bytes, output: str) -> str:
        holding()
        return real(salt, output)

    monkeypatch.setattr(scope_module, "commitment", committed)
    with pytest.raises(ChargeStands, match="without an outbox the answer is lost") as caught:
        select(scope(ledger))
    assert caught.value.charge == 2
    holding.file.close()
    assert kinds(ledger)[2:] == ["charged"]


def test_a_refusal_under_a_held_lock_reads_as_an_answer_would(path: Path) -> None:
    """Otherwise the error would tell of private values."""
    said = set()
    for scores in ([1, 2], [1, float("nan")], [1, None]):
        ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
        there, begin = scope(ledger), type(scope(ledger)).pay

        def held_after(self: Any, charge: Any, begin: Any = begin, then: Any = holding) -> Any:
            pending = begin(self, charge)
            then()
            return pending

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(there), "pay", held_after)
            with pytest.raises(ChargeStands, match="remains") as caught:
                safeselect.permute_and_flip(scores, **COST, ledger=there)
        holding.file.close()
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        said.add(str(error).replace(f"record {error.charge} ", "record N "))
    assert len(said) == 1


@pytest.mark.parametrize("kind", [fcntl.LOCK_EX, fcntl.LOCK_SH])
def test_before_the_charge_nothing_is_charged_and_the_lock_is_named(path: Path, kind: int) -> None:
    there, before = impatient(path), path.read_bytes()
    with held(path, kind), pytest.raises(LedgerBusy, match="nothing was charged, so try again"):
        select(there)
    assert path.read_bytes() == before


def test_a_retry_that_cannot_look_again_says_that_the_first_charge_stands(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is taken between finding the request and making sure that it is on the disk."""
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    select(scope(ledger).asked("r"))
    real = FileStore.write

    def write(self: FileStore, work: Callable[[Any], Any]) -> Any:
        try:
            return real(self, work)
        finally:
            holding()

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "write", write)
        with pytest.raises(ChargeStands, match="record 2 remains") as caught:
            select(scope(ledger).asked("r"))
    assert caught.value.charge == 2
    holding.file.close()
    with pytest.raises(RepeatedRequest, match="was already charged in record 2"):
        select(scope(ledger).asked("r"))


def test_a_session_can_be_asked_and_settled_again(path: Path) -> None:
    ledger = Ledger.open(FileStore(path, wait=0))
    session = safeselect.SparseVector(threshold=3, k=2, **COST, ledger=scope(ledger))
    with held(path):
        with pytest.raises(ChargeStands, match=r"record 2 remains.*try again") as caught:
            session.query(2)
        assert caught.value.charge == 2
    session.query(2)
    with held(path), pytest.raises(ChargeStands, match=r"record 2 remains.*try again"):
        session.close()
    session.close()
    assert kinds(ledger)[2:] == ["charged", "settled"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_nothing_ends_a_call_whose_answer_the_outbox_has_as_aborted(
    error: type[BaseException], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, box = Ledger.open(path), Box()

    def stop(*_: object) -> None:
        raise error

    box.then = lambda: monkeypatch.setattr(os, "fdatasync", stop)
    with pytest.raises(error):
        select(scope(ledger).asked("r", outbox=box))
    monkeypatch.undo()
    again = Ledger.open(path)
    assert "aborted" not in kinds(again)
    again.finish(*box.kept[0])
    assert kinds(again)[2:] == ["charged", "released"]


def test_a_scope_that_closes_after_the_outbox_has_the_answer_keeps_it(tmp_path: Path) -> None:
    budgets = {"a": safeselect.Budget(**TERMS, epsilon=9)}
    ledger = Ledger.create(tmp_path / "l", budgets, max_refusals=1)
    box = Box(lambda: scope(ledger).pay(pure()).aborted("input"))
    with pytest.raises(BudgetError, match="is closed"):
        select(scope(ledger).asked("r", outbox=box))
    with pytest.raises(BudgetError, match="is closed"):
        ledger.finish(*box.kept[0])
    ledger.reopen("a", reason="mended")
    assert ledger.finish(*box.kept[0]).record == 6


def test_an_outcome_has_a_deadline_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_module, "OUTCOME_WAIT", 20)
    pending, holding = impatient(path).pay(pure()), Holding(path)
    holding()
    threading.Timer(0.3, holding.file.close).start()
    pending.released("x", b"s" * 32)
    assert kinds(Ledger.open(path))[2:] == ["charged", "released"]
