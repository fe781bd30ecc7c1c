"""A ledger in a schema of a PostgreSQL database, by psycopg: `safeselect[postgres]`.

    ledger = Ledger.create(PostgresStore("host=db dbname=privacy", schema="ledger"), {...})

- Every operation has its own connection, as with the file, so nothing is carried into a child.
- A writer takes the ledger's lock before anything is read; readers do not wait.
- A commit is on the server's disk before it returns; a server told not to wait for its disk is
  refused.
- Triggers forbid updates, deletions, truncation and rows out of order.  They stop mistakes; against
  whoever owns the schema only the chain of hashes and a head kept elsewhere help.  Give the role
  that releases no more than USAGE on the schema, SELECT and INSERT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, final

from safeselect._exact import describe
from safeselect.accounting import Journal, Row
from safeselect.errors import LedgerError, ParameterError

__all__ = ["PostgresStore"]

_FORMAT = 1
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
# A lock by the table's number ("SSL1" above it): a lock on the table itself would need the right to
# change and delete rows.
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
# By SQLSTATE, or its first two characters: what to tell the caller.
_PROBLEMS = {
    "55P03": "is locked by another writer: try again",
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
        schema: its name: lower-case letters, digits and underscores.
        wait: seconds to wait for another writer.

    Raises:
        ParameterError: not such a name, or psycopg is not installed.
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

    @contextmanager
    def create(self) -> Iterator[Journal]:
        """A new schema, with the first rows in it, in one transaction."""
        with self._transaction("READ COMMITTED") as connection:
            connection.execute(f"CREATE SCHEMA {self._schema}")
            for statement in _SCHEMA:
                connection.execute(statement)
            yield _Rows(connection, self.name)

    @contextmanager
    def writing(self) -> Iterator[Journal]:
        """The lock, then the block, then a durable commit."""
        # Read committed: what is read after the lock includes all that was committed before it.
        with self._transaction("READ COMMITTED") as connection:
            connection.execute(_LOCK)
            self._check_format(connection)
            yield _Rows(connection, self.name)

    @contextmanager
    def reading(self) -> Iterator[Journal]:
        """One consistent state."""
        with self._transaction("REPEATABLE READ, READ ONLY") as connection:
            self._check_format(connection)
            yield _Rows(connection, self.name)

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Any]:
        with self._told():
            connection = self._psycopg.connect(
                self._conninfo, autocommit=True, client_encoding="utf8"
            )
            try:
                connection.execute(f"BEGIN TRANSACTION ISOLATION LEVEL {mode}")
                # Nothing else is on the path: no other schema's table can stand in for ours.
                connection.execute(f"SET LOCAL search_path = {self._schema}, pg_temp")
                connection.execute("SET LOCAL synchronous_commit = on")
                connection.execute(f"SET LOCAL lock_timeout = '{self._wait}s'")
                if connection.execute("SHOW fsync").fetchone() != ("on",):
                    raise LedgerError(f"{self.name}: the server does not wait for its disk")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # The reason is on its way; without a commit the server rolls back in any case.
                with suppress(self._psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            finally:
                connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of psycopg in our words: its own quote rows and the connection."""
        try:
            yield
        except self._psycopg.Error as error:
            state = error.sqlstate or ""
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

    def last(self) -> Row | None:
        return self._one("SELECT * FROM records ORDER BY seq DESC LIMIT 1")

    def rows(self, first: int, count: int) -> list[Row]:
        query = "SELECT * FROM records WHERE seq >= %s ORDER BY seq LIMIT %s"
        return [self._row(values) for values in self._connection.execute(query, (first, count))]

    def total(self, scope: str) -> Row | None:
        query = "SELECT * FROM records WHERE total_of = %s ORDER BY seq DESC LIMIT 1"
        return self._one(query, scope)

    def has_nonce(self, nonce: str) -> bool:
        return self._one("SELECT * FROM records WHERE nonce = %s", nonce) is not None

    def is_settled(self, charge: int) -> bool:
        return self._one("SELECT * FROM records WHERE settles = %s", charge) is not None

    def append(self, row: Row) -> None:
        values = (row.seq, row.body, row.hash, row.signature, row.total_of, row.nonce, row.settles)
        self._connection.execute("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s)", values)

    def _one(self, query: str, *values: Any) -> Row | None:
        first = self._connection.execute(query, values).fetchone()
        return None if first is None else self._row(first)

    def _row(self, values: tuple[Any, ...]) -> Row:
        kinds = (int, str, str, str, str | None, str | None, int | None)
        if len(values) != len(kinds) or not all(
            isinstance(value, kind) for value, kind in zip(values, kinds, strict=True)
        ):
            raise LedgerError(f"a row of the ledger in {self._name} was changed")
        return Row(*values)
