"""The store of ":memory:": a list of rows that belongs to one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, final

from safeselect.errors import LedgerError
from safeselect.ledger.store import Journal, Row, Torn
from safeselect.randomness.guard import generation

T = TypeVar("T")


@final
class MemoryStore:
    """The store of ":memory:"."""

    __slots__ = ("_born", "_rows")

    def __init__(self) -> None:
        self._born = generation()
        self._rows: list[Row] = []

    @property
    def name(self) -> str:
        """The name ":memory:"."""
        return ":memory:"

    def about(self) -> dict[str, str]:
        """Return, for the first record, that the ledger ends with its process."""
        return {"file_system": "memory"}

    def create(self, work: Callable[[Journal], T]) -> T:
        """Write the first rows."""
        if self._rows:
            raise LedgerError("the store already contains a ledger; open it")
        return self.write(work)

    def write(self, work: Callable[[Journal], T]) -> T:
        """Run the work, then add its rows all at once."""
        journal = _MemoryJournal(self._rows)
        done = work(journal)
        # A child would have a copy of the budget, which would be spent twice.
        if generation() != self._born:
            raise LedgerError("a ledger in memory can be used only by the process that created it")
        self._rows += journal.new
        return done

    read = write
    """The work, which adds no rows."""


@final
class _MemoryJournal:
    """The rows, as a `Journal`."""

    __slots__ = ("_rows", "new")
    torn: Torn | None = None  # no row is ever unfinished

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self.new: list[Row] = []

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        return self._rows[first : first + count]

    def append(self, row: Row) -> Row:
        self.new.append(row)
        return row
