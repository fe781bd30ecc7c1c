"""The private directory of an engine, and the sweep of those whose owners died.

What an engine spills is clear text of the rows, and a process that is killed cannot remove it.  So
each directory is locked by its owner, by `flock`, for as long as the owner lives, and whoever makes
one first removes those that nobody holds.

- A lock, and not a process id, says who lives: containers that share a folder have the same ids.
- Only directories of this user, of mode 0700 and of our name are touched; a link is never followed,
  neither to a directory nor in it.  Contents are removed through the descriptor that was locked,
  whatever the name has come to mean.
- An owner that was swept between making its directory and locking it makes another one.
- A child that was forked holds the lock too; it removes nothing, and nothing is swept until both
  have ended.
- Where a file system has no such locks nobody gets one, and nothing is swept.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - not on this platform
    fcntl = None  # type: ignore[assignment]

_PREFIX = "safeselect-rows-"
_NAME = re.compile(f"{_PREFIX}[a-z0-9_]{{8}}", re.ASCII)  # as `mkdtemp` makes them
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def private_directory() -> Iterator[Path]:
    """Make a directory of mode 0700 for the length of a `with` block, and sweep what was left."""
    if fcntl is None:  # pragma: no cover - not on this platform
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as plain:  # type: ignore[unreachable]
            yield Path(plain)
        return
    _sweep(Path(tempfile.gettempdir()))
    path, held = _made()
    owner = os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:  # not in a child that was forked inside the block
            _remove(path, held)
        os.close(held)


def _made() -> tuple[Path, int]:
    """Make a directory and lock it; return it with the descriptor that holds the lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with suppress(FileNotFoundError):  # swept before it was opened
            held = os.open(path, _OPEN)
            if _is_locked(held, unknown=True) and _is_at(path, held):
                return path, held
            os.close(held)


def _sweep(folder: Path) -> None:
    """Remove the directories of dead owners; whatever cannot be removed stays."""
    with suppress(OSError):
        for name in filter(_NAME.fullmatch, os.listdir(folder)):
            with suppress(OSError):  # gone meanwhile, a link, or another user's
                held = os.open(folder / name, _OPEN)
                try:
                    found = os.fstat(held)
                    is_ours = found.st_uid == os.geteuid() and found.st_mode & 0o777 == 0o700
                    if is_ours and _is_locked(held, unknown=False):
                        _remove(folder / name, held)
                finally:
                    os.close(held)


def _is_locked(held: int, *, unknown: bool) -> bool:
    """Whether the lock was free and is ours now; `unknown` where there are no such locks."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


def _is_at(path: Path, held: int) -> bool:
    """Whether the name still means the directory that was opened."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(held))
    return False


def _remove(path: Path, held: int) -> None:
    """Remove what a directory holds, and then itself, if its name still means it."""
    for name in os.listdir(held):
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=held)
            else:
                os.unlink(name, dir_fd=held)
    with suppress(OSError):
        if _is_at(path, held):
            os.rmdir(path)
