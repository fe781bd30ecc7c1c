"""A ledger in one SQLite file, or in memory.

- Every operation has its own connection, so that no lock and no transaction is carried into another
  thread or a forked child.  A ledger in memory has one connection and belongs to its process.
- `BEGIN IMMEDIATE` takes the write lock before anything is read.
- A commit is on the disk before it returns: synchronous=EXTRA with the rollback journal, whose
  removal must be durable too, FULL with write-ahead logging.
- Write-ahead logging is used from SQLite 3.51.3 on; before, a checkpoint that met a writer could
  damage the file.
- Triggers forbid updates, deletions and rows out of order.  They stop mistakes; against whoever
  owns the file only the chain of hashes and a head kept elsewhere help.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from safeselect.accounting._ledger_store import Journal, Row
from safeselect.errors import LedgerError
from safeselect.sources._fork import generation

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteStore"]

_APPLICATION = 0x53534C31  # "SSL1"
_VERSION = 1
_WAL_IS_SAFE = (3, 51, 3)
_SCHEMA = (
    """CREATE TABLE records (
    seq INTEGER PRIMARY KEY CHECK (seq >= 0),
    body TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    total_of TEXT,
    nonce TEXT UNIQUE,
    settles INTEGER UNIQUE
)""",
    "CREATE INDEX totals ON records (total_of, seq)",
    """CREATE TRIGGER records_are_never_updated BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are never updated'); END""",
    """CREATE TRIGGER records_are_never_deleted BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END""",
    # Also against INSERT OR REPLACE, which deletes without asking the trigger for deletions.
    """CREATE TRIGGER records_are_only_appended BEFORE INSERT ON records
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), -1) + 1 FROM records)
  OR EXISTS (SELECT 1 FROM records
             WHERE hash = NEW.hash OR nonce = NEW.nonce OR settles = NEW.settles)
BEGIN SELECT RAISE(ABORT, 'records are only appended'); END""",
)
# By primary result code of SQLite: what to tell the caller.
_PROBLEMS = {
    5: "is locked by another process: try again",
    6: "is locked by another process: try again",
    8: "cannot be written: it, or its folder, is read-only",
    10: "could not be read or written: look at the disk",
    11: "is damaged",
    13: "could not be written: the disk is full",
    14: "cannot be opened: look at its path and permissions",
    19: "refused a row that contradicts the rows before it",
    26: "is no ledger",
}


