"""A ledger in a schema of a PostgreSQL database, by psycopg (the extra `postgres`).

    ledger = Ledger.create(PostgresStore("host=db dbname=privacy", schema="ledger"), {...})

- Every process replays and checks the rows, as with a file, and does not trust the server.  The
  server builds each record from arguments that it checks (`postgres_functions.py`): only the owner
  may write to a table, and roles execute functions, by their duty: reader, charger, approver.
- Each thread keeps one connection, or each transaction borrows one from a pool.  A forked child
  loses its parent's.
- A writer that nobody disturbs sends its record after the last one that it has seen: one way there
  and back.  The server refuses it if another record came between.  Then this writer takes the lock
  first, and does so for its next 20 records: it gets its turn.  Whatever else is refused is decided
  anew under the lock.  Readers do not wait.
- A commit is on the server's disk before it returns.  A server that does not wait for its disk is
  refused.  So is a standby server: if it lags behind, that looks like a rollback.  A warning during
  the commit, for example that a standby was not waited for, is an error.
- If the reply to a commit is lost, the same rows are offered again, for the same places: then they
  are there once, or others are, or the error says that the charge may stand.
- Triggers stop mistakes of the owner.  Only signatures and a head kept elsewhere protect against an
  owner who means it.
"""

from __future__ import annotations

import re
import selectors
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, final, runtime_checkable
from weakref import finalize

from safeselect.errors import LedgerBusy, LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe, integer
from safeselect.ledger.store import NOTHING, Journal, Row, Torn
from safeselect.ledger.stores.postgres_functions import FORMAT, GRANTS, MOVED, schema_of
from safeselect.ledger.stores.turn import check_process, guard, pause
from safeselect.randomness.guard import Generation, generation
from safeselect.release.display import library

Psycopg: TypeAlias = Any
"""A connection, cursor or notice of psycopg, whose own types take none but literal queries."""

_LOST: list[list[Psycopg]] = []
# Unlike select, poll takes descriptors above 1023; unlike epoll, it needs none.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


@runtime_checkable
class Connections(Protocol):
    """Lends connections, as a `psycopg_pool.ConnectionPool` does."""

    def getconn(self) -> Psycopg: ...

    def putconn(self, connection: Psycopg) -> None: ...


@final
class OwnPool:
    """The connections of a store that are not in use; a child leaves its parent's alone."""

    __slots__ = ("__weakref__", "_born", "_conninfo", "_idle", "_psycopg")

    def __init__(self, psycopg: ModuleType, conninfo: str) -> None:
        self._psycopg, self._conninfo = psycopg, conninfo
        self._renew()

    def _renew(self) -> None:
        self._idle, self._born = list[Psycopg](), generation()
        finalize(self, _close, self._idle, self._born)

    def getconn(self) -> Psycopg:
        """Return the connection that was used last, or a new one."""
        if generation() != self._born:
            self._renew()
        with suppress(IndexError):
            while True:
                found = self._idle.pop()
                with _Selector() as selector:
                    selector.register(found, selectors.EVENT_READ)
                    if not selector.select(0):
                        return found
                found.close()  # it has something to say: that the server ended it
        return self._psycopg.connect(self._conninfo, autocommit=True, client_encoding="utf8")

    def putconn(self, connection: Psycopg) -> None:
        """Keep it for the next transaction, if it is open."""
        if not connection.closed and generation() == self._born:
            self._idle.append(connection)

    def close(self) -> None:
        """Close those that are not in use; the next use makes new ones."""
        _close(self._idle, self._born)


def _close(idle: list[Psycopg], born: Generation) -> None:
    if generation() != born:
        _LOST.append(idle)  # a child does not end its parent's, and is not warned that it did not
        return
    while idle:
        with suppress(Exception):
            idle.pop().close()


@contextmanager
def borrowed(pool: Connections, psycopg: ModuleType) -> Iterator[tuple[Psycopg, list[str]]]:
    """Yield a cursor of a connection without a transaction, and a list of the server's warnings.

    The connection goes back as it was, and closed if its transaction did not end.

    Raises:
        LedgerBusy: the pool had none in time.
    """
    born, warnings = generation(), list[str]()

    def notice(said: Psycopg) -> None:
        if said.severity_nonlocalized == "WARNING":
            warnings.append(said.severity)

    try:
        connection = pool.getconn()
    except psycopg.OperationalError as error:
        if type(error).__name__ not in ("PoolTimeout", "TooManyRequests"):
            raise
        said = "the pool had no free connection in time; nothing was charged, so try again"
        raise LedgerBusy(said) from None
    guard(connection)
    connection.add_notice_handler(notice)
    is_own = isinstance(pool, OwnPool)
    try:
        if not is_own:
            before, connection.autocommit = connection.autocommit, True
            if connection.info.encoding != "utf-8":
                raise LedgerError("the pool's connections must have client_encoding=utf8")
        # Values are sent as literals: a pool behind this one would forget what was prepared.
        yield psycopg.ClientCursor(connection, row_factory=psycopg.rows.tuple_row), warnings
    finally:
        if generation() == born:
            connection.remove_notice_handler(notice)
            if connection.pgconn.transaction_status:
                connection.close()
            elif not is_own:
                connection.autocommit = before
            pool.putconn(connection)


