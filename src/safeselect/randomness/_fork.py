"""Which process is this?  Random state that two processes share is no longer random.

A generation is the pair (forks counted, process id).  Neither alone is enough: a child in a new
process-id namespace can have its parent's id, and a fork made outside Python runs no Python hook.
A fork that is both goes unseen here; against it `OpenSSLSource` mixes kernel bytes into every fill.
There are no locks in this package, because a lock held during a fork stays locked in the child.
"""

from __future__ import annotations

import os

__all__ = ["Generation", "generation"]

Generation = tuple[int, int]

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


# A module is imported once, so the hook is registered once; were it ever run twice, the count
# would rise by two, which is as good, for generations are only compared for equality.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def generation() -> Generation:
    """Return a value that differs between a process and the children forked from it."""
    return _forks, os.getpid()