@final
class SQLiteStore:
    """The store of a path, or of ":memory:".

    Args:
        path: the file.  Not on a network file system, whose locks may not hold.
        wait: seconds to wait for another writer.
    """

    __slots__ = ("_born", "_lock", "_memory", "_path", "_wait")

    def __init__(self, path: str | os.PathLike[str], *, wait: int = 30) -> None:
        named = os.fspath(path)
        self._path = None if named == ":memory:" else Path(named).absolute()
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.Lock() if self._path is None else None
        self._born = generation()
        self._wait = wait

    @property
    def name(self) -> str:
        """The path of the file."""
        return ":memory:" if self._path is None else str(self._path)

    @contextmanager
    def create(self) -> Iterator[Journal]:
        """A new file, readable for its owner alone, with the first rows in it."""
        if self._path is None:
            with self._transaction("IMMEDIATE", create=True) as journal:
                yield journal
            return
        try:
            # Only ever a new file: an existing one, of whatever kind, is left as it is.
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise LedgerError(f"there is a file {self.name!r} already: open it") from None
        except (OSError, ValueError):
            raise LedgerError(f"the file {self.name!r} cannot be made") from None
        try:
            with self._transaction("IMMEDIATE", create=True) as journal:
                yield journal
        except BaseException:
            for end in ("", "-journal", "-wal", "-shm"):
                with suppress(OSError):
                    os.unlink(f"{self._path}{end}")
            raise

    @contextmanager
    def writing(self) -> Iterator[Journal]:
        """The write lock, then the block, then a durable commit."""
        with self._transaction("IMMEDIATE") as journal:
            yield journal

    @contextmanager
    def reading(self) -> Iterator[Journal]:
        """One consistent state."""
        with self._transaction("DEFERRED") as journal:
            yield journal

    @contextmanager
    def _transaction(self, kind: str, *, create: bool = False) -> Iterator[Journal]:
        with self._connection(create=create) as connection:
            try:
                with self._told():
                    connection.execute(f"BEGIN {kind}")
                    if create:
                        _make(connection)
                    _check_schema(connection, self.name)
                    yield _Rows(connection, self.name)
                    connection.execute("COMMIT")
            except BaseException:
                # The reason is on its way; a rollback that fails as well leaves the transaction
                # without a commit, which the next connection rolls back.
                with suppress(LedgerError), self._told():
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connection(self, *, create: bool) -> Iterator[sqlite3.Connection]:
        if self._lock is not None:
            # A child would have a copy of the budget: spent twice.  Looked at before the lock,
            # which may have been held by another thread during the fork.
            if generation() != self._born:
                raise LedgerError("a ledger in memory belongs to the process that made it")
            with self._lock:
                if create:
                    self._memory = self._connect(":memory:", uri=False)
                if self._memory is None:
                    raise LedgerError("there is no ledger in memory yet: create one")
                yield self._memory
            return
        # mode=rw never makes a file: a missing one is an error, not a fresh budget.
        if self._path is None or not os.path.exists(self._path):
            raise LedgerError(f"there is no file {self.name!r} to read; Ledger.create makes one")
        connection = self._connect(f"{self._path.as_uri()}?mode=rw", uri=True)
        try:
            with self._told():
                self._configure(connection, create=create)
            yield connection
        finally:
            connection.close()

    def _connect(self, address: str, *, uri: bool) -> sqlite3.Connection:
        import sqlite3  # not at the top: only those pay for it who keep a ledger

        with self._told():
            return sqlite3.connect(
                address,
                uri=uri,
                timeout=self._wait,
                isolation_level=None,
                check_same_thread=self._path is not None,
            )

    def _configure(self, connection: sqlite3.Connection, *, create: bool) -> None:
        if not create:
            _check_application(connection, self.name)  # nothing is changed in another's file
        wal_is_safe = _sqlite_version() >= _WAL_IS_SAFE
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        wanted = "wal" if wal_is_safe and (create or mode == "wal") else "delete"
        if mode != wanted:
            (mode,) = connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()
        if mode == "wal" and not wal_is_safe:
            raise LedgerError(f"{self.name!r} uses write-ahead logging, which this SQLite lacks")
        connection.execute(f"PRAGMA synchronous={'FULL' if mode == 'wal' else 'EXTRA'}")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync=1")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite in our words: its own may quote a row."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as error:
            # Without a code: Python itself could not decode a text of the file.
            code = getattr(error, "sqlite_errorcode", 11)
            problem = _PROBLEMS.get(code & 0xFF, "cannot be used")
            raise LedgerError(f"the ledger {self.name!r} {problem}") from None


def _sqlite_version() -> tuple[int, int, int]:
    import sqlite3

    return sqlite3.sqlite_version_info


def _make(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={_APPLICATION}")
    connection.execute(f"PRAGMA user_version={_VERSION}")


def _check_application(connection: sqlite3.Connection, name: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        empty = "" if tables else ": it is empty; if making it was interrupted, remove it"
        raise LedgerError(f"the file {name!r} is no ledger{empty}")
    if version != _VERSION:
        raise LedgerError(
            f"the ledger {name!r} has format {version}; this version reads {_VERSION}"
        )


def _check_schema(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a file that does not have exactly the tables and triggers above."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(str(sql) for (sql,) in found) != sorted(_SCHEMA):
        raise LedgerError(f"the tables or triggers of the ledger {name!r} were changed")


@final
class _Rows:
    """The rows, as a `Journal`."""

    __slots__ = ("_connection", "_name")

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def last(self) -> Row | None:
        return self._one("SELECT * FROM records ORDER BY seq DESC LIMIT 1")

    def rows(self, first: int, count: int) -> list[Row]:
        query = "SELECT * FROM records WHERE seq >= ? ORDER BY seq LIMIT ?"
        return [self._row(values) for values in self._connection.execute(query, (first, count))]

    def total(self, scope: str) -> Row | None:
        query = "SELECT * FROM records WHERE total_of = ? ORDER BY seq DESC LIMIT 1"
        return self._one(query, scope)

    def has_nonce(self, nonce: str) -> bool:
        return self._one("SELECT * FROM records WHERE nonce = ?", nonce) is not None

    def is_settled(self, charge: int) -> bool:
        return self._one("SELECT * FROM records WHERE settles = ?", charge) is not None

    def append(self, row: Row) -> None:
        values = (row.seq, row.body, row.hash, row.signature, row.total_of, row.nonce, row.settles)
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _one(self, query: str, *values: Any) -> Row | None:
        first = self._connection.execute(query, values).fetchone()
        return None if first is None else self._row(first)

    def _row(self, values: tuple[Any, ...]) -> Row:
        kinds = (int, str, str, str, str | None, str | None, int | None)
        if not all(isinstance(value, kind) for value, kind in zip(values, kinds, strict=True)):
            raise LedgerError(f"a row of the ledger {self._name!r} was changed")
        return Row(*values)
