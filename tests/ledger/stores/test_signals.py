"""Exceptions from signal handlers, anywhere: the ledger is usable at once, by everybody."""

from __future__ import annotations

import fcntl
import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from effort import LONG
from interrupts import stopped_at
from ledgers import new, pure, scope

from safeselect import Ledger, LedgerBusy
from safeselect.ledger.stores.file import FileStore

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers as Unix has them"),
    pytest.mark.claim("C8"),
]


def lock_is_free(path: Path) -> bool:
    with path.open("rb") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()], ids=repr)
def test_an_exception_at_every_place_of_a_charge(tmp_path: Path, error: BaseException) -> None:
    """At each return from C, where Python looks for signals, and where memory may run out."""
    path = tmp_path / "budget.ledger"
    ledger, at, kept = new(path, epsilon=10**6), 0, []
    there, charges = scope(ledger), 0
    impatient = scope(Ledger.open(FileStore(path, wait=0)))
    while True:
        stopped = stopped_at(lambda: there.pay(pure()), at, error)
        kept.append(stopped)
        assert lock_is_free(path), stopped.place
        impatient.pay(pure())
        there.pay(pure())
        now = int(ledger.balance("a").spent["epsilon"] * 10)
        assert now - charges in (2, 3), stopped.place
        charges = now
        if not stopped.place:
            break
        assert stopped.error is error
        at += 1 if LONG or isinstance(error, KeyboardInterrupt) else 3
    assert at > 60
    assert Ledger.open(path).check().scopes["a"].spent == {"epsilon": Fraction(charges, 10)}


def test_a_handler_that_charges_in_the_middle_of_a_charge_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    ledger = new(path, epsilon=10**6)
    there, said = scope(ledger), []

    class Watching:
        """A place in the transaction, where the state is in use."""

        def __init__(self, synced: Any) -> None:
            self.synced = synced

        def __call__(self, descriptor: int) -> None:
            self.synced(descriptor)
            os.kill(os.getpid(), signal.SIGUSR1)

    def handle(*_: object) -> None:
        try:
            there.pay(pure())
        except LedgerBusy as error:
            said.append(str(error))

    before = signal.signal(signal.SIGUSR1, handle)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdatasync", Watching(os.fdatasync))
        there.pay(pure())
    signal.signal(signal.SIGUSR1, before)
    assert len(said) == 1
    assert "a signal handler cannot use the ledger" in said[0]
    assert ledger.check().scopes["a"].spent == {"epsilon": Fraction(1, 10)}
