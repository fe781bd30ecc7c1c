"""An error says whether the charge stands: before it `LedgerBusy`, after it `ChargeStands`."""

from __future__ import annotations

import fcntl
import os
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, Box, new, outcomes, pure, scope
from workers import kinds

import safeselect
import safeselect as s
from safeselect.ledger import Ed25519Signer
from safeselect.ledger import scope as scope_module
from safeselect.ledger.stores.file import FileStore
from safeselect.ledger.stores.memory import MemoryStore

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
    return scope(s.Ledger.open(FileStore(path, wait=0), **more))


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
    ledger, holding = s.Ledger.open(FileStore(path, wait=0)), Holding(path)
    box = Box(holding)
    with pytest.raises(
        s.ChargeStands, match=r"record 2 remains.*withheld.*Ledger.finish.*lost"
    ) as caught:
        select(scope(ledger).asked("r", outbox=box))
    assert "nothing was charged" not in str(caught.value)
    assert caught.value.charge == 2
    assert not isinstance(caught.value, s.LedgerBusy)
    with pytest.raises(s.ChargeStands, match="record 2 remains") as caught:
        ledger.finish(*box.kept[0])
    assert caught.value.charge == 2
    holding.file.close()
    assert kinds(ledger)[2:] == ["charged"]
    with pytest.raises(s.RepeatedRequest, match="has no outcome yet"):
        select(scope(ledger).asked("r", outbox=box))
    # By any process, as often as asked.
    receipt = s.Ledger.open(path).finish(*box.kept[0])
    assert ledger.finish(*box.kept[0]) == receipt
    assert kinds(ledger)[2:] == ["charged", "released"]
    ledger.check()


def other_library(there: Any, value: int | None) -> None:
    with there.charge(s.PureDP("1/10"), mechanism="other/law") as pending:
        if value is None:
            raise ValueError("blue")
        pending.released("x")


CALLS: dict[str, Callable[[Any, int | None], object]] = {
    "one": lambda there, value: safeselect.permute_and_flip([1, value], **COST, ledger=there),
    "runs": lambda there, value: safeselect.best_of(
        lambda _: (value, "x"), base=s.PureDP("1/10"), gamma="1/2", ledger=there
    ),
    "another library": other_library,
}
OWN = [each for each in vars(s.errors).values() if isinstance(each, type) and "Error" in str(each)]
KINDS: list[type[BaseException]] = [
    *(*OWN, s.LedgerBusy, s.errors.LedgerDamaged, s.errors.LedgerRolledBack, OSError, MemoryError),
    *(TimeoutError, StopIteration, CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit),
]


class Failing:
    """The places of a ledger that can fail, each before or after the record is there, or once."""

    key_id, public_key = "k", Ed25519Signer(b"k" * 32, key_id="k").public_key

    def __init__(self, kind: type[BaseException], place: str) -> None:
        self.kind, self.place, self.is_on, self.head = kind, place, False, None
        self.ledger: Any = None

    def at(self, place: str) -> None:
        if self.is_on and place == self.place.removesuffix(" once"):
            self.is_on = not self.place.endswith("once")
            try:
                raise KeyError("of the place itself")
            except KeyError:
                raise self.kind("x")  # noqa: B904

    def sign(self, message: bytes) -> bytes:
        self.at("signer")
        return Ed25519Signer(b"k" * 32, key_id="k").sign(message)

    def last(self) -> str | None:
        self.at("asked")
        return self.head

    def keep(self, head: Any, lines: list[bytes], after: str | None) -> None:
        self.at("told")
        self.head = head

    def heard(self, event: Any) -> None:
        if event.kind == "charged" and not self.is_on:
            self.is_on = True
            if self.place == "closed":
                self.ledger.scope("b", **TERMS, purpose="x").pay(pure()).aborted("input")
        if event.kind in ("released", "aborted"):
            self.at("hook")


