"""Reads rows in batches, each from the last row that was seen."""

from __future__ import annotations

from contextlib import suppress

from safeselect.errors import LedgerDamaged, LedgerRolledBack
from safeselect.ledger.store import Journal, Row

__all__ = ["REPLACED", "following"]

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
        with suppress(LedgerDamaged):
            if journal.rows(last.seq, 1, last.at) == [last]:
                raise
        raise LedgerRolledBack(REPLACED) from None
    if not rows or rows[0] != last:
        raise LedgerRolledBack(REPLACED)
    return rows[1:]
