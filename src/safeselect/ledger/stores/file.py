"""The store in a file, a log that only grows.

- Every transaction opens the file anew and locks that descriptor with `flock`.  Another name of the
  file, or another `open` and `close` of it, cannot release the lock.
- Bytes up to the last newline that were read under the lock never change afterwards.  So readers
  need the lock only to find that newline.
- A line is acknowledged when it is synced and the path still names the same file, of the expected
  length.  Bytes that a dead writer left after the last newline are not a line; the next writer cuts
  them off.  The same holds for a last line that contains a NUL: a page that never reached the disk.
- Only `with` releases locks and descriptors, on an unbuffered file object.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import TypeVar, final

from safeselect.errors import LedgerBusy, LedgerDamaged, LedgerError, SafeSelectWarning
from safeselect.exact.parameters import integer
from safeselect.ledger.record import log_line, read_line
from safeselect.ledger.store import Journal, Row, Torn
from safeselect.ledger.stores.turn import check_process, guard, pause
from safeselect.randomness.guard import Generation, generation
from safeselect.randomness.source import require_production

try:
    import fcntl
except ImportError:  # Windows: the package works, a ledger in a file does not
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

_GOOD = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "apfs"})
_PASSING = frozenset({"tmpfs", "overlay", "unknown"})
_OCTAL = re.compile(r"\\([0-7]{3})")


_TOLD = {
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the quota is used up",
    errno.EFBIG: "could not be written: the file would exceed the size limit",
    errno.EROFS: "cannot be written: its file system is read-only",
    errno.EISDIR: "is not a ledger, because it is a folder",
    errno.EIO: "could not be read or written; check the disk",
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
            f"file {name!r} does not exist; create it with Ledger.create or safeselect ledger "
            "create"
        )
    if isinstance(error, PermissionError):
        problem = f"cannot be {done}: no permission for it or its folder"
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
            f"a ledger cannot be stored on a file system of type {kind}, because locks or "
            "fsync might not work there; use a local file system such as ext4, or PostgreSQL"
        )
    said = f"the ledger is on a file system of type {kind}, so it may be lost with its budget"
    if require_production():
        raise LedgerError(f"{said}; SAFESELECT_REQUIRE_PRODUCTION forbids this type")
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
    file = None if is_new else os.stat(path)
    if file is not None and not stat.S_ISREG(file.st_mode):
        raise LedgerError(f"{str(path)!r} is not a ledger, because it is not a regular file")
    if file is not None and file.st_mode & stat.S_IWOTH:
        raise LedgerError(f"all users can write to the ledger {str(path)!r}; run chmod o-w on it")
    for folder in {path.parent, Path(os.path.realpath(path)).parent}:
        mode = os.stat(folder).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise LedgerError(
                f"all users can replace the ledger {str(path)!r}; run chmod o-w on its folder"
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


_CHUNK = 2**20  # more than the longest line


def end_of_lines(file: FileIO, size: int) -> int:
    """Return where the last whole line ends; the bytes after it are an unfinished write."""
    end = _after_newline(file, size)
    start = _after_newline(file, end - 1)
    if end and b"\0" in os.pread(file.fileno(), end - start, start):
        return start
    return end


def _after_newline(file: FileIO, before: int) -> int:
    """Return the place after the last newline before this place; 0 if there is none."""
    step = 2**13
    while before > 0:
        start = max(0, before - step)
        found = os.pread(file.fileno(), before - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before, step = start, _CHUNK
    return 0


@final
class FileJournal:
    """The rows of a file, as a `Journal`.

    Args:
        file: the open file.
        end: the end of its last whole line.
        size: the end of the file.
    """

    __slots__ = ("_file", "_next", "_size", "end", "lines")

    def __init__(self, file: FileIO, end: int, size: int) -> None:
        self._file, self.end, self._size = file, end, size
        self._next = end
        self.lines: list[bytes] = []

    @property
    def torn(self) -> Torn | None:
        """The bytes after the last whole line."""
        return None if self._size == self.end else self.torn_from(self.end)

    def torn_from(self, start: int) -> Torn:
        """Describe all bytes from a place on."""
        digest = sha256()
        for chunk in self.chunks(start):
            digest.update(chunk)
        return Torn(self._size - start, digest.hexdigest())

    def chunks(self, start: int) -> Iterator[bytes]:
        """Yield all bytes from a place on."""
        while start < self._size:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, self._size - start), start)
            if not chunk:
                return
            yield chunk
            start += len(chunk)

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a line on."""
        found: list[Row] = []
        while at < self.end and len(found) < count:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, self.end - at), at)
            whole = chunk.rfind(b"\n")
            if whole < 0 or whole > _CHUNK:
                raise LedgerDamaged(f"record {first + len(found)} is truncated or too long")
            left = count - len(found)
            for line in chunk[:whole].decode("latin-1").split("\n", left)[:left]:
                found.append(read_line(line, first + len(found), at))
                at += len(line) + 1
        return found

    def append(self, row: Row) -> Row:
        """Add a line."""
        line = log_line(row.body, row.hash, row.signature)
        placed = row._replace(at=self._next)
        self.lines.append(line)
        self._next += len(line)
        return placed


