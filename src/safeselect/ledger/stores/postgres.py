"""A ledger in a schema of a PostgreSQL database, by psycopg (the extra `postgres`).

    ledger = Ledger.create(PostgresStore("host=db dbname=privacy", schema="ledger"), {...})

- Every process replays and checks the rows, as with a file, and does not trust the server.  The
  server builds each record from arguments that it checks (`postgres_functions.py`): only the owner
  may write to a table, and roles execute functions, by their duty: reader, charger, approver.
- Each thread keeps one connection, or each transaction borrows one from a pool.  A forked child
  loses its parent's.
- A writer that nobody disturbs sends its record after the last one that it has seen: one way there
  and back.  The server refuses it if another record came between.  Then this writer reads without
  the lock what is missing, takes the lock, and does so for its next 20 records: it gets its turn.
  Whatever else is refused is decided anew under the lock.  Readers do not wait.
- A commit is on the server's disk before it returns.  A server that does not wait for its disk is
  refused.  So is a standby server: if it lags behind, that looks like a rollback.  A warning during
  the commit, for example that a standby was not waited for, is an error.
- If the reply to a commit is lost, the same rows are offered again, for the same places: then they
  are there once, or others are, or the error says that the charge may stand.
- Triggers stop mistakes of the owner.  Only signatures and a head kept elsewhere protect against an
  owner who means it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from select import select
from typing import Any, Literal, TypeVar, final
from weakref import finalize

from safeselect.errors import LedgerBusy, LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.store import Journal, Row, Torn
from safeselect.ledger.stores.postgres_functions import FORMAT, GRANTS, MOVED, schema_of
from safeselect.ledger.stores.turn import check_process, guard, pause
from safeselect.randomness.guard import Generation, generation
from safeselect.release.display import library

_SETTINGS = ("autocommit", "row_factory", "prepare_threshold")
_LOST: list[Any] = []


@final
class OwnPool:
    """The connections of a store that are not in use; a child leaves its parent's alone."""

    __slots__ = ("__weakref__", "_born", "_conninfo", "_idle", "_psycopg")

    def __init__(self, psycopg: Any, conninfo: str) -> None:
        self._psycopg, self._conninfo = psycopg, conninfo
        self._renew()

    def _renew(self) -> None:
        self._idle, self._born = list[Any](), generation()
        finalize(self, _close, self._idle, self._born)

    def getconn(self) -> Any:
        """Return the connection that was used last, or a new one."""
        if generation() != self._born:
            self._renew()
        with suppress(IndexError):
            while True:
                found = self._idle.pop()
                if not select([found], [], [], 0)[0]:
                    return found
                found.close()  # it has something to say: that the server ended it
        return self._psycopg.connect(self._conninfo, autocommit=True, client_encoding="utf8")

    def putconn(self, connection: Any) -> None:
        """Keep it for the next transaction, if it is open."""
        if not connection.closed and generation() == self._born:
            self._idle.append(connection)

    def close(self) -> None:
        """Close those that are not in use; the next use makes new ones."""
        _close(self._idle, self._born)


def _close(idle: list[Any], born: Generation) -> None:
    if generation() != born:
        _LOST.append(idle)  # a child does not end its parent's, and is not warned that it did not
        return
    while idle:
        with suppress(Exception):
            idle.pop().close()


@contextmanager
def borrowed(pool: Any, psycopg: Any) -> Iterator[tuple[Any, list[str]]]:
    """Yield a connection without a transaction, and a list of the server's warnings.

    It goes back with the settings that it had, and closed if its transaction did not end.

    Raises:
        LedgerBusy: the pool had none in time.
    """
    born, warnings = generation(), list[str]()

    def notice(said: Any) -> None:
        warnings.append(said.severity)

    try:
        connection = pool.getconn()
    except psycopg.OperationalError as error:
        if type(error).__name__ not in ("PoolTimeout", "TooManyRequests"):
            raise
        said = "the pool had no free connection in time; nothing was charged, try again"
        raise LedgerBusy(said) from None
    guard(connection)
    connection.add_notice_handler(notice)
    before = [getattr(connection, name) for name in _SETTINGS]
    try:
        if connection.info.encoding != "utf-8":
            raise LedgerError("the pool's connections must have client_encoding=utf8")
        # Nothing is prepared: another pool may be behind this one.
        for name, value in zip(_SETTINGS, (True, psycopg.rows.tuple_row, None), strict=True):
            setattr(connection, name, value)
        yield connection, warnings
    finally:
        if generation() == born:
            connection.remove_notice_handler(notice)
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                for name, value in zip(_SETTINGS, before, strict=True):
                    setattr(connection, name, value)
            else:
                connection.close()
            pool.putconn(connection)


