"""Reads a ledger's file, or an exported log, without opening it as a ledger."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import FileIO

from safeselect.ledger.following import following
from safeselect.ledger.records.lines import check_log
from safeselect.ledger.records.record import Record
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.store import Row
from safeselect.ledger.stores.file import end_found
from safeselect.ledger.stores.journal import FileJournal


def kept_records(file: str | os.PathLike[str], checker: Checker) -> Iterator[Record]:
    """Check a ledger or an exported log to its end, and yield its records.

    Bytes after the last whole line are an unfinished write: `checker.unfinished` counts them.

    Raises:
        LedgerError: a record is not what a ledger writes; the records yielded before it are.
        OSError: the file cannot be read.
    """
    if not stat.S_ISREG(os.stat(file).st_mode):
        with open(file, "rb") as log:
            yield from check_log(log, checker)
        return
    with FileIO(file, "r") as opened:
        end, size = end_found(opened)
        journal = FileJournal(opened, end, size)
        last: Row | None = None
        checker.unfinished = size - end
        while rows := following(journal, last):
            for row in rows:
                content = checker.check(row.body, row.hash, row.signature)
                yield Record(content, row.hash, row.signature)
            last = rows[-1]
        checker.finish()
