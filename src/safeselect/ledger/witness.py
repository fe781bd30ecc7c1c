"""What is kept of a ledger elsewhere, outside the reach of who may replace the ledger.

An anchor has its newest head.  A ledger that was rolled back as a whole, with a snapshot of its
machine or an older copy of its file, is consistent in itself; only somebody who knows a later head
can tell.  A receiver has its lines, with which an older copy is made whole again.

What they answer must be among the records, and they keep a head or lines only if nobody was
quicker.  So of two ledgers that went different ways only one is ever told of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

from safeselect.errors import LedgerBusy, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.record import head_of, log_line, read_head
from safeselect.ledger.replay import Reading
from safeselect.ledger.store import Row


@runtime_checkable
class Anchor(Protocol):
    """A register of one ledger's newest head, on another machine; several processes use it at once.

    Both functions answer durably, or raise: then nothing is charged, or nothing released.
    """

    def last(self) -> str | None:
        """Return the head with the greatest place that was published; None before the first."""

    def publish(self, head: str, after: str | None) -> None:
        """Keep a head, such as "12:9f86d0…", if the last one is still `after`; else keep that.

        Compare and keep in one step: `UPDATE anchor SET head = %s WHERE head = %s`, say.
        """


@runtime_checkable
class Receiver(Protocol):
    """A copy of one ledger's lines, on another machine; several processes use it at once.

    Both functions answer durably, or raise: then nothing is charged, or nothing released.
    """

    def last(self) -> str | None:
        """Return the head of the last line: its place and hash, "12:9f86d0…"; None without one."""

    def send(self, lines: list[bytes], after: str | None) -> None:
        """Keep lines, each with its newline, if the last head is still `after`; else none of them.

        Compare and keep in one step, or two processes could both add lines in one place.
        """


def read_anchor(value: object) -> Anchor | None:
    """Check an argument `anchor=`.

    Raises:
        ParameterError: it lacks members of an Anchor.
    """
    if value is not None and (isinstance(value, type) or not isinstance(value, Anchor)):
        raise ParameterError(f"anchor must have the members of Anchor, got {describe(value)}")
    return value


def read_receiver(value: object) -> Receiver | None:
    """Check an argument `ship=`.

    Raises:
        ParameterError: it lacks members of a Receiver.
    """
    if value is not None and (isinstance(value, type) or not isinstance(value, Receiver)):
        raise ParameterError(f"ship must have the members of Receiver, got {describe(value)}")
    return value


RowsAfter = Callable[[str | None, str], Iterable[list[Row]]]
"""The rows after a head, or all, up to another head, in batches."""


class Untold(LedgerError):
    """A record is in the ledger for good, and what is kept elsewhere could not be told of it.

    Attributes:
        reading: the record.
    """

    def __init__(self, reading: Reading, why: LedgerError) -> None:
        super().__init__(
            f"record {reading.row.seq} is in the ledger, and is not known elsewhere yet: "
            f"{reason_of(why)}"
        )
        self.reading = reading


def reason_of(error: LedgerError) -> str:
    """Return why a record could not be written, where a charge stands."""
    return "the ledger's lock was held" if isinstance(error, LedgerBusy) else str(error)


@dataclass(slots=True)
class _Kept:
    """One anchor or receiver.

    Attributes:
        name: its name in messages.
        anchor, receiver: one of them; an object may be both, each for itself.
        expected: the head that it answered last.
        reached: the greatest place that it is known to have.
    """

    name: str
    anchor: Anchor | None
    receiver: Receiver | None
    expected: str | None = None
    reached: int = -1

    def ask(self) -> str | None:
        """Return its head.

        Raises:
            LedgerError: there is no answer, or it is no head.
        """
        place = self.receiver if self.anchor is None else self.anchor
        try:
            head = None if place is None else place.last()
            read_head(head)
        except ParameterError:
            raise LedgerError(f"{self.name} answered with something that is no head") from None
        except Exception as error:  # noqa: BLE001 - any failure forbids a charge
            raise LedgerError(f"{self.name} failed with {type(error).__name__}") from None
        self.expected = head
        return head

    def tell(self, head: str, rows_after: RowsAfter) -> None:
        """Tell it of a head, or send all lines up to it, and ask what it has now.

        Raises:
            LedgerError: it failed, or kept nothing.
        """
        before = after = self.expected
        if self.anchor is not None:
            self._tell(self.anchor.publish, head, before)
        if self.receiver is not None:
            for rows in rows_after(before, head):
                lines = [log_line(row.body, row.hash, row.signature) for row in rows]
                self._tell(self.receiver.send, lines, after)
                after = head_of(rows[-1].seq, rows[-1].hash)
        if self.ask() in (None, before):
            raise LedgerError(f"{self.name} did not keep what it was told")

    def _tell(self, keep: Callable[..., object], *what: object) -> None:
        try:
            keep(*what)
        except Exception as error:  # noqa: BLE001 - any failure withholds the answer
            raise LedgerError(f"{self.name} failed with {type(error).__name__}") from None


@final
class Elsewhere:
    """What is kept of a ledger elsewhere, if anything."""

    __slots__ = ("_kept",)

    def __init__(self, anchor: Anchor | None = None, receiver: Receiver | None = None) -> None:
        # Lines go first: no head is published of a line that only this machine has.
        self._kept: list[_Kept] = []
        if receiver is not None:
            self._kept.append(_Kept("the receiver of lines", None, receiver))
        if anchor is not None:
            self._kept.append(_Kept("the anchor", anchor, None))

    @property
    def expected(self) -> list[str]:
        """The heads that must be among the records."""
        return [kept.expected for kept in self._kept if kept.expected is not None]

    def ask(self) -> None:
        """Ask for the heads that must be among the records.

        Raises:
            LedgerError: there is no answer, or it is no head.
        """
        for kept in self._kept:
            kept.ask()

    def check_unused(self) -> None:
        """Check before a ledger is made that none is known yet.

        Raises:
            LedgerError: one is, or there is no answer.
        """
        for kept in self._kept:
            if kept.ask() is not None:
                raise LedgerError(f"{kept.name} knows a ledger already: each has one of its own")

    def check_used(self) -> None:
        """Check before a ledger is opened that the anchor knows it.

        Raises:
            LedgerError: it knows none, or there is no answer.
        """
        for kept in self._kept:
            # A new receiver gets all lines.  A new anchor would believe any older copy.
            if kept.ask() is None and kept.anchor is not None:
                raise LedgerError("the anchor knows no ledger: publish the head of this one there")

    def is_behind(self, seq: int) -> bool:
        """Whether a record may not be known elsewhere yet."""
        return any(kept.reached < seq for kept in self._kept)

    def bring(self, head: str, rows_after: RowsAfter, look: Callable[[], object]) -> None:
        """Tell of a head that continues what is kept, or see that somebody else went further.

        Args:
            head: place and hash of a record, durable and checked.
            rows_after: reads the lines to send.
            look: checks that the expected heads are among the records.

        Raises:
            LedgerError: something failed: what depends on this record is not told.
        """
        for kept in self._kept:
            while kept.expected is None or _place(kept.expected) < _place(head):
                kept.tell(head, rows_after)
                if kept.expected != head:  # another process was quicker
                    look()
            kept.reached = _place(head)


def _place(head: str) -> int:
    return int(head.split(":")[0])


def read_elsewhere(anchor: object, ship: object) -> Elsewhere:
    """Check arguments `anchor=` and `ship=`.

    Raises:
        ParameterError: one lacks members of an Anchor, or of a Receiver.
    """
    return Elsewhere(read_anchor(anchor), read_receiver(ship))