def fate(call: str, value: int | None, failing: Failing, box: Box | None) -> list[object]:
    """What is told of a call that cannot write its outcome, and what is left of it."""
    real, budgets = MemoryStore.write, dict.fromkeys("ab", safeselect.Budget(**TERMS, epsilon=9))
    keep: dict[str, Any] = {"signer": failing, "witness": failing, "on_event": failing.heard}
    ledger = failing.ledger = s.Ledger.create(":memory:", budgets, max_refusals=1, **keep)
    there, found = scope(ledger) & scope(ledger, "b"), list[object]()
    there = there.asked("r", outbox=box) if box else there

    def write(store: Any, work: Any) -> Any:
        failing.at("before")
        done = real(store, work)
        failing.at("after")
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryStore, "write", write)
        try:
            raise KeyError("of the caller")
        except KeyError:
            try:
                CALLS[call](there, value)
            except BaseException as raised:
                error: BaseException | None = raised
    while error is not None:
        found += [type(error), str(error), error.__cause__]
        error = error.__context__
    failing.is_on = False
    # Where the record was written, the refusal is counted.
    return [*found, len(outcomes(ledger)) == 3 or outcomes(ledger)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_a_refusal_that_cannot_be_recorded_is_told_as_an_answer_would_be(
    kind: type[BaseException], call: str
) -> None:
    """Otherwise the error, or what is in the ledger, would tell of private values."""
    places = ["before", "before once", "after", "signer", "signer once", "asked", "told", "closed"]
    for place in places + ["hook"] * (not issubclass(kind, Exception)):
        for box in (None, Box(), Box(lambda: 1 // 0)):
            first, second = (fate(call, v, Failing(kind, place), box) for v in (2, None))
            assert first == second, (place, box)
            assert "blue" not in str(first)


@pytest.mark.parametrize("kind", [fcntl.LOCK_EX, fcntl.LOCK_SH])
def test_before_the_charge_nothing_is_charged_and_the_lock_is_named(path: Path, kind: int) -> None:
    there, before = impatient(path), path.read_bytes()
    with held(path, kind), pytest.raises(s.LedgerBusy, match="nothing was charged, so try again"):
        select(there)
    assert path.read_bytes() == before


def test_a_retry_that_cannot_look_again_says_that_the_first_charge_stands(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is taken between finding the request and making sure that it is on the disk."""
    ledger, holding = s.Ledger.open(FileStore(path, wait=0)), Holding(path)
    select(scope(ledger).asked("r"))
    real = FileStore.write

    def write(self: FileStore, work: Callable[[Any], Any]) -> Any:
        try:
            return real(self, work)
        finally:
            holding()

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "write", write)
        with pytest.raises(s.ChargeStands, match="record 2 remains") as caught:
            select(scope(ledger).asked("r"))
    assert caught.value.charge == 2
    holding.file.close()
    with pytest.raises(s.RepeatedRequest, match="was already charged in record 2"):
        select(scope(ledger).asked("r"))


def test_a_session_can_be_asked_and_settled_again(path: Path) -> None:
    ledger = s.Ledger.open(FileStore(path, wait=0))
    session = safeselect.SparseVector(threshold=3, k=2, **COST, ledger=scope(ledger))
    with held(path):
        with pytest.raises(s.ChargeStands, match=r"record 2 remains.*try again") as caught:
            session.query(2)
        assert caught.value.charge == 2
    session.query(2)
    with held(path), pytest.raises(s.ChargeStands, match=r"record 2 remains.*try again"):
        session.close()
    session.close()
    assert kinds(ledger)[2:] == ["charged", "settled"]


def test_a_scope_that_closes_after_the_outbox_has_the_answer_keeps_it(tmp_path: Path) -> None:
    budgets = {"a": safeselect.Budget(**TERMS, epsilon=9)}
    ledger = s.Ledger.create(tmp_path / "l", budgets, max_refusals=1)
    box = Box(lambda: scope(ledger).pay(pure()).aborted("input"))
    with pytest.raises(s.BudgetError, match="is closed"):
        select(scope(ledger).asked("r", outbox=box))
    with pytest.raises(s.BudgetError, match="is closed"):
        ledger.finish(*box.kept[0])
    ledger.reopen("a", reason="mended")
    assert ledger.finish(*box.kept[0]).record == 6


def test_an_outcome_has_a_deadline_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_module, "OUTCOME_WAIT", 20)
    pending, holding = impatient(path).pay(pure()), Holding(path)
    holding()
    threading.Timer(0.3, holding.file.close).start()
    pending.released("x", b"s" * 32)
    assert kinds(s.Ledger.open(path))[2:] == ["charged", "released"]
