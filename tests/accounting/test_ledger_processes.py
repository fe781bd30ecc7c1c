"""Many processes at once, and processes that die at every step: with real processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import new, pure, scope

from safeselect import BudgetError, Ledger, LedgerError
from safeselect.accounting import Pending, Scope

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills and forks as Unix does")


def kinds(ledger: Ledger) -> list[str]:
    return [record.content["kind"] for record in ledger.records()]


def start_child(work: Callable[[], object]) -> int:
    """Fork a child that does the work and exits with 0, or with 1 after an exception."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    """Wait for it: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def charged(there: Scope) -> Pending | None:
    """A charge, or None when the budget is exhausted; any other error is one."""
    try:
        return there.charge(pure("1/40"))
    except BudgetError as error:
        if "and 0 of 1 is left" in str(error):
            return None
        raise


@pytest.mark.claim("C8")
def test_eight_processes_never_overspend(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = new(path, epsilon=1)
    start, go = os.pipe()

    def spend(number: int) -> None:
        os.close(go)
        os.read(start, 1)  # until everybody is here: the end of the pipe
        there, report = scope(Ledger.open(path)), tmp_path / f"report {number}"
        with report.open("w", buffering=1) as out:
            while granted := charged(there):
                granted.released("blue", b"s" * 32)
                out.write("released\n")

    children = [start_child(lambda number=number: spend(number)) for number in range(8)]
    os.close(start)
    os.close(go)
    assert [ended(child) for child in children] == [0] * 8
    granted = [report.read_text().count("released") for report in tmp_path.glob("report *")]
    assert sum(granted) == 40
    assert sum(each > 0 for each in granted) > 1, "they did not run at once"
    checker = ledger.check()
    assert checker.scopes["a"].left == {"epsilon": 0}
    assert kinds(ledger).count("charged") == kinds(ledger).count("released") == 40
    assert checker.pending == set()


def test_threads_share_a_ledger(tmp_path: Path) -> None:
    for place in (":memory:", tmp_path / "budget.db"):
        ledger = new(place, epsilon=1)
        there, granted = scope(ledger), []

        def spend(charge: Callable[..., object] = there.charge, to: Any = granted) -> None:
            try:
                while True:
                    to.append(charge(pure("1/20")))
            except BudgetError:
                pass

        threads = [threading.Thread(target=spend) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(granted) == 20
        assert ledger.check().scopes["a"].left == {"epsilon": 0}


class Deadly(sqlite3.Connection):
    """A connection whose process dies at a given step: before any statement, or before closing."""

    left = 0

    @classmethod
    def step(cls) -> None:
        cls.left -= 1
        if cls.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.step()
        return super().execute(*arguments)

    def close(self) -> None:
        self.step()
        super().close()


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Run in a child that kills itself at this step; whether it got there."""

    def deadly() -> None:
        connect = sqlite3.connect
        Deadly.left = step
        # In the child alone: nothing is to be undone.
        sqlite3.connect = lambda *a, **k: connect(*a, factory=Deadly, **k)  # type: ignore[assignment]
        work()

    code = ended(start_child(deadly))
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.claim("C8")
def test_a_process_killed_at_any_step_loses_nothing_and_releases_nothing_uncharged(
    tmp_path: Path,
) -> None:
    path, reports = tmp_path / "budget.db", tmp_path / "reports"
    ledger = new(path, epsilon=100)
    reports.touch()

    def release() -> None:
        with reports.open("a", buffering=1) as out:
            pending = scope(Ledger.open(path)).charge(pure("1/10"))
            out.write("charged\n")
            pending.released("blue", b"s" * 32)
            out.write("released\n")

    step, seen = 1, 0
    while dies_at(step, release):
        step += 1
        told, found, said = ledger.check(), kinds(ledger), reports.read_text().split()
        charged, released = found.count("charged"), found.count("released")
        # Whatever was reported is written; a kill can only leave more written than was reported.
        assert said.count("charged") <= charged <= said.count("charged") + step
        assert said.count("released") <= released <= charged
        assert told.scopes["a"].spent == {"epsilon": Fraction(charged, 10)}
        assert len(told.pending) == charged - released
        assert charged >= seen, "a charge was lost"
        seen = charged
    assert step > 30
    found = kinds(ledger)
    assert 0 < found.count("released") < found.count("charged") < step - 5, "not all cases were met"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["budget.db", "reports"]


def test_a_process_killed_while_it_makes_a_ledger_leaves_none_or_a_whole_one(
    tmp_path: Path,
) -> None:
    path, step, whole = tmp_path / "budget.db", 1, 0
    said: set[str] = set()
    while dies_at(step, lambda: new(path)):
        step += 1
        if not path.exists():
            continue
        with pytest.raises(LedgerError, match="already"):
            new(path)
        try:
            opened = Ledger.open(path)
        except LedgerError as error:
            said.add(str(error))
        else:
            assert opened.check().count == 2
            whole += 1
        for left in tmp_path.iterdir():
            left.unlink()
    assert step > 10
    assert 0 < whole < step - 5
    assert len(said) == 1
    assert "is empty; if making it was interrupted, remove it" in said.pop()


@pytest.mark.claim("C8")
def test_processes_killed_anywhere_leave_the_ledger_whole(tmp_path: Path) -> None:
    """Not at statements but whenever it happens to be: also inside a commit."""
    path, report = tmp_path / "budget.db", tmp_path / "report"
    ledger = new(path, epsilon=10**6)
    report.touch()

    def storm() -> None:
        there = scope(Ledger.open(path))
        with report.open("a", buffering=1) as out:
            while True:
                pending = there.charge(pure("1/10"))
                out.write("charged\n")
                pending.released("blue", b"s" * 32)
                out.write("released\n")

    children, found = 0, kinds(ledger)
    while found.count("released") < 8 or children < 30:
        running = [start_child(storm) for _ in range(2)]
        time.sleep(0.02 + 0.0037 * (children % 40))
        for child in running:
            os.kill(child, signal.SIGKILL)
            assert ended(child) == -signal.SIGKILL
        children += 2
        said, found = report.read_text().split(), kinds(ledger)
        for kind in ("charged", "released"):
            assert 0 <= found.count(kind) - said.count(kind) <= children, kind
    assert ledger.check().scopes["a"].spent == {"epsilon": Fraction(found.count("charged"), 10)}


def test_a_child_goes_on_with_a_file_and_not_with_a_copy_in_memory(tmp_path: Path) -> None:
    ledger = new(tmp_path / "budget.db", epsilon=1)
    there = scope(ledger)
    pending = there.charge(pure("1/2"))
    assert ended(start_child(lambda: there.charge(pure("1/2")))) == 0
    with pytest.raises(BudgetError, match="and 0 of 1 is left"):
        there.charge(pure("1/2"))
    pending.released("blue", b"s" * 32)
    assert ledger.check().scopes["a"].left == {"epsilon": 0}

    memory = scope(new(":memory:", epsilon=1))

    def spend_twice() -> None:
        with pytest.raises(LedgerError, match="belongs to the process that made it"):
            memory.charge(pure("1/2"))

    assert ended(start_child(spend_twice)) == 0
    memory.charge(pure(1))


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files as Linux does")
def test_no_connection_stays_open(tmp_path: Path) -> None:
    ledger = new(tmp_path / "budget.db", epsilon=1)
    for _ in range(5):
        scope(ledger).charge(pure("1/100"))
        with pytest.raises(BudgetError):
            scope(ledger).charge(pure(2))
    ledger.check()
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    open_files = [os.readlink(link) for link in links if link.is_symlink()]
    assert open_files
    assert [name for name in open_files if name.startswith(str(tmp_path))] == []
