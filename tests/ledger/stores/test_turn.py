"""Forks at any moment: a child never writes for its parent, nor takes its lock."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest
from effort import LONG
from ledgers import new, pure, scope
from stops import at_step
from workers import ended, kinds, start_child

from safeselect import Ledger, LedgerBusy, LedgerDamaged, LedgerError, LedgerRolledBack
from safeselect.ledger import Journal, Row
from safeselect.ledger.stores.file import FileStore

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks as Unix does"),
    pytest.mark.claim("C8"),
]

CHARGED, REFUSED, OTHER = 10, 11, 12


def fork_at(step: int, path: Path, *, charge_in_child: bool) -> tuple[bool, int | None]:
    """Fork before this line of a charge: whether it came so far, and what the child came to.

    The child goes on with the parent's call, as after a fork in a signal handler; it may first
    charge for itself.
    """
    there, children = scope(Ledger.open(path)), []

    def act() -> None:
        sys.settrace(None)
        child = os.fork()
        if child:
            children.append(child)
            return
        children.append(0)
        if charge_in_child:
            with suppress(LedgerBusy):  # where the parent holds the lock
                scope(Ledger.open(FileStore(path, wait=0))).pay(pure("1/1000"))

    code = OTHER
    try:
        pending = at_step(lambda: there.pay(pure("1/1000")), step, act)
        if children == [0]:
            with pytest.raises(LedgerError, match="during a call of its parent process"):
                pending.released("red", b"s" * 32)
            code = CHARGED
    except (LedgerDamaged, LedgerRolledBack):
        code = OTHER  # a false alarm
        if children != [0]:
            raise
    except LedgerError:
        code = REFUSED
        if children != [0]:
            raise
    finally:
        if children == [0]:
            os._exit(code)
    pending.released("blue", b"s" * 32)
    return bool(children), ended(children[0]) if children else None


@pytest.mark.parametrize("charge_in_child", [False, True], ids=["goes on", "charges first"])
def test_a_fork_at_every_line_of_a_charge(tmp_path: Path, charge_in_child: bool) -> None:
    """In a process without the threads of other libraries, which a fork does not copy."""
    given = (tmp_path / "budget.ledger", charge_in_child)
    process = get_context("spawn").Process(target=fork_at_every_line, args=given)
    process.start()
    process.join()
    assert process.exitcode == 0


def fork_at_every_line(path: Path, charge_in_child: bool) -> None:
    ledger = new(path, epsilon=100)
    # Line 1 notes which process it is: a child forked before it has a call of its own.
    step, runs, seen = 2, 0, []
    while True:
        came, code = fork_at(step, path, charge_in_child=charge_in_child)
        if not came:
            break
        step, runs = step + (1 if LONG else 11), runs + 1
        seen.append(code)
        found = kinds(ledger)
        # The parent is unharmed: its charge is there, once, and so is its answer.
        assert found.count("released") == runs
        assert ledger.check().scopes["a"].spent["epsilon"] * 1000 == found.count("charged")
        if not charge_in_child:
            assert found.count("charged") == runs
    # Until the charge is written the child is refused; then it has it, and cannot answer.
    assert {CHARGED, REFUSED} == set(seen)
    assert runs > 12


def test_a_child_that_lives_on_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    """Forked in a transaction that an exception ends: nothing unlocks, the descriptor is closed."""
    path = tmp_path / "budget.ledger"
    there = scope(new(path, epsilon=1))
    ready, go = os.pipe()
    here, there_now = os.pipe()
    children = []

    def fork_and_fail(_: int) -> None:
        child = os.fork()
        if child == 0:
            os.close(go)
            os.write(there_now, b"x")
            os.read(ready, 1)  # until the parent has seen enough
            os._exit(0)
        os.read(here, 1)  # the child runs, and what is done after a fork is done
        children.append(child)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdatasync", fork_and_fail)
        with pytest.raises(KeyboardInterrupt):
            there.pay(pure())
    try:
        scope(Ledger.open(FileStore(path, wait=0))).pay(pure())
    finally:
        for end in (go, ready, here, there_now):
            os.close(end)
    assert ended(children[0]) == 0


def test_the_process_is_compared_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child forked before the descriptor was noted shares its parent's lock."""
    monkeypatch.setattr("safeselect.ledger.stores.file.guard", lambda _: None)
    path = tmp_path / "l"
    ledger = new(path)
    store, before = FileStore(path), path.read_bytes()
    codes: list[int] = []

    def work(journal: Journal) -> None:
        journal.append(Row(2, "{}", "0" * 64, ""))
        if child := os.fork():
            codes.append(ended(child))
            raise KeyboardInterrupt

    parent = os.getpid()
    with pytest.raises((KeyboardInterrupt, LedgerError)) as met:
        store.write(work)
    if os.getpid() != parent:
        os._exit("was forked" not in str(met.value) or path.read_bytes() != before)
    assert (codes, path.read_bytes()) == ([0], before)
    scope(ledger).pay(pure())
    assert ended(start_child(lambda: scope(ledger).pay(pure()))) == 0