@final
class FileStore:
    """The store of a path.

    Args:
        path: the file, on a local disk.
        wait: seconds to wait for other users of the file.

    Raises:
        LedgerError: this system cannot lock files as a ledger needs.
    """

    __slots__ = ("_broken", "_durable", "_path", "_ready", "_wait")

    def __init__(self, path: str | os.PathLike[str], *, wait: int = 30) -> None:
        if fcntl is None:
            raise LedgerError("a ledger in a file requires the Unix function flock; use PostgreSQL")
        try:
            self._path = Path(os.fspath(path)).absolute()
            os.access(self._path.with_name(self._path.name), os.F_OK)
        except (OSError, ValueError):  # no folder, a NUL, or characters that no name of a file has
            raise LedgerError(
                f"file {str(path)!r} cannot be opened: its path is not valid"
            ) from None
        self._wait = integer(wait, "wait", minimum=0, maximum=10**6)
        self._ready: Generation | None = None  # the process that checked the place
        self._durable = (0, 0, 0)  # device, inode, and the synced length
        self._broken = False

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self._path)

    def about(self) -> dict[str, str]:
        """The type of the file system."""
        return {"file_system": check_file_system(self._path.parent, warn=True)}

    def create(self, work: Callable[[Journal], T]) -> T:
        """Make a file that only its owner may read, with the first rows in it.

        It is made under another name and linked when complete, so nobody sees half a ledger.
        """
        made = self._path.with_name(f".{self._path.name}.{os.urandom(8).hex()}")
        try:
            try:
                check_modes(self._path, is_new=True)
                with FileIO(_made(made), "w") as file:
                    journal = FileJournal(file, 0, 0)
                    done = work(journal)
                    lines = b"".join(journal.lines)
                    _whole(file.write(lines), lines)
                    os.fsync(file.fileno())
                os.link(made, self._path)
            except FileExistsError:
                raise LedgerError(f"the file {self.name!r} already exists; open it") from None
            except OSError as error:
                raise LedgerError(f"{self.name!r} cannot be created: {error.strerror}") from None
        finally:
            with suppress(OSError):
                os.unlink(made)
        try:
            sync_folder(self._path)
        except OSError as error:
            raise said(error, self.name, "written") from None
        return done

    def write(self, work: Callable[[Journal], T]) -> T:
        """Lock the file, run the work, and put its rows on the disk."""
        with self._told("written") as born:
            if self._broken:
                raise LedgerError(
                    f"a write to the ledger {self.name!r} failed and could not be undone; this "
                    "Ledger object will not write to it again"
                )
            check_modes(self._path)
            with _opened(self._path) as file:
                here, journal = self._held(file, born)
                done = work(journal)
                if lines := b"".join(journal.lines):
                    self._append(file, journal.end, lines, born)
                    self._durable = (here.st_dev, here.st_ino, journal.end + len(lines))
                fcntl.flock(file, fcntl.LOCK_UN)
        return done

    def read(self, work: Callable[[Journal], T]) -> T:
        """Find the last newline under the lock; then run the work, without it, and sync."""
        with self._told("read"):
            check_modes(self._path)
            with FileIO(self._path, "r") as file:
                guard(file)
                self._lock(file, fcntl.LOCK_SH)
                here = os.fstat(file.fileno())
                end = end_of_lines(file, here.st_size)
                fcntl.flock(file, fcntl.LOCK_UN)
                done = work(FileJournal(file, end, end))
                if self._durable[:2] != (here.st_dev, here.st_ino) or end > self._durable[2]:
                    # A line may have a writer that died before it was on the disk.
                    if not os.fstatvfs(file.fileno()).f_flag & os.ST_RDONLY:
                        sync(file)
                    self._durable = (here.st_dev, here.st_ino, end)
        return done

    def replace_end(self, work: Callable[[FileJournal], tuple[int, Row]]) -> Path:
        """Put a row in place of all bytes from a place on; return the new file that keeps them.

        The work returns that place, and the row.
        """
        kept = self._path.with_name(f"{self._path.name}.torn-{os.urandom(8).hex()}")
        with self._told("written") as born:
            check_modes(self._path)
            with FileIO(self._path, "r+") as file:
                _, journal = self._held(file, born)
                end, row = work(journal)
                line = log_line(row.body, row.hash, row.signature)
                check_process(born)
                with FileIO(_made(kept), "w") as copy:
                    for chunk in journal.chunks(end):
                        _whole(copy.write(chunk), chunk)
                    sync(copy)
                sync_folder(self._path)
                # Written over the bytes before the rest is cut: a crash in between leaves a ledger
                # that is still damaged, never one that lacks bytes and does not say so.
                _whole(os.pwrite(file.fileno(), line, end), line)
                sync(file)
                os.ftruncate(file.fileno(), end + len(line))
                sync(file)
                self._check_place(file)
        return kept

    @contextmanager
    def _told(self, done: str) -> Iterator[Generation]:
        """Tell errors in our words; whatever a child of a fork in the middle finds is no alarm."""
        born, failed = generation(), None
        try:
            yield born
        except (OSError, LedgerError) as error:
            failed = said(error, self.name, done) if isinstance(error, OSError) else error
        check_process(born)  # the child's descriptor is /dev/null, which has no record
        if failed is not None:
            raise failed

    def _held(self, file: FileIO, born: Generation) -> tuple[os.stat_result, FileJournal]:
        """Lock the file for writing, and look where its last whole line ends."""
        guard(file)
        self._lock(file, fcntl.LOCK_EX)
        here = self._check_place(file)
        if self._ready != born:
            self._check_once(file)
            self._ready = born
        return here, FileJournal(file, end_of_lines(file, here.st_size), here.st_size)

    def _append(self, file: FileIO, end: int, lines: bytes, born: Generation) -> None:
        """Write lines at the end, and return when they are on the disk and in their place."""
        check_process(born)
        if os.fstat(file.fileno()).st_size != end:
            self._cut(file, end)
        try:
            _whole(file.write(lines), lines)
            sync(file)
        except OSError:
            # Only the writer of a line takes it back, and only when its sync failed.
            self._broken = generation() == born
            os.ftruncate(file.fileno(), end)
            sync(file)
            self._broken = False
            raise
        if self._check_place(file).st_size != end + len(lines):
            raise LedgerError(
                f"another program changed the file {self.name!r} while a record was being written; "
                "nothing is released, and the charge may remain"
            )

    def _cut(self, file: FileIO, end: int) -> None:
        try:
            os.ftruncate(file.fileno(), end)
        except PermissionError:
            raise LedgerError(
                f"the append-only file {self.name!r} ends with an incomplete line; to remove "
                "this line, run chattr -a on the file, make one charge, and then run chattr +a"
            ) from None
        sync(file)

    def _lock(self, file: FileIO, kind: int) -> None:
        """Wait for the lock, which belongs to this descriptor."""
        deadline = time.monotonic_ns() + self._wait * 10**9
        while True:
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic_ns() > deadline:
                    raise LedgerBusy(
                        f"other processes kept the ledger {self.name!r} locked for {self._wait} "
                        "seconds; nothing was charged, so try again"
                    ) from None
                pause()
            else:
                return

    def _check_place(self, file: FileIO) -> os.stat_result:
        """Check that the path names this very file now."""
        here = os.fstat(file.fileno())
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(here, there):
            raise LedgerError(
                f"the file {self.name!r} was moved or replaced while it was in use; nothing is "
                "released"
            )
        return here

    def _check_once(self, file: FileIO) -> None:
        """Make the checks of each process before its first row."""
        check_file_system(self._path, warn=False)
        with FileIO(self._path, "r") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                raise LedgerError(f"locks do not work on the file system of {self.name!r}")
        sync_folder(self._path)


def _made(path: Path) -> int:
    """Return the descriptor of a new file, for its owner alone."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)


def _whole(written: int, data: bytes) -> None:
    if written != len(data):
        raise OSError(errno.ENOSPC, "short write")


def _opened(path: Path) -> FileIO:
    try:
        file = FileIO(path, "r+")
    except PermissionError as error:
        if error.errno != errno.EPERM:
            raise
        # An append-only file (chattr +a) must be opened for appending.
        return FileIO(path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_APPEND))
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return file


def end_found(file: FileIO) -> tuple[int, int]:
    """Return where the last whole line and the file end, while no writer is at work."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_SH)
    size = os.fstat(file.fileno()).st_size
    end = end_of_lines(file, size)
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)
    return end, size
