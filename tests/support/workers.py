"""Forked workers that do something with a ledger, and what became of them."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import Any

from safeselect import Ledger


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


def kinds(ledger: Ledger) -> list[Any]:
    """The kinds of all records."""
    return [record.content["kind"] for record in ledger.records()]


def in_threads(*work: Callable[[], object]) -> None:
    """Do all of it at once, each in a thread of its own, and wait for the last."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
