"""Where a ledger's rows are kept: the protocol that an organisation's own store must follow.

The store knows nothing of privacy.  It keeps rows in one order and has these duties:

1. Only growth: a row that was committed is never changed, moved or removed.
2. One writer: between entering `writing()` and leaving it nobody else writes, in any process, and
   what is read there includes all that was committed before.
3. Durable: when `writing()` is left without an exception, the rows survive a power failure.
4. All or nothing: when it is left by an exception, or the process dies, none of its rows exist.
5. A failure of the store is a `LedgerError` whose text quotes no row.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Journal", "Row", "Store"]


@dataclass(frozen=True, slots=True)
class Row:
    """One record, and what of it must be found again.

    Attributes:
        seq: its place, from 0, without holes.
        body: the record: canonical JSON, ASCII.
        hash: SHA-256 of the body with its domain, 64 hexadecimal digits.
        signature: hexadecimal, or empty where the ledger has no signer.
        total_of: the scope whose running total this record states, or None.
        nonce: the nonce of a charge, unique in the ledger, or None.
        settles: the seq of the charge whose outcome this record tells, unique, or None.
    """

    seq: int
    body: str
    hash: str
    signature: str
    total_of: str | None = None
    nonce: str | None = None
    settles: int | None = None


class Journal(Protocol):
    """The rows, inside one transaction."""

    def last(self) -> Row | None:
        """The row with the largest seq."""

    def rows(self, first: int, count: int) -> list[Row]:
        """At most `count` rows from seq `first` on, in order."""

    def total(self, scope: str) -> Row | None:
        """The last row whose `total_of` is this scope."""

    def has_nonce(self, nonce: str) -> bool:
        """Whether a row has this nonce."""

    def is_settled(self, charge: int) -> bool:
        """Whether a row settles this charge."""

    def append(self, row: Row) -> None:
        """Add a row; its seq must be the next one."""


@runtime_checkable
class Store(Protocol):
    """A place for the rows of one ledger."""

    @property
    def name(self) -> str:
        """What messages call it, such as the path of the file."""

    def create(self) -> AbstractContextManager[Journal]:
        """Make the place and write to it for the first time; fails if there is anything.

        When the block fails, nothing is left behind.
        """

    def writing(self) -> AbstractContextManager[Journal]:
        """A transaction that reads and writes; see the duties above."""

    def reading(self) -> AbstractContextManager[Journal]:
        """A transaction that reads one consistent state."""
