"""Reads rows in batches, each from the last row that was seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from safeselect.errors import LedgerDamaged, LedgerRolledBack
from safeselect.ledger.records.fields import read_head
from safeselect.ledger.records.record import START, record_hash
from safeselect.ledger.store import Journal, Row, Store

_BATCH = 1000  # rows per read
REPLACED = (
    "the ledger lacks a record that this process has seen in it: it was replaced, or its end was "
    "cut off"
)


def following(journal: Journal, last: Row | None) -> list[Row]:
    """Return the rows after a row that was seen; that row must still be in its place."""
    if last is None:
        return journal.rows(0, _BATCH)
    try:
        rows = journal.rows(last.seq, _BATCH, last.at)
    except LedgerDamaged:
        seen: list[Row] = []
        with suppress(LedgerDamaged):
            seen = journal.rows(last.seq, 1, last.at)
        if seen == [last]:
            raise  # it is there still: a row after it is damaged
        raise LedgerRolledBack(REPLACED) from None
    if not rows or rows[0] != last:
        raise LedgerRolledBack(REPLACED)
    return rows[1:]


def all_rows(store: Store, end: Row) -> Iterator[Row]:
    """Yield all rows up to this one, as they are stored.

    Raises:
        LedgerRolledBack: the last of them disappeared before it was reached.
    """
    last: Row | None = None
    while last is None or last.seq < end.seq:
        batch = store.read(partial(following, last=last))
        if not batch:
            raise LedgerRolledBack(REPLACED)
        for row in batch[: end.seq - batch[0].seq + 1]:
            yield row
            last = row
    if last.hash != end.hash:
        raise LedgerRolledBack(REPLACED)


def rows_between(store: Store, after: str | None, head: str, at: int | None) -> Iterator[list[Row]]:
    """Yield the rows after one head up to another, in batches; their chain of hashes is checked.

    Args:
        after: None from the first row on.
        at: `Row.at` of the row of `after`; if it is not known, all rows are read.

    Raises:
        LedgerRolledBack: these are not the rows between the two heads.
    """
    start, last = read_head(after) or (-1, START)
    end, hash_ = read_head(head) or (-1, START)
    seq, at = (0, 0) if at is None else (start, at)
    while True:
        rows = store.read(partial(_batch, seq, at))
        found = [row for row in rows if start < row.seq <= end]
        for row in rows:
            if row.seq == start and row.hash != last:
                raise LedgerRolledBack(REPLACED)
        for row in found:
            if record_hash(row.body) != row.hash or f'"previous":"{last}"' not in row.body:
                raise LedgerRolledBack(REPLACED)
            last = row.hash
        if found:
            yield found
            start = found[-1].seq
        if start == end and last == hash_:
            return
        if not rows or (rows[-1].seq, rows[-1].at) == (seq, at):
            raise LedgerRolledBack(REPLACED)
        seq, at = rows[-1].seq, rows[-1].at


def _batch(seq: int, at: int, journal: Journal) -> list[Row]:
    return journal.rows(seq, _BATCH, at)
