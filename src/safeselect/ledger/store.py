"""The store of a ledger's rows: the protocol that an organisation's own store must follow.

A store needs no knowledge of privacy, and the ledger does not trust it: every process replays and
checks the rows.  A store keeps the rows in one order and has these duties:

1. Only growth: a committed row is never changed, moved or removed.
2. One writer: the rows that the work appends follow directly on the last one that it has read, and
   a work that reads to the end has read every row that was committed.  A store may run the work
   again, for example if another row was written meanwhile; only the rows of its last run are kept.
3. Durable: when `write` or `create` returns, the rows survive a power failure.  When `read`
   returns, so do the rows that it read.
4. All or nothing: all rows of a work are written, or none; none if it raises.
5. A failure of the store is a `LedgerError` whose text quotes no row.  If somebody else holds its
   lock, it raises `LedgerBusy` and has written nothing.  `NOTHING` and what follows is left out
   of the text where an earlier charge stands.

The work is a function and not the block of a `with`, so that no exception from a signal handler can
leave a lock behind: nobody would release a lock that `__enter__` acquired but did not return yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")

# From here on, the text of an error is about the charge that was tried.
NOTHING = ": nothing was charged"


class Row(NamedTuple):
    """One record as it is stored.

    Attributes:
        seq: its place, from 0, without holes.
        body: the record: canonical JSON, ASCII.
        hash: SHA-256 of the body with its domain, 64 hexadecimal digits.
        signature: hexadecimal, or empty where the ledger has no signer.
        at: the store's own place of it, passed back to `Journal.rows`.
    """

    seq: int
    body: str
    hash: str
    signature: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Torn:
    """The bytes that a dead writer left after the last whole row; the next row replaces them."""

    length: int
    sha256: str


class Journal(Protocol):
    """The rows, inside one call of `create`, `write` or `read`."""

    @property
    def torn(self) -> Torn | None:
        """The bytes that the next append cuts off."""

    def rows(self, first: int, count: int, at: int = 0) -> list[Row]:
        """Return at most `count` rows from seq `first` on, in order.

        Args:
            at: `Row.at` of the row `first`, as it was last seen; 0 only for the row 0.
        """

    def append(self, row: Row) -> Row:
        """Add a row, whose seq must be the next one; return it with its `at`."""


@runtime_checkable
class Store(Protocol):
    """A place for the rows of one ledger."""

    @property
    def name(self) -> str:
        """The store's name in messages, such as the path of the file."""

    def about(self) -> dict[str, str]:
        """Return what the first record says about the place; may be empty."""

    def create(self, work: Callable[[Journal], T]) -> T:
        """Make the place and write to it for the first time; fail if it exists already.

        When the work fails, nothing is left behind.
        """

    def write(self, work: Callable[[Journal], T]) -> T:
        """Run the work in a transaction that reads and writes; see the duties above."""

    def read(self, work: Callable[[Journal], T]) -> T:
        """Run the work on one consistent state; long work must not block writers."""


@runtime_checkable
class Closing(Protocol):
    """A store that keeps something open between two calls."""

    def close(self) -> None:
        """Close it; may be called twice."""
