"""Many processes at once, and processes that die at every step: with real processes."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import new, pure, scope
from stops import at_step
from workers import LONG, ended, kinds, start_child

from safeselect import BudgetError, Ledger, LedgerBusy, LedgerError
from safeselect.ledger import Pending, Scope

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills and forks as Unix does"),
    pytest.mark.claim("C8"),
    pytest.mark.slow("real processes, killed anywhere"),
]


def charged(there: Scope) -> Pending | None:
    """A charge, or None when the budget is exhausted; any other error is one."""
    try:
        return there.pay(pure("1/40"))
    except BudgetError as error:
        if "and 0 of 1 is left" in str(error):
            return None
        raise


def test_eight_processes_never_overspend(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
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


def test_thousands_of_charges_beside_a_reader_raise_nothing_but_contention(tmp_path: Path) -> None:
    """Eight processes write; one reads all the while, and no alarm of it is false."""
    path, each = tmp_path / "budget.ledger", 1250 if LONG else 60
    ledger = new(path, epsilon=10**6)
    busy = tmp_path / "busy"

    def spend() -> None:
        there, done = scope(Ledger.open(path)), 0
        while done < each:
            try:
                pending = there.pay(pure())
            except LedgerBusy:
                with busy.open("a") as out:
                    out.write("x")
                continue
            done += 1
            while True:
                try:
                    pending.released("blue", b"s" * 32)
                    break
                except LedgerBusy:
                    pass

    def read() -> None:
        reader, seen = Ledger.open(path), Fraction(0)
        while not (tmp_path / "over").exists():
            now = reader.balance("a").spent["epsilon"]
            assert now >= seen
            reader.check(head=reader.head)
            seen = now

    reading = start_child(read)
    children = [start_child(spend) for _ in range(8)]
    assert [ended(child) for child in children] == [0] * 8
    (tmp_path / "over").touch()
    assert ended(reading) == 0
    assert ledger.check().scopes["a"].spent == {"epsilon": Fraction(8 * each, 10)}
    assert ledger.check().pending == set()


def test_readers_in_threads_raise_no_false_alarm() -> None:
    """What was seen is noted before the snapshot that must contain it."""
    ledger = new(":memory:", epsilon=10**6)
    there, over, wrong = scope(ledger), threading.Event(), []

    def read() -> None:
        try:
            while not over.is_set():
                ledger.balance("a")
                ledger.check(head=ledger.head)
        except LedgerError as error:
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(100):
        there.pay(pure()).released("blue", b"s" * 32)
    over.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_threads_share_a_ledger(tmp_path: Path) -> None:
    for place in (":memory:", tmp_path / "budget.ledger"):
        ledger = new(place, epsilon=1)
        there, granted = scope(ledger), []

        def spend(charge: Callable[..., object] = there.pay, to: Any = granted) -> None:
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


def test_the_file_may_be_opened_closed_and_hashed_by_anybody(tmp_path: Path) -> None:
    """A backup thread in each of three processes: POSIX locks would vanish by it."""
    path = tmp_path / "budget.ledger"
    ledger = new(path, epsilon=1)

    def spend() -> None:
        over = threading.Event()

        def back_up() -> None:
            while not over.wait(0.0005):
                hashlib.sha256(path.read_bytes()).hexdigest()

        thread = threading.Thread(target=back_up)
        thread.start()
        there = scope(Ledger.open(path))
        while granted := charged(there):
            granted.released("blue", b"s" * 32)
            Ledger.open(path).check()
        over.set()
        thread.join()

    children = [start_child(spend) for _ in range(3)]
    assert [ended(child) for child in children] == [0] * 3
    assert kinds(ledger).count("charged") == kinds(ledger).count("released") == 40
    assert ledger.check().scopes["a"].left == {"epsilon": 0}


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Run in a child that kills itself at this line of the ledger's; whether it got there."""
    child = start_child(lambda: at_step(work, step, lambda: os.kill(os.getpid(), signal.SIGKILL)))
    code = ended(child)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_a_process_killed_at_any_line_loses_nothing_and_releases_nothing_uncharged(
    tmp_path: Path,
) -> None:
    path, reports = tmp_path / "budget.ledger", tmp_path / "reports"
    ledger = new(path, epsilon=100)
    there = scope(ledger)  # what the parent knows the children know: only what is new is read
    reports.touch()

    def release() -> None:
        with reports.open("a", buffering=1) as out:
            pending = there.pay(pure("1/1000"))
            out.write("charged\n")
            pending.released("blue", b"s" * 32)
            out.write("released\n")

    step, seen, runs = 1, 0, 0
    while dies_at(step, release):
        step, runs = step + (1 if LONG else 13), runs + 1
        told, found, said = ledger.check(), kinds(ledger), reports.read_text().split()
        charges, released = found.count("charged"), found.count("released")
        # Whatever was reported is written; a kill can only leave more written than was reported.
        assert said.count("charged") <= charges <= said.count("charged") + runs
        assert said.count("released") <= released <= charges
        assert told.scopes["a"].spent == {"epsilon": Fraction(charges, 1000)}
        assert len(told.pending) == charges - released
        assert charges >= seen, "a charge was lost"
        seen = charges
    assert runs > 30
    assert 0 < kinds(ledger).count("released") < kinds(ledger).count("charged") < runs
    assert sorted(each.name for each in tmp_path.iterdir()) == ["budget.ledger", "reports"]


