"""Many processes at once, and processes that die at every step: with real processes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from effort import LONG
from ledgers import new, pure, scope
from stops import at_step
from workers import ended, kinds, start_child

from safeselect import BudgetError, Ledger
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
        if error.left == {"epsilon": 0}:
            return None
        raise


def test_eight_processes_never_overspend(tmp_path: Path) -> None:
    """One reads all the while, and no alarm of it is false."""
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

    def read() -> None:
        os.close(go)
        reader, seen = Ledger.open(path), Fraction(0)
        while seen < 1:
            now = reader.balance("a").spent["epsilon"]
            assert now >= seen
            reader.check(head=reader.head)
            seen = now

    children = [start_child(lambda number=number: spend(number)) for number in range(8)]
    children.append(start_child(read))
    os.close(start)
    os.close(go)
    assert [ended(child) for child in children] == [0] * 9
    granted = [report.read_text().count("released") for report in tmp_path.glob("report *")]
    assert sum(granted) == 40
    assert sum(each > 0 for each in granted) > 1, "they did not run at once"
    checker = ledger.check()
    assert checker.scopes["a"].left == {"epsilon": 0}
    assert kinds(ledger).count("charged") == kinds(ledger).count("released") == 40
    assert checker.pending == set()


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
