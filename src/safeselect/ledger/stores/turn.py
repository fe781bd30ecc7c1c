"""Threads and forked processes at one ledger: one at a time, and a child never acts for its parent.

- A turn is the right of one thread to use the process's state of a ledger.  Only `with` on the lock
  itself ends it, so no exception of a signal handler can come in between.
- `guard` names a file or a connection that is open in a transaction.  In a child its descriptor
  becomes /dev/null, opened for reading: the child's writes fail, and the child does not share the
  parent's lock.  For a fork before `guard` was called, the process is compared before any write.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar, final
from weakref import WeakSet

from safeselect.errors import LedgerBusy

T = TypeVar("T")

_PAUSES = (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.005)  # seconds


class HasDescriptor(Protocol):
    """A file or a connection."""

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


_guarded: WeakSet[HasDescriptor] = WeakSet()
_turns: WeakSet[Turn] = WeakSet()


def guard(opened: HasDescriptor) -> None:
    """Take the descriptor away from every child that is forked while it is open."""
    _guarded.add(opened)


def pause() -> None:
    """Wait for a random time of 0.2 to 5 ms, so that waiting processes do not collide for ever."""
    time.sleep(_PAUSES[os.urandom(1)[0] % len(_PAUSES)])


@final
class Turn:
    """One thread of this process at a time.

    Args:
        wait: seconds to wait for the other threads.
    """

    __slots__ = ("__weakref__", "_lock", "_owner", "_wait")

    def __init__(self, wait: int) -> None:
        self._lock, self._owner, self._wait = threading.Lock(), 0, wait
        _turns.add(self)

    def renew(self) -> None:
        """Make a new lock in a child, where the thread that held it does not exist."""
        self._lock, self._owner = threading.Lock(), 0

    def take(self, work: Callable[[], T], wait: int = 0) -> T:
        """Run the work in this thread's turn.

        Args:
            wait: seconds to wait, if that is longer than usual.

        Raises:
            LedgerBusy: other threads took too long, or this thread is in a turn already, for
                example in a signal handler that interrupted it.
        """
        me, mine = threading.get_ident(), 0
        wait = max(wait, self._wait)
        deadline = time.monotonic_ns() + wait * 10**9
        while (lock := self._lock).locked():
            # Checked twice: a thread may be switched between taking the lock and recording it.
            mine = mine + 1 if self._owner == me else 0
            if mine > 1:
                raise LedgerBusy(
                    "this thread is in the middle of using the ledger: a signal handler cannot use "
                    "it; nothing was charged, try again afterwards"
                )
            if time.monotonic_ns() > deadline:
                raise LedgerBusy(
                    f"other threads used the ledger for {wait} seconds: nothing was charged, "
                    "try again"
                )
            pause()
        with lock:
            self._owner = me
            done = work()
            self._owner = 0
        return done


def _in_child() -> None:
    for opened in list(_guarded):
        if not opened.closed:
            with suppress(OSError):
                null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                os.dup2(null, opened.fileno(), inheritable=False)
                os.close(null)
    for turn in list(_turns):
        turn.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
