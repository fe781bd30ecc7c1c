"""A ledger in a schema of a PostgreSQL database, by psycopg: `safeselect[postgres]`.

    ledger = Ledger.create(PostgresStore("host=db dbname=privacy", schema="ledger"), {...})

- Every process replays and checks the rows, as with a file, and does not trust the server.  The
  server judges each record too (`_postgres_schema.py`): only the owner may write to a table, and
  roles execute functions, by their duty: reader, charger, approver.
- Each thread keeps one connection, or each transaction borrows one from a pool.  A forked child
  loses its parent's.
- A writer takes the ledger's lock before it reads; readers do not wait.
- A commit is on the server's disk before it returns.  A server that does not wait for its disk is
  refused.  So is a standby server: if it lags behind, that looks like a rollback.  A warning during
  the commit, for example that a standby was not waited for, is an error.
- Triggers stop mistakes of the owner.  Only signatures and a head kept elsewhere protect against an
  owner who means it.
- A schema of format 1, made by an earlier version, is used as it is: its role has INSERT.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Literal, TypeVar, final
from weakref import WeakSet

from safeselect.adapters._postgres_rows import OLD_FORMAT, Borrowed, Kept, Rows
from safeselect.adapters._postgres_schema import FORMAT, GRANTS, schema_of
from safeselect.errors import LedgerBusy, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger import Journal
from safeselect.randomness.memory import generation

__all__ = ["PostgresStore"]

T = TypeVar("T")

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
# In format 1 an advisory lock on the table's number, below "SSL1": a lock on the table itself would
# need the right to change and delete rows.
_OLD_LOCK = (
    "SELECT pg_advisory_xact_lock((1397967921::int8 << 32) | 'records'::regclass::oid::int8)"
)
_IS_OWNER = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"
_OLDEST = 130000  # gcd of numeric
# The message to the caller, by SQLSTATE or its first two characters.
_PROBLEMS = {
    "53": "could not be written: the server lacks space, memory or connections",
    "25006": "cannot be written: the server is read-only",
    "42501": "cannot be used: the role lacks a permission",
    "3F000": "is not there; Ledger.create makes one",
    "42P01": "is not there, or is another's; Ledger.create makes one in a new schema",
    "42P06": "is there already: open it",
    "23": "refused a row that contradicts the rows before it",
    "P0001": "refused a row that contradicts the rows before it",
}


@final
class PostgresStore:
    """The store of one schema.

    Args:
        conninfo: how to connect, in libpq's words.  No message repeats it: it may hold a password.
            Each thread keeps a connection of its own.
        schema: the schema's name: lower-case letters, digits and underscores.
        wait: seconds to wait for another writer.
        pool: instead of conninfo, a `psycopg_pool.ConnectionPool`, from which each transaction
            borrows a connection.  It stays yours to close, and others may use it.

    Raises:
        ParameterError: an argument is wrong, or psycopg is not installed.
    """

    __slots__ = (
        *("_born", "_conninfo", "_kept", "_pool", "_psycopg", "_schema", "_threads"),
        "_wait",
    )

    def __init__(
        self, conninfo: str | None = None, *, schema: str, wait: int = 30, pool: Any = None
    ) -> None:
        if (conninfo is None) == (pool is None):
            raise ParameterError("give conninfo, or pool= instead of it")
        if conninfo is not None and not isinstance(conninfo, str):
            raise ParameterError("conninfo must be text in libpq's words")
        if pool is not None and not all(
            callable(getattr(pool, name, None)) for name in ("getconn", "putconn")
        ):
            raise ParameterError(f"pool must be a psycopg_pool.ConnectionPool: {describe(pool)}")
        if not isinstance(schema, str) or not _NAME.fullmatch(schema):
            raise ParameterError(f"schema must be a plain lower-case name, got {describe(schema)}")
        try:
            self._psycopg: Any = import_module("psycopg")
        except ImportError:
            raise ParameterError("PostgreSQL needs psycopg: safeselect[postgres]") from None
        self._conninfo, self._schema, self._wait = conninfo, schema, wait
        self._pool, self._born = pool, generation()
        self._threads = threading.local()
        self._kept: WeakSet[Kept] = WeakSet()

    def __repr__(self) -> str:
        return f"<PostgresStore {self._schema!r}>"

    @property
    def name(self) -> str:
        """The schema."""
        return f"schema {self._schema} of PostgreSQL"

    def about(self) -> dict[str, str]:
        """Return, for the first record, that the place is a database."""
        return {"database": "PostgreSQL"}

    def create(self, work: Callable[[Journal], T]) -> T:
        """Make a schema with the first rows in it, in one transaction.

        The role of the connection owns it.  Let that be one that nobody logs in as, for example
        with `options='-c role=ledger_owner'` in conninfo.
        """
        with self._transaction("READ COMMITTED") as connection:
            if connection.info.server_version < _OLDEST:
                raise LedgerError("a ledger needs PostgreSQL 13 or later")
            connection.execute(f"CREATE SCHEMA {self._schema}")
            for statement in schema_of(self._schema):
                connection.execute(statement)
            return work(Rows(connection, self.name, FORMAT, is_new=True))

    def grant(self, role: str, duty: Literal["reader", "charger", "approver"]) -> None:
        """Give a role the rights of a duty; connect as the owner of the schema.

        Args:
            role: the role's name: lower-case letters, digits and underscores.
            duty: "reader" reads records, "charger" also charges and writes outcomes, "approver"
                also opens scopes, raises limits and replaces the signing key.  No role writes to
                a table.

        Raises:
            ParameterError: the name is not plain, or there is no such duty.
            LedgerError: the role is not there, or the connection's role may not grant this.
        """
        if not isinstance(role, str) or not _NAME.fullmatch(role):
            raise ParameterError(f"role must be a plain lower-case name, got {describe(role)}")
        if duty not in GRANTS:
            raise ParameterError(f"duty must be reader, charger or approver, got {describe(duty)}")
        with self._transaction("READ COMMITTED") as connection:
            self._format(connection, FORMAT)
            # The server only warns of a grant that grants nothing.
            if connection.execute(_IS_OWNER, (self._schema,)).fetchone() != (True,):
                raise LedgerError(f"only the owner of {self.name} grants rights")
            connection.execute(f"GRANT USAGE ON SCHEMA {self._schema} TO {role}")
            connection.execute(f"GRANT SELECT ON records, format TO {role}")
            for function in GRANTS[duty]:
                connection.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {role}")

    def write(self, work: Callable[[Journal], T]) -> T:
        """Take the lock, run the work, and commit durably."""
        # Read committed: reads after the lock see everything that was committed before it.
        with self._transaction("READ COMMITTED") as connection:
            found = self._format(connection)
            connection.execute(_OLD_LOCK if found == OLD_FORMAT else "SELECT begin_charge()")
            return work(Rows(connection, self.name, found))

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on one consistent state."""
        with self._transaction("REPEATABLE READ, READ ONLY") as connection:
            return work(Rows(connection, self.name, self._format(connection)))

    def close(self) -> None:
        """Close the connections of all threads, but no pool; the next use makes new ones."""
        for kept in list(self._kept):
            kept.close()

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Any]:
        born = generation()
        with self._told(), self._begun(mode) as kept:
            connection = kept.connection
            try:
                waits, follows = connection.execute(
                    "SELECT current_setting('fsync'), pg_is_in_recovery()"
                ).fetchone()
                if waits != "on":
                    raise LedgerError(f"{self.name}: the server does not wait for its disk")
                if follows:
                    raise LedgerError(f"{self.name}: the server only follows another; ask that one")
                yield connection
                if generation() != born:
                    raise LedgerError("this process was forked in the middle of its parent's use")
                kept.warnings.clear()
                done = connection.execute("COMMIT")
                if kept.warnings or done.statusmessage != "COMMIT":
                    raise LedgerError(
                        f"the ledger in {self.name}: the server warned while it committed; nothing "
                        "is released, and the charge may stand"
                    )
            except BaseException:
                # The error is already being raised; without a commit the server rolls back anyway.
                if generation() == born:
                    with suppress(self._psycopg.Error):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _begun(self, mode: str) -> Iterator[Kept | Borrowed]:
        """Begin a transaction on a connection of the pool, on this thread's or on a new one."""
        # Only our schema is on the path: no other schema's table can replace ours.
        begin = (
            f"BEGIN TRANSACTION ISOLATION LEVEL {mode}; "
            f"SET LOCAL search_path = {self._schema}, pg_temp; "
            f"SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '{self._wait}s'"
        )
        if self._pool is not None:
            borrowed = self._borrowed()
            try:
                borrowed.connection.execute(begin)
                yield borrowed
            finally:
                if generation() == self._born:
                    borrowed.give_back(self._psycopg.pq.TransactionStatus.IDLE)
            return
        # While it is in use nobody else has it: not a handler that interrupts this transaction, and
        # not the next transaction of this thread, should an interrupt leave this one half done.
        kept: Kept | None = getattr(self._threads, "kept", None)
        self._threads.kept = None
        if kept is not None and kept.is_usable():
            try:
                kept.connection.execute(begin)
            except self._psycopg.OperationalError:
                kept = None  # the server ended the connection since; nothing was asked of it yet
        else:
            kept = None
        if kept is None:
            kept = Kept(
                self._psycopg.connect(
                    self._conninfo,
                    autocommit=True,
                    client_encoding="utf8",
                    prepare_threshold=None,  # a pool may give the next transaction another server
                )
            )
            self._kept.add(kept)
            kept.connection.execute(begin)
        try:
            yield kept
        finally:
            if kept.is_usable(self._psycopg.pq.TransactionStatus.IDLE):
                self._threads.kept = kept

    def _borrowed(self) -> Borrowed:
        if generation() != self._born:
            raise LedgerError(
                "this process was forked after the store got its pool: make both anew in the child"
            )
        try:
            return Borrowed(self._pool, self._psycopg.rows.tuple_row)
        except self._psycopg.OperationalError as error:
            if type(error).__name__ not in ("PoolTimeout", "TooManyRequests"):
                raise
            raise LedgerBusy(
                f"the ledger in {self.name}: the pool had no connection in time; nothing was "
                "charged, try again"
            ) from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Replace the errors of psycopg, which quote rows and the connection, by ours."""
        try:
            yield
        except self._psycopg.Error as error:
            state = error.sqlstate or ""
            if state == "55P03":
                raise LedgerBusy(
                    f"the ledger in {self.name} is locked by another writer: nothing was charged, "
                    "try again"
                ) from None
            problem = _PROBLEMS.get(state) or _PROBLEMS.get(state[:2]) or "cannot be used"
            if isinstance(error, self._psycopg.OperationalError) and not state:
                problem = "cannot be reached, or the connection was lost"
            raise LedgerError(f"the ledger in {self.name} {problem}") from None

    def _format(self, connection: Any, *known: int) -> int:
        found = connection.execute("SELECT version FROM format").fetchall()
        for version in known or (FORMAT, OLD_FORMAT):
            if found == [(version,)]:
                return version
        raise LedgerError(f"the ledger in {self.name} is not of format {FORMAT}")
