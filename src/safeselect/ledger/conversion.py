"""Reads ledgers in SQLite files, the format before the log; only for `ledger convert`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TypeVar

from safeselect.errors import LedgerDamaged, LedgerError
from safeselect.ledger.following import following
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.store import Journal, Row
from safeselect.ledger.stores.file import FileStore

T = TypeVar("T")

_APPLICATION = 0x53534C31  # "SSL1"
_LIVE, _CONVERTED = 1, 2
_QUERY = "SELECT seq, body, hash, signature FROM records ORDER BY seq"


def convert(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Checker:
    """Copy a ledger from a SQLite file to a new file, with every record unchanged.

    The old file stays, but is marked so that nothing charges to it: two live ledgers would allow
    the budget twice.

    Args:
        old: the SQLite file.
        new: a path where there is no file yet, or the file of an interrupted call.

    Returns:
        The checker, after all records.

    Raises:
        LedgerError: the old file is not such a ledger, was converted before, or fails its check; or
            the new file cannot be made.
    """
    import sqlite3  # not at the top: only a conversion needs it

    path = Path(old).absolute()
    if not path.is_file():
        raise LedgerError(f"there is no file {str(path)!r}")
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=EXTRA")
            # Held to the end: a process that charges to the old file waits, and is then refused.
            connection.execute("BEGIN IMMEDIATE")
            _check_format(connection, str(path))
            rows = [Row(*values) for values in connection.execute(_QUERY)]
            checker = _checked(rows)
            _copied(rows, FileStore(new))
            connection.execute(f"PRAGMA user_version={_CONVERTED}")
            connection.execute("COMMIT")
        finally:
            connection.close()
    except sqlite3.Error:
        raise LedgerError(f"{str(path)!r} cannot be read as a ledger in SQLite") from None
    return checker


def _check_format(connection: object, name: str) -> None:
    found = [
        connection.execute(f"PRAGMA {pragma}").fetchone()[0]  # type: ignore[attr-defined]
        for pragma in ("application_id", "user_version")
    ]
    if found == [_APPLICATION, _CONVERTED]:
        raise LedgerError(f"{name!r} was converted already: use the new file")
    if found != [_APPLICATION, _LIVE]:
        raise LedgerError(f"{name!r} is no ledger in SQLite")


def _checked(rows: list[Row]) -> Checker:
    checker = Checker()
    for row in rows:
        if not all(isinstance(value, str) for value in (row.body, row.hash, row.signature)):
            raise LedgerDamaged(f"record {checker.count} is not text")
        checker.check(row.body, row.hash, row.signature)
    checker.finish()
    return checker


def _copied(rows: list[Row], store: FileStore) -> None:
    def work(journal: Journal) -> None:
        for row in rows:
            journal.append(row)

    if not os.path.exists(store.name):
        store.create(work)
        return
    # An earlier call made the file and died before it marked the old one.
    found: list[Row] = []
    while batch := store.read(partial(following, last=found[-1] if found else None)):
        found += batch
    if [(row.body, row.hash, row.signature) for row in found] != [
        (row.body, row.hash, row.signature) for row in rows
    ]:
        raise LedgerError(f"there is a file {store.name!r} already: name a new one")
