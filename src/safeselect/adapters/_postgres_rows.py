"""A connection to PostgreSQL, and the rows of a ledger on it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, final
from weakref import finalize

from safeselect.errors import LedgerDamaged, LedgerError
from safeselect.ledger import Row, Torn
from safeselect.ledger.stores.turn import guard
from safeselect.randomness.memory import Generation, generation

OLD_FORMAT = 1
_OWNERS = ("scope", "raised", "key")


@final
class Kept:
    """A connection that its thread keeps for the next transaction."""

    __slots__ = ("__weakref__", "_born", "_end", "connection", "warnings")

    def __init__(self, connection: Any) -> None:
        guard(connection)
        self.connection, self._born = connection, generation()
        self.warnings = said = list[str]()
        # Closed with its thread or its store; no reference to `self` may delay that.
        self._end = finalize(self, _close, connection, self._born)
        connection.add_notice_handler(lambda notice: said.append(notice.severity))

    def is_usable(self, status: object = None) -> bool:
        """Whether it belongs to this process and is open; in this status of libpq's, if given."""
        if generation() != self._born or self.connection.closed:
            return False
        return status is None or self.connection.info.transaction_status == status

    def close(self) -> None:
        """Close it; a child leaves its parent's alone."""
        self._end()


def _close(connection: Any, born: Generation) -> None:
    if generation() != born:
        # A child does not end its parent's connection, and is not warned that it did not.
        _LOST.append(connection)
        return
    with suppress(Exception):
        connection.close()


_LOST: list[Any] = []


@final
class Borrowed:
    """A connection of a pool, set up for one transaction, and given back as it was."""

    __slots__ = ("_before", "_pool", "connection", "warnings")

    def __init__(self, pool: Any, tuple_row: Any) -> None:
        connection = pool.getconn()
        guard(connection)
        self._pool, self.connection, self.warnings = pool, connection, list[str]()
        self._before = {name: getattr(connection, name) for name in _SETTINGS}
        try:
            if connection.info.encoding != "utf-8":
                raise LedgerError("the connections of the pool must have client_encoding=utf8")
            connection.autocommit, connection.row_factory = True, tuple_row
            connection.prepare_threshold = None  # another pool may be behind this one
            connection.add_notice_handler(self._notice)
        except BaseException:
            pool.putconn(connection)
            raise

    def _notice(self, notice: Any) -> None:
        self.warnings.append(notice.severity)

    def give_back(self, idle: object) -> None:
        """Give it back; close it first if its transaction did not end."""
        try:
            self.connection.remove_notice_handler(self._notice)
            if self.connection.closed or self.connection.info.transaction_status != idle:
                self.connection.close()
            else:
                for name, value in self._before.items():
                    setattr(self.connection, name, value)
        finally:
            self._pool.putconn(self.connection)


_SETTINGS = ("autocommit", "row_factory", "prepare_threshold")


@final
class Rows:
    """The rows, as a `Journal`."""

    __slots__ = ("_connection", "_format", "_is_new", "_name")

    def __init__(self, connection: Any, name: str, format_: int, *, is_new: bool = False) -> None:
        self._connection, self._name = connection, name
        self._format, self._is_new = format_, is_new

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
        """Add a row by the function of its duty; the server judges it first."""
        record = json.loads(row.body)
        if self._format == OLD_FORMAT:
            self._insert(row, record)
            return row
        values = (row.body, row.hash, row.signature)
        if self._is_new:  # the owner makes the ledger
            self._connection.execute("SELECT put(%s, %s, %s, ARRAY['created', 'scope'])", values)
        elif record["kind"] in _OWNERS:
            self._connection.execute("SELECT approve(%s, %s, %s)", values)
        else:
            self._connection.execute("SELECT append(%s, %s, %s)", values)
        return row

    def _insert(self, row: Row, record: dict[str, Any]) -> None:
        """Add a row to a schema of format 1, with the columns that its constraints check."""
        scope = record.get("scope") if record["kind"] == "scope" else None
        if record["kind"] == "charged":
            scope = record["charges"][0]["scope"]
        settles = int(record["charge"]) if "charge" in record else None
        values = (row.seq, row.body, row.hash, row.signature, scope, record.get("nonce"), settles)
        self._connection.execute("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s)", values)