class Lost(Exception):
    """The connection ended during a commit: what was sent may stand."""


class Moved(Exception):
    """What was decided without the lock must be decided with it."""


_ROWS = """SELECT found.*, version, current_setting('fsync') = 'on' AND NOT pg_is_in_recovery()
    FROM {0}.format LEFT JOIN LATERAL (SELECT seq, body, hash, signature FROM {0}.records
    WHERE seq >= {1} ORDER BY seq LIMIT {2}) AS found ON true"""


@final
class Rows:
    """The rows of a transaction, as a `Journal`; `append` keeps rows in `new`, to be sent.

    Args:
        cursor: None where nothing is asked.
        last: the last row that was seen.
        query: reads rows, and perhaps takes the lock if they are few.
    """

    __slots__ = ("_cursor", "_is_whole", "_query", "_schema", "last", "new")
    torn: Torn | None = None  # a transaction exists as a whole or not at all

    def __init__(
        self, cursor: Psycopg, schema: str, last: Row | None = None, query: str = _ROWS
    ) -> None:
        self._cursor, self._schema, self.last = cursor, schema, last
        self.new: list[Row] = []
        self._query = query
        # Whether the end was reached: a reader far away does not run after writers.
        self._is_whole = cursor is None

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a place on."""
        if self._is_whole and self.last is not None and first == self.last.seq:
            return [self.last]
        if self._cursor is None:
            raise Moved
        count = min(count, _MANY)
        said = self._cursor.execute(self._query.format(self._schema, first, count))
        while said.nextset():
            pass
        values = said.fetchall()
        where = f"in schema {self._schema} of PostgreSQL"
        if self._query is _ROWS:
            if not values or any(version != FORMAT for *_, version, _ in values):
                raise LedgerError(f"the ledger {where} does not have format {FORMAT}")
            if not values[0][-1]:
                raise LedgerError(f"the ledger {where} {_UNSAFE}")
        found = [Row(*row[:4]) for row in values if row[0] is not None]
        if [row.seq for row in found] != list(range(first, first + len(found))):
            raise LedgerDamaged(f"record {first} or a later record {where} is missing")
        for row in found:
            if not all(isinstance(value, str) for value in (row.body, row.hash, row.signature)):
                raise LedgerDamaged(f"record {row.seq} {where} is not stored as strings")
        self._query = self._query.removeprefix(_BEGIN)
        self._is_whole = 0 < len(found) < count
        self.last = found[-1] if found else self.last
        return found

    def append(self, row: Row) -> Row:
        """Keep a row until the work is done."""
        self.new.append(row)
        self.last = row
        return row


def send(cursor: Psycopg, schema: str, rows: Sequence[Row], wait: int, end: str = "") -> str:
    """Have the server check the records of rows, and write them: in one way there and back.

    Args:
        end: a last statement.  Without a transaction they are all committed at once.

    Returns:
        str: what the server says of the last statement.

    Raises:
        LedgerError: a server keeps no records of this kind.
    """
    calls, values = list[str](), list[object]()
    for row in rows:
        kind = _KIND.search(row.body)  # the server refuses the record of another kind
        if kind is None or kind[1] not in _FUNCTIONS:
            raise LedgerError("a ledger in PostgreSQL cannot store records of this kind")
        calls.append(f"{schema}.{_FUNCTIONS[kind[1]]}(%s, %s, %s, %s)")
        values += [wait, row.body, row.hash, row.signature]
    groups = (calls[start : start + _MANY] for start in range(0, len(calls), _MANY))
    statements = ["SELECT " + ", ".join(group) for group in groups]
    done = cursor.execute("; ".join(filter(None, [*statements, end])), values or None)
    while done.nextset():
        pass
    return str(done.statusmessage)


_KIND = re.compile(r'"kind":"([a-z]+)"')
_FUNCTIONS = {
    **dict.fromkeys(("created", "repaired", "corrected"), "note"),
    "charged": "charge",
    **dict.fromkeys(("released", "settled", "aborted"), "settle"),
    "scope": "open_scope",
    "raised": "raise_limit",
    "key": "replace_key",
}

T = TypeVar("T")

_BEGIN = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED; "
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_IS_OWNER = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"
_OLDEST = 130000  # gcd of numeric
_LOCK = "SELECT seq, body, hash, signature FROM {{0}}.begin_charge({{1}}, {{2}}, {0})"
_TRIES = 3
_MANY = 100  # rows that are read or written by one statement; a full read takes no lock
_QUEUED = 20
_BUSY = ("55P03", "57014")  # a lock was not there in time, or the server canceled the wait
_UNSAFE = "cannot be used: the server is a standby, or runs with fsync off"
# What to say of a failure, by SQLSTATE or its first two characters, and whether to try again.
_PROBLEMS = {
    **dict.fromkeys(("", "08"), ("cannot be reached, or the connection was lost", True)),
    "40": ("was used by a transaction that conflicts with this one", True),
    "53": ("could not be written: the server is out of space, memory or connections", True),
    "55P03": ("is locked by another writer", True),
    "57014": ("is locked by another writer, or the server canceled a slow query", True),
    "57": ("cannot be used now: the server is starting or stopping", True),
    "25006": ("cannot be written: the server is read-only", False),
    "42501": ("cannot be used: the role lacks a permission", False),
    "3F000": ("does not exist; create it with Ledger.create", False),
    "42P01": ("does not exist or is another's; use Ledger.create with a new schema", False),
    "42P06": ("already exists; open it", False),
    "42601": ("cannot be used: its name is a reserved word of SQL; choose another schema", False),
    **dict.fromkeys(("42703", "42883"), (f"does not have format {FORMAT}", False)),
    **dict.fromkeys(("23", "P0001"), ("rejected a row that contradicts earlier rows", False)),
    "SL": (_UNSAFE, False),
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

    __slots__ = ("_born", "_last", "_pool", "_psycopg", "_queued", "_schema", "_wait")

    def __init__(
        self,
        conninfo: str | None = None,
        *,
        schema: str,
        wait: int = 30,
        pool: Connections | None = None,
    ) -> None:
        if (conninfo is None) == (pool is None):
            raise ParameterError("pass either conninfo or pool")
        if conninfo is not None and not isinstance(conninfo, str):
            raise ParameterError("conninfo must be a libpq connection string")
        if pool is not None and not isinstance(pool, Connections):
            raise ParameterError(f"pool must be a psycopg ConnectionPool, got {describe(pool)}")
        if not isinstance(schema, str) or not _NAME.fullmatch(schema):
            raise ParameterError(f"schema must be a plain lower-case name, got {describe(schema)}")
        self._psycopg: ModuleType = library("psycopg", "postgres")
        self._schema, self._wait = schema, integer(wait, "wait", minimum=1, maximum=10**6)
        self._pool = OwnPool(self._psycopg, conninfo or "") if pool is None else pool
        self._born = generation()
        self._last: Row | None = None
        self._queued = 0  # for how many further records the lock is taken first

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
        with self._translated(), self._transaction(begin=_BEGIN) as cursor:
            if cursor.connection.info.server_version < _OLDEST:
                raise LedgerError("a ledger requires PostgreSQL 13 or later")
            if cursor.execute("SHOW server_encoding").fetchone() != ("UTF8",):
                raise LedgerError("a ledger requires a database with encoding UTF8")
            cursor.execute(f"CREATE SCHEMA {self._schema}")
            cursor.execute(f"SET LOCAL search_path = {self._schema}, pg_temp")
            for statement in schema_of(self._schema):
                cursor.execute(statement)
            journal = Rows(cursor, self._schema)
            done = work(journal)
            send(cursor, self._schema, journal.new, self._wait)
        return done

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
        with self._translated(), self._transaction(begin=_BEGIN) as cursor:
            Rows(cursor, self._schema).rows(0, 1)
            # The server only warns of a grant that grants nothing.
            if cursor.execute(_IS_OWNER, (self._schema,)).fetchone() != (True,):
                raise LedgerError(f"only the owner of {self.name} can grant privileges")
            schema = self._schema
            cursor.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            cursor.execute(f"GRANT SELECT ON {schema}.records, {schema}.format TO {role}")
            for function in GRANTS[duty]:
                cursor.execute(f"GRANT EXECUTE ON FUNCTION {schema}.{function} TO {role}")

    def write(self, work: Callable[[Journal], T]) -> T:
        """Run the work, and commit its rows durably: without the lock, while nobody else writes.

        After a lost reply it is run again on all rows, under the lock, for which an offer that the
        server still has must end first.
        """
        born, lost = generation(), 0
        # Read committed: what is read after the lock is all that was committed before.
        lock = _BEGIN + _LOCK.format(self._wait)
        with self._translated():
            while True:
                is_alone, sent = False, list[Row]()
                try:
                    with self._transaction(sent) as cursor:
                        is_alone, self._queued = not self._queued, max(0, self._queued - 1)
                        here = None if is_alone else cursor
                        journal = Rows(here, self._schema, self._last, lock)
                        done = work(journal)
                        if is_alone and not journal.new:
                            raise Moved  # a refusal is told of all records
                        sent += journal.new
                except Exception as error:
                    check_process(born)
                    state = getattr(error, "sqlstate", None)
                    is_refused = not sent or isinstance(error, self._psycopg.Error)
                    if isinstance(error, Lost) or (
                        lost and isinstance(error, (self._psycopg.Error, LedgerBusy))
                    ):
                        lost += 1
                        if lost > _TRIES:
                            raise LedgerError(
                                f"the connection to the ledger in {self.name} was lost, and the "
                                "state of the record is unknown: nothing is released, and the "
                                "charge may remain"
                            ) from None
                        pause()
                    elif not is_alone or not is_refused or state in _BUSY:
                        raise
                    # Whatever the reason, it is found again under the lock.
                    self._queued = _QUEUED if state == MOVED else max(1, self._queued)
                else:
                    self._last = journal.last
                    return done

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on the rows that were committed: their order is one, and they only grow."""
        with self._translated(), borrowed(self._pool_here(), self._psycopg) as (cursor, _):
            journal = Rows(cursor, self._schema, self._last)
            done = work(journal)
        self._last = journal.last
        return done

    def close(self) -> None:
        """Close the connections of all threads, but no pool; the next use makes new ones."""
        if isinstance(self._pool, OwnPool):
            self._pool.close()

    def _pool_here(self) -> Connections:
        """Return the pool, unless it is the parent's."""
        if generation() != self._born and not isinstance(self._pool, OwnPool):
            raise LedgerError(
                "this process was forked after the store received its pool; create a new pool and "
                "a new store in the child process"
            )
        return self._pool

    @contextmanager
    def _transaction(self, sent: Sequence[Row] = (), begin: str = "") -> Iterator[Psycopg]:
        """Yield a cursor; these rows are sent with the commit, if there are any.

        Args:
            begin: begins the transaction; without it, nothing is begun before the rows are sent.
        """
        born, is_sent = generation(), False
        with borrowed(self._pool_here(), self._psycopg) as (cursor, warnings):
            there = cursor.connection.pgconn  # its status is 0 where no transaction was begun
            try:
                if begin:
                    cursor.execute(begin)
                yield cursor
                check_process(born)
                end = "COMMIT" if there.transaction_status else ""
                if sent or end:
                    warnings.clear()
                    is_sent = True
                    status = send(cursor, self._schema, sent, self._wait, end)
                    if warnings or not status.startswith(end):
                        raise LedgerError(
                            f"the server of the ledger in {self.name} reported a warning or "
                            "did not commit; nothing is released, and the charge may remain"
                        )
            except BaseException as error:
                # The error is already being raised; without a commit the server rolls back anyway.
                if generation() == born and there.transaction_status:
                    with suppress(self._psycopg.Error):
                        cursor.execute("ROLLBACK")
                if is_sent and isinstance(error, self._psycopg.Error) and cursor.connection.closed:
                    raise Lost from None
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Replace the errors of psycopg, which quote rows and the connection, by ours."""
        where = f"the ledger in {self.name}"
        try:
            yield
        except Lost:
            raise LedgerError(f"{where} was cut off; the change may have been made") from None
        except self._psycopg.Error as error:
            state = error.sqlstate or ""
            found = _PROBLEMS.get(state) or _PROBLEMS.get(state[:2])
            if found is None or not (state or isinstance(error, self._psycopg.OperationalError)):
                found = "cannot be used", False
            kind = LedgerBusy if state in _BUSY else LedgerError
            said = f"{where} {found[0]}{f' (SQLSTATE {state})' if state else ''}{NOTHING}"
            raised = kind(f"{said}, so try again" if found[1] else said)
            raised.sqlstate, raised.try_again = state or None, found[1]
            raise raised from None
