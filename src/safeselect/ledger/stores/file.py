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
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TypeVar, final

from safeselect.errors import LedgerBusy, LedgerError
from safeselect.ledger.records.lines import log_line
from safeselect.ledger.store import Journal, Row
from safeselect.ledger.stores.journal import FileJournal, end_of_lines
from safeselect.ledger.stores.place import check_file_system, check_modes, said, sync, sync_folder
from safeselect.ledger.stores.turn import guard, pause
from safeselect.randomness.memory import Generation, generation

try:
    import fcntl
except ImportError:  # Windows: the package works, a ledger in a file does not
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


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
            raise LedgerError("a ledger in a file needs Unix's flock: use PostgreSQL here")
        self._path = Path(os.fspath(path)).absolute()
        self._wait = wait
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
                os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
                with FileIO(made, "r+") as file:
                    journal = FileJournal(file, 0, 0)
                    done = work(journal)
                    lines = b"".join(journal.lines)
                    if file.write(lines) != len(lines):
                        raise OSError(errno.ENOSPC, "short write")
                    os.fsync(file.fileno())
                # Only a new name is used: an existing file of any kind stays as it is.
                os.link(made, self._path)
            except FileExistsError:
                raise LedgerError(f"there is a file {self.name!r} already: open it") from None
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "it has no such name"
                raise LedgerError(f"the file {self.name!r} cannot be made: {why}") from None
        finally:
            with suppress(OSError, ValueError):
                os.unlink(made)
        try:
            sync_folder(self._path)
        except OSError as error:
            raise said(error, self.name, "written") from None
        return done

    def write(self, work: Callable[[Journal], T]) -> T:
        """Lock the file, run the work, and put its rows on the disk."""
        return self._said("written", lambda: self._written(work))

    def read(self, work: Callable[[Journal], T]) -> T:
        """Find the last newline under the lock; then run the work, without it, and sync."""
        return self._said("read", lambda: self._read(work))

    def replace_end(self, work: Callable[[FileJournal], tuple[int, Row]]) -> Path:
        """Put a row in place of all bytes from a place on; return the new file that keeps them.

        The work returns that place, and the row.
        """
        return self._said("written", lambda: self._replaced(work))

    def _said(self, done: str, work: Callable[[], T]) -> T:
        """Do the work; whatever a child of a fork in the middle of it finds is no alarm."""
        born, failed = generation(), None
        try:
            found = work()
        except (OSError, LedgerError) as error:
            failed = said(error, self.name, done) if isinstance(error, OSError) else error
        if generation() != born:  # the child's descriptor is /dev/null, which has no record
            raise LedgerError("this process was forked in a call of its parent's: call anew")
        if failed is not None:
            raise failed
        return found

    def _replaced(self, work: Callable[[FileJournal], tuple[int, Row]]) -> Path:
        born = generation()
        check_modes(self._path)
        with FileIO(self._path, "r+") as file:
            guard(file)
            self._lock(file, fcntl.LOCK_EX)
            size = self._check_place(file).st_size
            self._check_once(file)
            journal = FileJournal(file, end_of_lines(file, size), size)
            end, row = work(journal)
            line = log_line(row.body, row.hash, row.signature)
            if generation() != born:
                raise LedgerError("this process was forked in the middle of its parent's repair")
            kept = self._path.with_name(f"{self._path.name}.torn-{os.urandom(8).hex()}")
            with FileIO(
                os.open(kept, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "w"
            ) as copy:
                for chunk in journal.chunks(end):
                    if copy.write(chunk) != len(chunk):
                        raise OSError(errno.ENOSPC, "short write")
                sync(copy)
            sync_folder(self._path)
            # Written over the bytes before the rest is cut: a crash in between leaves a ledger that
            # is still damaged, never one that lacks bytes and does not say so.
            if os.pwrite(file.fileno(), line, end) != len(line):
                raise OSError(errno.ENOSPC, "short write")
            sync(file)
            os.ftruncate(file.fileno(), end + len(line))
            sync(file)
            self._check_place(file)
        return kept

    def _written(self, work: Callable[[Journal], T]) -> T:
        born = generation()
        if self._broken:
            raise LedgerError(
                f"a write to the ledger {self.name!r} failed and could not be taken back: this "
                "process writes no more"
            )
        check_modes(self._path)
        with _opened(self._path) as file:
            guard(file)
            self._lock(file, fcntl.LOCK_EX)
            here = self._check_place(file)
            if self._ready != born:
                self._check_once(file)
                self._ready = born
            end = end_of_lines(file, here.st_size)
            journal = FileJournal(file, end, here.st_size)
            done = work(journal)
            if lines := b"".join(journal.lines):
                self._append(file, end, lines, born)
                self._durable = (here.st_dev, here.st_ino, end + len(lines))
            fcntl.flock(file, fcntl.LOCK_UN)
        return done

    def _read(self, work: Callable[[Journal], T]) -> T:
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

    def _append(self, file: FileIO, end: int, lines: bytes, born: Generation) -> None:
        """Write lines at the end, and return when they are on the disk and in their place."""
        if generation() != born:
            raise LedgerError("this process was forked in the middle of a charge of its parent's")
        if os.fstat(file.fileno()).st_size != end:
            self._cut(file, end)
        try:
            if file.write(lines) != len(lines):
                raise OSError(errno.ENOSPC, "short write")
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
                f"somebody else changed the file {self.name!r} while a record was written: nothing "
                "is released, and the charge may stand"
            )

    def _cut(self, file: FileIO, end: int) -> None:
        try:
            os.ftruncate(file.fileno(), end)
        except PermissionError:
            raise LedgerError(
                f"the last line of {self.name!r} is torn, and the file may only grow: lift that "
                "once (chattr -a), charge, and set it again"
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
                        f"others held the lock of the ledger {self.name!r} for {self._wait} "
                        "seconds: nothing was charged, try again"
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
                f"the file {self.name!r} was moved or replaced while it was in use: nothing is "
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
                raise LedgerError(f"locks do not hold on the file system of {self.name!r}")
        sync_folder(self._path)


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
