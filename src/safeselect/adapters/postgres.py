"""A ledger in a schema of a PostgreSQL database, by psycopg: `safeselect[postgres]`.

    ledger = Ledger.create(PostgresStore("host=db dbname=privacy", schema="ledger"), {...})

- Every process replays and checks the rows, as with a file.  The columns beside the record are for
  the server's constraints and for people; the library does not trust them.
- Every operation has its own connection, which a forked child loses.
- A writer takes the ledger's lock before it reads; readers do not wait.
- A commit is on the server's disk before it returns.  A server that does not wait for its disk is
  refused.  So is a standby server: if it lags behind, that looks like a rollback.  A warning during
  the commit, for example that a standby was not waited for, is an error.
- Triggers forbid updates, deletions, truncation and rows out of order.  They stop mistakes.  Only
  signatures and a head kept elsewhere protect against somebody who may write to the schema.  Give
  the role that releases no more than USAGE on the schema, SELECT and INSERT.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar, final

from safeselect.errors import LedgerBusy, LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger import Journal, Row, Torn
from safeselect.ledger.stores.turn import guard
from safeselect.randomness.memory import generation

__all__ = ["PostgresStore"]

T = TypeVar("T")

_FORMAT = 1
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
# An advisory lock on the table's number, below "SSL1": a lock on the table itself would need the
# right to change and delete rows.
_LOCK = "SELECT pg_advisory_xact_lock((1397967921::int8 << 32) | 'records'::regclass::oid::int8)"
_SCHEMA = (
    "CREATE TABLE format (version integer NOT NULL)",
    f"INSERT INTO format VALUES ({_FORMAT})",  # noqa: S608 - a constant of ours
    """CREATE TABLE records (
    seq bigint PRIMARY KEY CHECK (seq >= 0),
    body text NOT NULL,
    hash text NOT NULL UNIQUE,
    signature text NOT NULL,
    total_of text,
    nonce text UNIQUE,
    settles bigint UNIQUE
)""",
    "CREATE INDEX totals ON records (total_of, seq)",
    """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$BEGIN RAISE EXCEPTION 'records are never changed or removed'; END$$""",
    """CREATE FUNCTION append() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), -1) + 1 FROM records) THEN
        RAISE EXCEPTION 'records are only appended';
    END IF;
    RETURN NEW;
END$$""",
    """CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON records
FOR EACH STATEMENT EXECUTE FUNCTION refuse()""",
    """CREATE TRIGGER only_appended BEFORE INSERT ON records
FOR EACH ROW EXECUTE FUNCTION append()""",
)
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
        schema: the schema's name: lower-case letters, digits and underscores.
        wait: seconds to wait for another writer.

    Raises:
        ParameterError: an argument is wrong, or psycopg is not installed.
    """

    __slots__ = ("_conninfo", "_psycopg", "_schema", "_wait")

    def __init__(self, conninfo: str, *, schema: str, wait: int = 30) -> None:
        if not isinstance(conninfo, str):
            raise ParameterError("conninfo must be text in libpq's words")
        if not isinstance(schema, str) or not _NAME.fullmatch(schema):
            raise ParameterError(f"schema must be a plain lower-case name, got {describe(schema)}")
        try:
            self._psycopg: Any = import_module("psycopg")
        except ImportError:
            raise ParameterError("PostgreSQL needs psycopg: safeselect[postgres]") from None
        self._conninfo, self._schema, self._wait = conninfo, schema, wait

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
        """Make a schema with the first rows in it, in one transaction."""
        with self._transaction("READ COMMITTED") as connection:
            connection.execute(f"CREATE SCHEMA {self._schema}")
            for statement in _SCHEMA:
                connection.execute(statement)
            return work(_Rows(connection, self.name))

    def write(self, work: Callable[[Journal], T]) -> T:
        """Take the lock, run the work, and commit durably."""
        # Read committed: reads after the lock see everything that was committed before it.
        with self._transaction("READ COMMITTED") as connection:
            connection.execute(_LOCK)
            self._check_format(connection)
            return work(_Rows(connection, self.name))

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on one consistent state."""
        with self._transaction("REPEATABLE READ, READ ONLY") as connection:
            self._check_format(connection)
            return work(_Rows(connection, self.name))

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Any]:
        born, warnings = generation(), []
        with self._told():
            connection = self._psycopg.connect(
                self._conninfo, autocommit=True, client_encoding="utf8"
            )
            guard(connection)
            connection.add_notice_handler(lambda notice: warnings.append(notice.severity))
            try:
                connection.execute(f"BEGIN TRANSACTION ISOLATION LEVEL {mode}")
                # Only our schema is on the path: no other schema's table can replace ours.
                connection.execute(f"SET LOCAL search_path = {self._schema}, pg_temp")
                connection.execute("SET LOCAL synchronous_commit = on")
                connection.execute(f"SET LOCAL lock_timeout = '{self._wait}s'")
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
                warnings.clear()
                done = connection.execute("COMMIT")
                if warnings or done.statusmessage != "COMMIT":
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
            finally:
                connection.close()

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

    def _check_format(self, connection: Any) -> None:
        if connection.execute("SELECT version FROM format").fetchall() != [(_FORMAT,)]:
            raise LedgerError(f"the ledger in {self.name} is not of format {_FORMAT}")


@final
class _Rows:
    """The rows, as a `Journal`."""

    __slots__ = ("_connection", "_name")

    def __init__(self, connection: Any, name: str) -> None:
        self._connection = connection
        self._name = name

    @property
    def torn(self) -> Torn | None:
        """None: a transaction exists as a whole or not at all."""
        return None

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a place on."""
        columns = "seq, body, hash, signature"
        query = f"SELECT {columns} FROM records WHERE seq >= %s ORDER BY seq LIMIT %s"  # noqa: S608
        found = [Row(*values) for values in self._connection.execute(query, (first, count))]
        if [row.seq for row in found] != list(range(first, first + len(found))):
            raise LedgerDamaged(f"a record from {first} on is missing in {self._name}")
        for row in found:
            if not all(isinstance(value, str) for value in (row.body, row.hash, row.signature)):
                raise LedgerDamaged(f"record {row.seq} in {self._name} is not text")
        return found

    def append(self, row: Row) -> Row:
        """Add a row, with the columns that the server's constraints check."""
        record = json.loads(row.body)
        scope = record.get("scope") if record["kind"] == "scope" else None
        if record["kind"] == "charged":
            scope = record["charges"][0]["scope"]
        settles = int(record["charge"]) if "charge" in record else None
        values = (row.seq, row.body, row.hash, row.signature, scope, record.get("nonce"), settles)
        self._connection.execute("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s)", values)
        return row
