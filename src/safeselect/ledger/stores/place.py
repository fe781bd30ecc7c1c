"""The place of a ledger's file: its file system, and who may write to it."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import warnings
from io import FileIO
from pathlib import Path

from safeselect.errors import LedgerError, SafeSelectWarning
from safeselect.randomness.source import require_production

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_GOOD = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "apfs"})
_PASSING = frozenset({"tmpfs", "overlay", "unknown"})
_OCTAL = re.compile(r"\\([0-7]{3})")


_TOLD = {
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the quota is used up",
    errno.EFBIG: "could not be written: no file may be so large here",
    errno.EROFS: "cannot be written: its file system is read-only",
    errno.EISDIR: "is no ledger: it is a folder",
    errno.EIO: "could not be read or written: look at the disk",
}


def said(error: OSError, name: str, done: str) -> LedgerError:
    """Return the error to raise for a failure of a ledger's file.

    Args:
        name: the path of the file.
        done: what could not be done: "read" or "written".
    """
    problem = _TOLD.get(error.errno or 0, f"could not be {done}: {error.strerror}")
    if isinstance(error, FileNotFoundError):
        return LedgerError(
            f"there is no file {name!r}; Ledger.create, or the command "
            "safeselect ledger create, makes one"
        )
    if isinstance(error, PermissionError):
        problem = f"cannot be {done}: it, or its folder, is read-only or not yours"
    return LedgerError(f"the ledger {name!r} {problem}")


def file_system(path: Path) -> str:
    """Return the type of the file system of a file or its folder; "unknown" if not known."""
    if sys.platform != "linux":
        return "unknown"
    real, found, longest = os.path.realpath(path), "unknown", -1
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return "unknown"
    for line in mounts:
        left, _, right = line.partition(" - ")
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), left.split(" ")[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place, the later hides the earlier.
        if inside and len(point) >= longest:
            found, longest = right.split(" ")[0], len(point)
    return found


def check_file_system(path: Path, *, warn: bool) -> str:
    """Refuse a file system whose locks or syncs may fail; return its type.

    Args:
        warn: whether to warn if the file may vanish with the machine or its container.

    Raises:
        LedgerError: the file system is not known to be good.
    """
    kind = file_system(path)
    if kind in _GOOD:
        return kind
    if kind not in _PASSING:
        raise LedgerError(
            f"a ledger cannot be kept on a file system of type {kind}: whether its locks and syncs "
            "hold for all who use it is not known; use a local disk, or PostgreSQL"
        )
    said = f"the ledger is on a file system of type {kind}, which may vanish with its budget"
    if require_production():
        raise LedgerError(f"{said}; SAFESELECT_REQUIRE_PRODUCTION forbids it")
    if warn:
        warnings.warn(said, SafeSelectWarning, stacklevel=2)
    return kind


def check_modes(path: Path, *, is_new: bool = False) -> None:
    """Refuse a path that is not a file, or that others may write to or replace.

    Args:
        is_new: whether there is to be no file yet, so that only its folder matters.

    Raises:
        LedgerError: the path is refused.
        OSError: it does not exist, or cannot be examined.
    """
    try:
        file = None if is_new else os.stat(path)
    except ValueError:  # a NUL, or characters that names of files cannot have
        raise LedgerError(f"there is no file {str(path)!r}, and can be none of this name") from None
    if file is not None and not stat.S_ISREG(file.st_mode):
        raise LedgerError(f"{str(path)!r} is not a ledger: it is not a file")
    if file is not None and file.st_mode & stat.S_IWOTH:
        raise LedgerError(f"anybody may write to the ledger {str(path)!r}: say chmod o-w")
    for folder in {path.parent, Path(os.path.realpath(path)).parent}:
        mode = os.stat(folder).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise LedgerError(
                f"anybody may replace the ledger {str(path)!r}: say chmod o-w for its folder"
            )


def sync(file: FileIO) -> None:
    """Return when the file is on the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file.fileno())


def sync_folder(path: Path) -> None:
    """Sync the file's name to the disk too; of a symbolic link, both names."""
    for folder in {path.parent, Path(os.path.realpath(path)).parent}:
        opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