def test_a_process_killed_while_it_makes_a_ledger_leaves_none_or_a_whole_one(
    tmp_path: Path,
) -> None:
    path, step, whole, runs = tmp_path / "budget.ledger", 1, 0, 0
    while dies_at(step, lambda: new(path)):
        step, runs = step + (1 if LONG else 11), runs + 1
        if path.exists():
            with pytest.raises(LedgerError, match="already"):
                new(path)
            assert Ledger.open(path).check().count == 2
            whole += 1
        for left in tmp_path.iterdir():
            left.unlink()
    assert runs > 10
    assert 0 < whole < runs - 5


@pytest.mark.parametrize("names", [1, 2], ids=["one name", "two names"])
def test_processes_killed_anywhere_leave_the_ledger_whole(tmp_path: Path, names: int) -> None:
    """Whenever it happens to be, also inside a write; by another name of the file too."""
    path, report = tmp_path / "budget.ledger", tmp_path / "report"
    ledger = new(path, epsilon=10**6)
    (tmp_path / "elsewhere").mkdir()
    os.link(path, tmp_path / "elsewhere" / "link")
    places = [path, tmp_path / "elsewhere" / "link"][:names]
    report.touch()

    def storm(number: int) -> None:
        there = scope(Ledger.open(places[number % names]))
        with report.open("a", buffering=1) as out:
            while True:
                pending = there.pay(pure("1/10"))
                out.write("charged\n")
                pending.released("blue", b"s" * 32)
                out.write("released\n")

    children, found, rounds = 0, kinds(ledger), 150 if LONG else 10
    while found.count("released") < 8 or children < 3 * rounds:
        running = [start_child(lambda number=number: storm(number)) for number in range(3)]
        time.sleep(0.02 + 0.0037 * (children % 40))
        for child in running:
            os.kill(child, signal.SIGKILL)
            assert ended(child) == -signal.SIGKILL
        children += 3
        said, found = report.read_text().split(), kinds(ledger)
        for kind in ("charged", "released"):
            assert 0 <= found.count(kind) - said.count(kind) <= children, kind
    assert ledger.check().scopes["a"].spent == {"epsilon": Fraction(found.count("charged"), 10)}


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files as Linux does")
def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    ledger = new(tmp_path / "budget.ledger", epsilon=1)
    for _ in range(5):
        scope(ledger).pay(pure("1/100"))
        with pytest.raises(BudgetError, match="does not allow"):
            scope(ledger).pay(pure(2))
    ledger.check()
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    open_files = [os.readlink(link) for link in links if link.is_symlink()]
    assert open_files
    assert [name for name in open_files if name.startswith(str(tmp_path))] == []
