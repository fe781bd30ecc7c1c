"""An error says whether the charge stands: before it `LedgerBusy`, after it `ChargeStands`."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, ListStore, new, pure, scope
from stops import at_step
from workers import LONG, ended, kinds, start_child

import safeselect
from safeselect import (
    BudgetError,
    ChargeStands,
    Ledger,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    RepeatedRequest,
    ScoreError,
)
from safeselect.ledger import pending as pending_module
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
    monkeypatch.setattr(pending_module, "OUTCOME_WAIT", 0)


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


class Box:
    """An outbox that keeps answers; when it has one, something may happen."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.kept: list[tuple[int, bytes, str]] = []
        self.then = then

    def __call__(self, request: str, charge: int, salt: bytes, output: str) -> None:
        self.kept.append((charge, salt, output))
        self.then()


MECHANISMS: dict[str, Callable[[Any], Any]] = {
    "one": lambda there: safeselect.permute_and_flip([1, 2], **COST, ledger=there),
    "several": lambda there: safeselect.top_k([1, 2, 3], k=2, **COST, ledger=there),
    "rows": lambda there: safeselect.select_many([[1, 2], [3, 4]], **COST, ledger=there),
    "numbers": lambda there: safeselect.measure(
        {"a": 1}, epsilon="1/10", sensitivity_l1=1, ledger=there
    ),
    "a run": lambda there: safeselect.best_of(
        lambda _: (1, "x"), base=safeselect.PureDP("1/100"), gamma="1/2", ledger=there
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_lock_held_from_the_outbox_on_leaves_an_answer_that_can_be_finished(
    name: str, path: Path
) -> None:
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    box = Box(holding)
    with pytest.raises(ChargeStands, match=r"record 2 stands.*withheld.*Ledger.finish") as caught:
        MECHANISMS[name](scope(ledger).asked("r", outbox=box))
    assert "nothing was charged" not in str(caught.value)
    assert caught.value.charge == 2
    assert not isinstance(caught.value, LedgerBusy)
    holding.file.close()
    assert kinds(ledger)[2:] == ["charged"]
    with pytest.raises(RepeatedRequest, match="has no outcome yet"):
        MECHANISMS[name](scope(ledger).asked("r", outbox=box))
    # By any process, as often as asked.
    receipt = Ledger.open(path).finish(*box.kept[0])
    assert ledger.finish(*box.kept[0]) == receipt
    assert kinds(ledger)[2:] == ["charged", "released"]
    ledger.check()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_lock_held_between_charge_and_answer_says_that_the_charge_stands(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an outbox: the answer is lost."""
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    real = pending_module.commitment

    def committed(salt: bytes, output: str) -> str:
        holding()
        return real(salt, output)

    monkeypatch.setattr(pending_module, "commitment", committed)
    with pytest.raises(ChargeStands, match="without an outbox the answer is lost") as caught:
        MECHANISMS[name](scope(ledger))
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
            with pytest.raises(ChargeStands, match="stands") as caught:
                safeselect.permute_and_flip(scores, **COST, ledger=there)
        holding.file.close()
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        said.add(str(error).replace(f"record {error.charge} ", "record N "))
    assert len(said) == 1


def test_before_the_charge_nothing_is_charged_and_the_lock_is_named(path: Path) -> None:
    there = impatient(path)
    before = path.read_bytes()
    with held(path):
        for call in MECHANISMS.values():
            with pytest.raises(LedgerBusy, match="nothing was charged, try again"):
                call(there)
    assert path.read_bytes() == before


class Register:
    """A witness at which something may happen when it is told."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.head: str | None = None
        self.then = then

    def last(self) -> str | None:
        return self.head

    def keep(self, head: str, lines: list[bytes], after: str | None) -> None:
        self.then()
        self.head = head


def fail() -> None:
    raise ConnectionError("secret")


def test_a_charge_that_cannot_be_told_elsewhere_stands(tmp_path: Path) -> None:
    register = Register()
    budgets = {"a": safeselect.Budget(**TERMS, epsilon=1)}
    ledger = Ledger.create(tmp_path / "l", budgets, witness=register)
    register.then = fail
    with pytest.raises(
        ChargeStands, match=r"record 2 stands.*failed with ConnectionError"
    ) as first:
        MECHANISMS["one"](scope(ledger))
    assert first.value.charge == 2
    register.then = lambda: None
    pending = scope(ledger).pay(pure())
    register.then = fail
    with pytest.raises(ChargeStands, match="record 3 stands"):
        pending.released("x", b"s" * 32)
    register.then = lambda: None
    assert kinds(ledger)[2:] == ["charged", "charged", "released"]
    assert "secret" not in str(first.value)


def test_a_lock_that_is_held_when_a_charge_is_told_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines to be sent are read under the lock, after the charge is in the ledger."""
    path, register = tmp_path / "l", Register()
    budgets = {"a": safeselect.Budget(**TERMS, epsilon=1)}
    made = Ledger.create(path, budgets, witness=register)
    there, holding = impatient(path, witness=register), Holding(path)
    real = FileStore.write

    def write(self: FileStore, work: Callable[[Any], Any]) -> Any:
        done = real(self, work)
        holding()
        return done

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "write", write)
        with pytest.raises(ChargeStands, match="record 2 stands") as caught:
            there.pay(pure())
    assert "nothing was charged" not in str(caught.value)
    holding.file.close()
    assert kinds(made)[2:] == ["charged"]


def test_a_retry_that_cannot_look_again_says_that_the_first_charge_stands(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is taken between finding the request and making sure that it is on the disk."""
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    MECHANISMS["one"](scope(ledger).asked("r"))
    real = FileStore.write

    def write(self: FileStore, work: Callable[[Any], Any]) -> Any:
        try:
            return real(self, work)
        finally:
            holding()

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "write", write)
        with pytest.raises(ChargeStands, match="record 2 stands") as caught:
            MECHANISMS["one"](scope(ledger).asked("r"))
    assert caught.value.charge == 2
    holding.file.close()
    with pytest.raises(RepeatedRequest, match="was charged before, in record 2"):
        MECHANISMS["one"](scope(ledger).asked("r"))


def test_finish_says_that_the_charge_stands_while_others_hold_the_lock(path: Path) -> None:
    ledger, holding = Ledger.open(FileStore(path, wait=0)), Holding(path)
    box = Box(holding)
    with pytest.raises(ChargeStands, match="record 2 stands"):
        MECHANISMS["one"](scope(ledger).asked("r", outbox=box))
    with pytest.raises(ChargeStands, match="record 2 stands") as caught:
        ledger.finish(*box.kept[0])
    assert caught.value.charge == 2
    holding.file.close()
    assert ledger.finish(*box.kept[0]).record == 3


def test_a_session_can_be_asked_and_settled_again(path: Path) -> None:
    ledger = Ledger.open(FileStore(path, wait=0))
    session = safeselect.SparseVector(threshold=3, k=2, **COST, ledger=scope(ledger))
    with held(path):
        with pytest.raises(ChargeStands, match=r"record 2 stands.*try again") as caught:
            session.query(2)
        assert caught.value.charge == 2
    session.query(2)
    with held(path), pytest.raises(ChargeStands, match=r"record 2 stands.*try again"):
        session.close()
    session.close()
    assert kinds(ledger)[2:] == ["charged", "settled"]


def test_another_library_is_told_the_same(path: Path) -> None:
    ledger = Ledger.open(FileStore(path, wait=0))
    box, holding = Box(), Holding(path)
    box.then = holding
    with (
        pytest.raises(ChargeStands, match="record 2 stands"),
        scope(ledger)
        .asked("r", outbox=box)
        .charge(safeselect.PureDP(1), mechanism="opendp/laplace") as pending,
    ):
        pending.released("7")
    holding.file.close()
    assert kinds(ledger)[2:] == ["charged"]
    ledger.finish(*box.kept[0])
    assert kinds(ledger)[2:] == ["charged", "released"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_nothing_ends_a_call_whose_answer_the_outbox_has_as_aborted(
    error: type[BaseException], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, box = Ledger.open(path), Box()

    def stop(*_: object) -> None:
        raise error

    box.then = lambda: monkeypatch.setattr(os, "fdatasync", stop)
    with pytest.raises(error):
        MECHANISMS["one"](scope(ledger).asked("r", outbox=box))
    monkeypatch.undo()
    again = Ledger.open(path)
    assert "aborted" not in kinds(again)
    again.finish(*box.kept[0])
    assert kinds(again)[2:] == ["charged", "released"]


def test_an_outbox_that_fails_is_aborted_and_the_charge_named(path: Path) -> None:
    ledger = Ledger.open(path)
    with pytest.raises(ChargeStands, match="the outbox failed with ConnectionError") as caught:
        MECHANISMS["one"](scope(ledger).asked("r", outbox=Box(fail)))
    assert caught.value.charge == 2
    assert kinds(ledger)[2:] == ["charged", "aborted"]


def test_a_scope_that_closes_after_the_outbox_has_the_answer_keeps_it(tmp_path: Path) -> None:
    budgets = {"a": safeselect.Budget(**TERMS, epsilon=9)}
    ledger = Ledger.create(tmp_path / "l", budgets, max_refusals=1)
    box = Box(lambda: scope(ledger).pay(pure()).aborted("input"))
    with pytest.raises(BudgetError, match="is closed"):
        MECHANISMS["one"](scope(ledger).asked("r", outbox=box))
    with pytest.raises(BudgetError, match="is closed"):
        ledger.finish(*box.kept[0])
    ledger.reopen("a", reason="mended")
    assert ledger.finish(*box.kept[0]).record == 6


def test_an_outcome_has_a_deadline_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_module, "OUTCOME_WAIT", 20)
    pending = impatient(path).pay(pure())
    holding = Holding(path)
    holding()
    threading.Timer(0.3, holding.file.close).start()
    pending.released("x", b"s" * 32)
    assert kinds(Ledger.open(path))[2:] == ["charged", "released"]


def test_a_store_of_ones_own_that_is_busy_after_the_charge() -> None:
    class Busy(ListStore):
        is_busy = False

        def write(self, work: Callable[[Any], Any]) -> Any:
            if self.is_busy:
                raise LedgerBusy("nothing was charged")
            return super().write(work)

    store = Busy()
    pending = scope(new(store)).pay(pure())
    store.is_busy = True
    with pytest.raises(ChargeStands, match="the ledger's lock was held"):
        pending.released("x", b"s" * 32)
    store.is_busy = False
    pending.aborted("error")


# --------------------------------------------------------------------------------------- forks


USES: dict[str, Callable[[Ledger], Any]] = {
    "a charge": lambda ledger: scope(ledger).pay(pure("1/1000")),
    "a call": lambda ledger: MECHANISMS["one"](scope(ledger)),
    "a balance": lambda ledger: ledger.balance("a"),
    "a check": lambda ledger: ledger.check(),
    "an opening": lambda ledger: Ledger.open(ledger._book.name),
}


@pytest.mark.slow("forks at every few lines of a call")
@pytest.mark.parametrize("use", USES)
def test_a_child_forked_in_a_call_is_told_no_alarm(use: str, path: Path) -> None:
    """Before each line; the child goes on with the call of its parent."""
    ledger, step, seen = Ledger.open(path), 1, []
    while True:
        children: list[int] = []

        def act(children: list[int] = children) -> None:
            sys.settrace(None)
            children.append(os.fork())

        code = 0
        try:
            at_step(lambda: USES[use](ledger), step, act)
        except (LedgerDamaged, LedgerRolledBack):
            code = 2
        except LedgerBusy:
            code = 3
        except LedgerError:
            code = 1
        except safeselect.SourceError:
            code = 5  # forked after the nonce was drawn: one of the two has a copy of it
        except BaseException:
            code = 4
        finally:
            if children == [0]:
                os._exit(code)
        assert code in (0, 5), "the parent is unharmed"
        if not children:
            break
        seen.append(ended(children[0]))
        step += 1 if LONG else 1 + step // 20
    assert set(seen) <= {0, 1, 5}, seen
    assert 1 in seen
    assert len(seen) > 20
    ledger.check()


# ----------------------------------------------------------------------------------- contention


def contend(path: Path, report: Path, threads: int, calls: int, wait: int) -> None:
    """Threads of one process on one ledger; what each call was told goes into the report."""
    ledger = None
    while ledger is None:
        with suppress(LedgerBusy):
            ledger = Ledger.open(FileStore(path, wait=wait))

    def work(number: int) -> None:
        for call in range(calls):
            purpose = f"{os.getpid()} {number} {call}"
            said = "released"
            try:
                MECHANISMS["one"](ledger.scope("a", **TERMS, purpose=purpose))
            except LedgerBusy:
                said = "busy"
            except ChargeStands as error:
                said = f"stands {error.charge}"
            except (LedgerError, ScoreError) as error:
                said = f"other {type(error).__name__} {error}"
            with report.open("a") as out:
                out.write(f"{purpose}|{said}\n")

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@pytest.mark.slow("threads and processes wait for each other")
def test_what_is_said_of_a_charge_is_true_under_contention(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, threads, slow, wait = (10, 12, 0.4, 2) if LONG else (4, 3, 0.15, 0)
    monkeypatch.setattr(pending_module, "OUTCOME_WAIT", wait)
    real, report = os.fdatasync, tmp_path / "report"

    def slowly(descriptor: int) -> None:
        time.sleep(slow)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", slowly)
    children = [
        start_child(lambda: contend(path, report, threads, 2, wait)) for _ in range(processes)
    ]
    assert [ended(child) for child in children] == [0] * processes
    monkeypatch.undo()
    records = [record.content for record in Ledger.open(path).records()]
    charges = {each["purpose"]: each for each in records if each["kind"] == "charged"}
    outcomes = {each["charge"]: each["kind"] for each in records if "charge" in each}
    told = dict(line.split("|") for line in report.read_text().splitlines())
    assert len(told) == processes * threads * 2
    assert told.keys() >= charges.keys()
    for purpose, said in told.items():
        assert not said.startswith("other"), said
        assert (said == "busy") == (purpose not in charges), said
        if said == "released":
            assert outcomes[charges[purpose]["seq"]] == "released"
        if said.startswith("stands"):
            assert charges[purpose]["seq"] == said.split(" ")[1]
    kinds_told = {said.split(" ")[0] for said in told.values()}
    assert {"busy", "released"} <= kinds_told
