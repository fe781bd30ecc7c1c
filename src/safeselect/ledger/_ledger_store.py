"""Where a ledger's rows are kept: the protocol that an organisation's own store must follow.

The store knows nothing of privacy, and nothing that it says is believed: every process replays
and checks the rows.  It keeps them in one order and has these duties:

1. Only growth: a row that was committed is never changed, moved or removed.
2. One writer: while `write` runs its work nobody else writes, in any process, and what the work
   reads includes all that was committed before.
3. Durable: when `write` or `create` returns, the rows survive a power failure; so does all that
   was read when `read` returns.
4. All or nothing: when the work raises, none of its rows exist.
5. A failure of the store is a `LedgerError` whose text quotes no row; that somebody else holds
   its lock is a `LedgerBusy`, and then nothing was written.

The work is a function and not the block of a `with`, because only so can no exception from a
signal handler leave a lock behind: what is acquired inside a method `__enter__` and not yet handed
over belongs to nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["Journal", "Row", "Store", "Torn"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One record as it is kept.

    Attributes:
        seq: its place, from 0, without holes.
        body: the record: canonical JSON, ASCII.
        hash: SHA-256 of the body with its domain, 64 hexadecimal digits.
        signature: hexadecimal, or empty where the ledger has no signer.
        at: where the store found it: its own affair, handed back to `Journal.rows`.
    """

    seq: int
    body: str
    hash: str
    signature: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Torn:
    """What a writer that died left behind the last whole row; the next row takes its place."""

    length: int
    sha256: str


class Journal(Protocol):
    """The rows, inside one call of `create`, `write` or `read`."""

    @property
    def torn(self) -> Torn | None:
        """What is cut off when a row is appended."""

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """At most `count` rows from seq `first` on, in order.

        Args:
            at: `Row.at` of the row `first`, as it was last seen; 0 only for the row 0.
        """

    def append(self, row: Row) -> Row:
        """Add a row, whose seq must be the next one; returns it with its `at`."""


@runtime_checkable
class Store(Protocol):
    """A place for the rows of one ledger."""

    @property
    def name(self) -> str:
        """What messages call it, such as the path of the file."""

    def about(self) -> dict[str, str]:
        """What the first record is to say about the place; may be empty."""

    def create(self, work: Callable[[Journal], T]) -> T:
        """Make the place and write to it for the first time; fails if there is anything.

        When the work fails, nothing is left behind.
        """

    def write(self, work: Callable[[Journal], T]) -> T:
        """Run the work in a transaction that reads and writes; see the duties above."""

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on one consistent state; it may be long, and keeps no writer waiting."""
