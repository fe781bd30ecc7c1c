"""The rows of a ledger in PostgreSQL, and the calls that write them."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, final

from safeselect.errors import LedgerDamaged, LedgerError
from safeselect.ledger import Row, Torn


class Lost(Exception):
    """The connection ended during a commit: what was sent may stand."""


@final
class Rows:
    """The rows of a transaction, as a `Journal`; `append` keeps rows in `new`, to be sent."""

    __slots__ = ("_connection", "_schema", "new")

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection, self._schema = connection, schema
        self.new: list[Row] = []

    @property
    def torn(self) -> Torn | None:
        """None: a transaction exists as a whole or not at all."""
        return None

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return the rows from a place on."""
        query = f"""SELECT seq, body, hash, signature FROM {self._schema}.records
            WHERE seq >= %s ORDER BY seq LIMIT %s"""  # noqa: S608
        found = [Row(*values) for values in self._connection.execute(query, (first, count))]
        where = f"in schema {self._schema} of PostgreSQL"
        if [row.seq for row in found] != list(range(first, first + len(found))):
            raise LedgerDamaged(f"a record from {first} on is missing {where}")
        for row in found:
            if not all(isinstance(value, str) for value in (row.body, row.hash, row.signature)):
                raise LedgerDamaged(f"record {row.seq} {where} is not text")
        return found

    def append(self, row: Row) -> Row:
        """Keep a row until the work is done."""
        self.new.append(row)
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
        raise LedgerError(f"a server keeps no records of kind {kind!r}")
    jsonb = import_module("psycopg.types.json").Jsonb
    known = _KNOWN if _FUNCTIONS[kind] == "settle" else _KNOWN | {"kind"}
    fields = {name: value for name, value in record.items() if name not in known}
    fields |= {"wait": wait, "hash": row.hash, "signature": row.signature}
    named = ", ".join(f'"{name}" => %({name})s' for name in fields)
    connection.execute(
        f"SELECT {schema}.{_FUNCTIONS[kind]}({named})",
        {name: jsonb(v) if isinstance(v, (dict, list)) else v for name, v in fields.items()},
    )


_OWNERS = ("created", "repaired")
_KNOWN = {"schema", "ledger", "seq"}  # to the server
_FUNCTIONS = {
    "charged": "charge",
    **dict.fromkeys(("released", "settled", "aborted"), "settle"),
    "scope": "open_scope",
    "raised": "raise_limit",
    "key": "replace_key",
}