class Lost(Exception):
    """The connection ended during a commit: what was sent may stand."""


class Moved(Exception):
    """What was decided without the lock must be decided with it."""


@final
class Rows:
    """The rows of a transaction, as a `Journal`; `append` keeps rows in `new`, to be sent.

    Args:
        connection: None where nothing is asked.
        last: the last row that was seen.
    """

    __slots__ = ("_ahead", "_connection", "_is_whole", "_schema", "last", "new")
    torn: Torn | None = None  # a transaction exists as a whole or not at all

    def __init__(self, connection: Any, schema: str, last: Row | None = None) -> None:
        self._connection, self._schema, self.last = connection, schema, last
        self.new: list[Row] = []
        self._ahead: list[Row] = []
        self._is_whole = False  # the end was reached: a reader far away does not run after writers

    def after(self, statement: str) -> list[Any]:
        """Return what a statement says; what follows the last row that was seen is read with it."""
        if self.last is None:
            return list(self._connection.execute(statement))
        rows = _ROWS.format(self._schema, self.last.seq, _AHEAD)
        said = self._connection.execute(f"{statement}; {rows}")
        found = said.fetchall()
        said.nextset()
        self._ahead = [Row(*values) for values in said]
        return list(found)

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a place on."""
        if self._connection is None:
            if self.last is None or first != self.last.seq:
                raise Moved
            return [self.last]
        if self._is_whole and self.last is not None and first == self.last.seq:
            return [self.last]
        found, self._ahead = self._ahead, []
        if found and found[0].seq == first:
            found, count = found[:count], min(count, _AHEAD)
        else:
            query = _ROWS.format(self._schema, "%s", "%s")
            found = [Row(*values) for values in self._connection.execute(query, (first, count))]
        where = f"in schema {self._schema} of PostgreSQL"
        if [row.seq for row in found] != list(range(first, first + len(found))):
            raise LedgerDamaged(f"record {first} or a later one is missing {where}")
        for row in found:
            if not all(isinstance(value, str) for value in (row.body, row.hash, row.signature)):
                raise LedgerDamaged(f"record {row.seq} {where} is not text")
        self.last = found[-1] if found else self.last
        self._is_whole = 0 < len(found) < count
        return found

    def append(self, row: Row) -> Row:
        """Keep a row until the work is done."""
        self.new.append(row)
        self.last = row
        return row


def send(connection: Any, schema: str, row: Row, wait: int) -> None:
    """Have the server build the record of a row from its fields, and write it.

    Raises:
        LedgerError: a server keeps no records of this kind.
    """
    record = json.loads(row.body)
    kind, ledger = record["kind"], record["ledger"]
    if kind in _OWNERS:  # who may write to tables
        insert = f"INSERT INTO {schema}.records VALUES (%s, %s, %s, %s)"  # noqa: S608
        connection.execute(insert, (row.seq, row.body, row.hash, row.signature))
        update = f"""UPDATE {schema}.state SET count = %s, last = %s, ledger = %s, signed = %s,
            clock = coalesce(clock, %s)"""  # noqa: S608
        values = (row.seq + 1, row.hash, ledger, row.signature != "", record.get("clock"))
        connection.execute(update, values)
        return
    if kind not in _FUNCTIONS:
        raise LedgerError(f"a server does not store records of kind {kind!r}")
    jsonb = import_module("psycopg.types.json").Jsonb
    known = _KNOWN if _FUNCTIONS[kind] == "settle" else _KNOWN | {"kind"}
    fields = {name: value for name, value in record.items() if name not in known}
    fields |= {"wait": wait, "hash": row.hash, "signature": row.signature}
    named = ", ".join(f'"{name}" => %({name})s' for name in fields)
    connection.execute(
        f"SELECT {schema}.{_FUNCTIONS[kind]}({named})",
        {name: jsonb(v) if isinstance(v, (dict, list)) else v for name, v in fields.items()},
    )


_OWNERS = ("created", "repaired", "corrected")
_KNOWN = {"schema", "ledger", "seq"}  # to the server
_FUNCTIONS = {
    "charged": "charge",
    **dict.fromkeys(("released", "settled", "aborted"), "settle"),
    "scope": "open_scope",
    "raised": "raise_limit",
    "key": "replace_key",
}

T = TypeVar("T")

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_IS_OWNER = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"
_OLDEST = 130000  # gcd of numeric
_ROWS = """SELECT seq, body, hash, signature FROM {}.records
    WHERE seq >= {} ORDER BY seq LIMIT {}"""
_AHEAD = 100
_TRIES = 3
_QUEUED = 20
_BUSY = "55P03"
_UNSAFE = "cannot be used: the server is a standby, or runs with fsync off"
# What to say of a failure, by SQLSTATE or its first two characters, and whether to try again.
_PROBLEMS = {
    "": ("cannot be reached, or the connection was lost", True),
    "08": ("cannot be reached, or the connection was lost", True),
    "40": ("was used by a transaction that conflicts with this one", True),
    "53": ("could not be written: the server is out of space, memory or connections", True),
    _BUSY: ("is locked by another writer", True),
    "57": ("cannot be used now: the server canceled the query, or is starting or stopping", True),
    "25006": ("cannot be written: the server is read-only", False),
    "42501": ("cannot be used: the role lacks a permission", False),
    "3F000": ("does not exist; create it with Ledger.create", False),
    "42P01": ("does not exist or is another's; use Ledger.create with a new schema", False),
    "42P06": ("already exists; open it", False),
    "42883": (f"is not of format {FORMAT}", False),
    "23": ("rejected a row that contradicts earlier rows", False),
    "P0001": ("rejected a row that contradicts earlier rows", False),
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
        self, conninfo: str | None = None, *, schema: str, wait: int = 30, pool: Any = None
    ) -> None:
        if (conninfo is None) == (pool is None):
            raise ParameterError("give either conninfo or pool=")
        if conninfo is not None and not isinstance(conninfo, str):
            raise ParameterError("conninfo must be a libpq connection string")
        if pool is not None and not all(
            callable(getattr(pool, name, None)) for name in ("getconn", "putconn")
        ):
            raise ParameterError(f"pool must be a psycopg_pool.ConnectionPool: {describe(pool)}")
        if not isinstance(schema, str) or not _NAME.fullmatch(schema):
            raise ParameterError(f"schema must be a plain lower-case name, got {describe(schema)}")
        self._psycopg: Any = library("psycopg", "postgres")
        self._schema, self._wait = schema, wait
        self._pool = OwnPool(self._psycopg, conninfo) if conninfo is not None else pool
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

    @property
    def is_busy(self) -> bool:
        """Whether others write too, so that it pays to read before the lock is taken."""
        return self._queued > 0

    @property
    def _begin_charge(self) -> str:
        return f"SELECT {self._schema}.begin_charge({self._wait})"

    def create(self, work: Callable[[Journal], T]) -> T:
        """Make a schema with the first rows in it, in one transaction.

        The role of the connection owns it.  Let that be one that nobody logs in as, for example
        with `options='-c role=ledger_owner'` in conninfo.
        """
        with self._translated(), self._transaction() as connection:
            if connection.info.server_version < _OLDEST:
                raise LedgerError("a ledger requires PostgreSQL 13 or later")
            if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
                raise LedgerError("a ledger requires a database with encoding UTF8")
            connection.execute(f"CREATE SCHEMA {self._schema}")
            connection.execute(f"SET LOCAL search_path = {self._schema}, pg_temp")
            for statement in schema_of(self._schema):
                connection.execute(statement)
            journal = Rows(connection, self._schema)
            done = work(journal)
            self._send(connection, journal.new)
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
        with self._translated(), self._transaction() as connection:
            self._check(Rows(connection, self._schema))
            # The server only warns of a grant that grants nothing.
            if connection.execute(_IS_OWNER, (self._schema,)).fetchone() != (True,):
                raise LedgerError(f"only the owner of {self.name} can grant rights")
            schema = self._schema
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            connection.execute(f"GRANT SELECT ON {schema}.records, {schema}.format TO {role}")
            for function in GRANTS[duty]:
                connection.execute(f"GRANT EXECUTE ON FUNCTION {schema}.{function} TO {role}")

    def write(self, work: Callable[[Journal], T]) -> T:
        """Run the work, and commit its rows durably: without the lock, while nobody else writes."""
        born = generation()
        with self._translated():
            if not self._queued:
                with suppress(Moved):
                    return self._written_alone(work, born)
            self._queued = max(0, self._queued - 1)
            while True:
                try:
                    # Read committed: what is read after the lock is all that was committed before.
                    with self._transaction(sent := list[Row]()) as connection:
                        journal = Rows(connection, self._schema, self._last)
                        journal.after(self._begin_charge)
                        done = work(journal)
                        sent += journal.new
                    self._last = journal.last
                    return done
                except Lost:
                    if not journal.new or self._are_there(journal.new, born):
                        return done

    def _written_alone(self, work: Callable[[Journal], T], born: Generation) -> T:
        """Run the work on what was seen, and send its row, in a transaction of one statement.

        Raises:
            Moved: nothing was written; whatever the reason, it is found again under the lock.
        """
        journal, is_lost = Rows(None, self._schema, self._last), False
        try:
            done = work(journal)
        except Exception:  # noqa: BLE001 - it may follow from what another process changed
            raise Moved from None
        if len(journal.new) != 1 or json.loads(journal.new[0].body)["kind"] in _OWNERS:
            raise Moved
        with borrowed(self._pool_here(), self._psycopg) as (connection, warnings):
            check_process(born)
            try:
                self._send(connection, journal.new)
            except self._psycopg.Error as error:
                is_lost = connection.closed
                if error.sqlstate == _BUSY:
                    raise
                if not is_lost:
                    self._queued = _QUEUED if error.sqlstate == MOVED else 0
                    raise Moved from None
            self._check_warnings(warnings)
        if is_lost and not self._are_there(journal.new, born):
            raise Moved
        self._last = journal.last
        return done

    def _check_warnings(self, warnings: list[str]) -> None:
        if warnings:
            raise LedgerError(
                f"the ledger in {self.name}: the server gave a warning on commit; nothing is "
                "released, and the charge may remain"
            )

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on the rows that were committed: their order is one, and they only grow."""
        with self._translated(), borrowed(self._pool_here(), self._psycopg) as (connection, _):
            journal = Rows(connection, self._schema, self._last)
            self._check(journal)
            done = work(journal)
        self._last = journal.last
        return done

    def close(self) -> None:
        """Close the connections of all threads, but no pool; the next use makes new ones."""
        if isinstance(self._pool, OwnPool):
            self._pool.close()

    def _send(self, connection: Any, rows: Sequence[Row]) -> None:
        for row in rows:
            send(connection, self._schema, row, self._wait)

    def _are_there(self, rows: list[Row], born: Generation) -> bool:
        """Return whether rows were written whose commit had no reply; offer them again if not.

        Only one row can follow another, so both offers cannot stand.
        """
        for _ in range(_TRIES):
            check_process(born)
            with suppress(Lost, self._psycopg.Error, LedgerError):
                with self._transaction() as connection:
                    connection.execute(self._begin_charge)
                    there = Rows(connection, self._schema).rows(rows[0].seq, 1)
                    self._send(connection, [] if there else rows)
                return not there or there[0].hash == rows[0].hash
            pause()
        raise LedgerError(
            f"the connection to the ledger in {self.name} was lost, and the state of the record "
            "is unknown: nothing is released, and the charge may remain"
        )

    def _pool_here(self) -> Any:
        """Return the pool, unless it is the parent's."""
        if generation() != self._born and not isinstance(self._pool, OwnPool):
            raise LedgerError(
                "this process was forked after the store received its pool; create both again in "
                "the child"
            )
        return self._pool

    @contextmanager
    def _transaction(self, sent: Sequence[Row] = ()) -> Iterator[Any]:
        """Yield a connection; these rows are sent with the commit."""
        born, is_sent = generation(), False
        with borrowed(self._pool_here(), self._psycopg) as (connection, warnings):
            try:
                connection.execute("BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED")
                yield connection
                check_process(born)
                warnings.clear()
                is_sent = True
                together = sent and self._psycopg.Pipeline.is_supported()
                with connection.pipeline() if together else nullcontext():
                    self._send(connection, sent)
                    done = connection.execute("COMMIT")
                self._check_warnings(warnings + ["ROLLBACK"] * (done.statusmessage != "COMMIT"))
            except BaseException as error:
                # The error is already being raised; without a commit the server rolls back anyway.
                if generation() == born:
                    with suppress(self._psycopg.Error):
                        connection.execute("ROLLBACK")
                if is_sent and isinstance(error, self._psycopg.Error) and connection.closed:
                    raise Lost from None
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Replace the errors of psycopg, which quote rows and the connection, by ours."""
        where = f"the ledger in {self.name}"
        try:
            yield
        except Lost:
            raise LedgerError(
                f"{where}: the connection was lost; the change may have been made"
            ) from None
        except self._psycopg.Error as error:
            state = error.sqlstate or ""
            found = _PROBLEMS.get(state) or _PROBLEMS.get(state[:2])
            if found is None or not (state or isinstance(error, self._psycopg.OperationalError)):
                found = "cannot be used", False
            kind = LedgerBusy if state == _BUSY else LedgerError
            raised = kind(
                f"{where} {found[0]}: nothing was charged{', try again' if found[1] else ''}"
                + (f" (SQLSTATE {state})" if state else "")
            )
            raised.sqlstate, raised.try_again = state or None, found[1]
            raise raised from None

    def _check(self, journal: Rows) -> None:
        query = f"""SELECT version, current_setting('fsync') = 'on' AND NOT pg_is_in_recovery()
            FROM {self._schema}.format"""  # noqa: S608
        found = journal.after(query)
        if [version for version, _ in found] != [FORMAT]:
            raise LedgerError(f"the ledger in {self.name} does not have format {FORMAT}")
        if not found[0][1]:
            raise LedgerError(f"the ledger in {self.name} {_UNSAFE}")
