"""Processes at one ledger: how they wait for each other, and a child never acts for its parent.

`guard` names a file or a connection that is open in a transaction.  In a child its descriptor
becomes /dev/null, opened for reading: the child's writes fail, and the child does not share the
parent's lock.  For a fork before `guard` was called, the process is compared before any write.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

from safeselect.errors import LedgerError
from safeselect.randomness.guard import Generation, generation

_PAUSES = (0.0001, 0.0001, 0.0002, 0.0003, 0.0004, 0.0005, 0.0007, 0.001)  # seconds


class HasDescriptor(Protocol):
    """A file or a connection."""

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


_guarded: WeakSet[HasDescriptor] = WeakSet()


def guard(opened: HasDescriptor) -> None:
    """Take the descriptor away from every child that is forked while it is open."""
    _guarded.add(opened)


def check_process(born: Generation) -> None:
    """Check that this is the process that began what it goes on with.

    Raises:
        LedgerError: this is a child of that process.
    """
    if generation() != born:
        raise LedgerError(
            "this process was forked during a call of its parent process; repeat the call"
        )


def pause() -> None:
    """Wait for a random time of 0.1 to 1 ms, so that waiting processes do not collide for ever."""
    time.sleep(_PAUSES[os.urandom(1)[0] % len(_PAUSES)])


def _in_child() -> None:
    for opened in list(_guarded):
        if not opened.closed:
            with suppress(OSError):
                null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                os.dup2(null, opened.fileno(), inheritable=False)
                os.close(null)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
