"""Connections to PostgreSQL: of a pool, or of a store's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from select import select
from typing import Any, final
from weakref import finalize

from safeselect.errors import LedgerBusy, LedgerError
from safeselect.ledger.stores.turn import guard
from safeselect.randomness.memory import Generation, generation

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
def borrowed(pool: Any, psycopg: Any, begin: str) -> Iterator[tuple[Any, list[str]]]:
    """Yield a connection after this statement, and a list of the server's warnings.

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
        said = "the pool had no connection in time; nothing was charged, try again"
        raise LedgerBusy(said) from None
    guard(connection)
    connection.add_notice_handler(notice)
    before = [getattr(connection, name) for name in _SETTINGS]
    try:
        if connection.info.encoding != "utf-8":
            raise LedgerError("the connections of the pool must have client_encoding=utf8")
        # Nothing is prepared: another pool may be behind this one.
        for name, value in zip(_SETTINGS, (True, psycopg.rows.tuple_row, None), strict=True):
            setattr(connection, name, value)
        connection.execute(begin)
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
