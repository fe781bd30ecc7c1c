"""A database with one connection per thread, and the ledger's witness in a database."""

from __future__ import annotations

import threading
from typing import Any

import psycopg

__all__ = ["Database", "Witness"]


class Database:
    """A database that several threads may use at the same time.

    Args:
        conninfo: libpq's connection string.
    """

    def __init__(self, conninfo: str) -> None:
        self._conninfo, self._own = conninfo, threading.local()

    def run(self, statement: str, *values: Any) -> list[Any]:
        """Run one statement; it is durable when this returns."""
        connection = getattr(self._own, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._conninfo, autocommit=True)
            self._own.connection = connection
        try:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            connection.close()
            raise

    def close(self) -> None:
        """Close this thread's connection; the next statement makes a new one."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()


class Witness:
    """The newest head of the ledger, kept on a server that has another administrator.

    Args:
        conninfo: libpq's connection string of that server.
    """

    def __init__(self, conninfo: str) -> None:
        self._database = Database(conninfo)
        self.close = self._database.close

    def last(self) -> str | None:
        """Return the last head that was kept, or None before the first."""
        found = self._database.run("SELECT head FROM witness.newest")
        return str(found[0][0]) if found else None

    def keep(self, head: str, lines: list[bytes], after: str | None) -> None:
        """Keep a head, if the last one is still `after`."""
        if after is None:
            self._database.run(
                "INSERT INTO witness.newest VALUES (%s) ON CONFLICT DO NOTHING", head
            )
        else:
            self._database.run("UPDATE witness.newest SET head = %s WHERE head = %s", head, after)
