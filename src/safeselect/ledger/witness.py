"""What is kept of a ledger elsewhere, outside the reach of who may replace the ledger.

A ledger that was rolled back as a whole, with a snapshot of its machine or an older copy of its
file, is consistent in itself; only somebody who knows a later head can tell.  A witness keeps the
newest head.  It may keep the lines too, with which an older copy is made whole again.

What it answers must be among the records, and it keeps a head only if nobody was quicker.  So of
two ledgers that went different ways only one is ever told of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, final, runtime_checkable

from safeselect.errors import LedgerBusy, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.record import head_of, log_line, read_head
from safeselect.ledger.replay import Reading
from safeselect.ledger.store import NOTHING, Row


@runtime_checkable
class Witness(Protocol):
    """A store, on another machine, for the newest head of a ledger.

    Several processes can use one witness.

    Both functions must either answer durably or raise an exception. After an exception, nothing is
    charged or nothing is released.
    """

    def last(self) -> str | None:
        """Return the newest stored head, or None if no head is stored.

        A head has a form such as "12:9f86d0…".
        """

    def keep(self, head: str, lines: list[bytes], after: str | None) -> None:
        """Store a head if the newest stored head is still `after`.

        Storing the lines is optional.

        Compare and store in one step, for example with `UPDATE witness SET head = %s WHERE head =
        %s`. Otherwise two processes could add different lines at the same position.

        Args:
            head: position and hash of the last of the lines.
            lines: the lines of the ledger after `after`, each with its newline.
            after: the head before these lines; None before the first.
        """


RowsAfter = Callable[[str | None], Iterable[list[Row]]]
"""The rows after a head, or all, up to the one that is told, in batches."""


class Untold(LedgerError):
    """A record is in the ledger for good, and its witness could not be told of it.

    Attributes:
        reading: the record.
    """

    def __init__(self, reading: Reading, why: LedgerError) -> None:
        super().__init__(
            f"record {reading.row.seq} is in the ledger, but the witness does not have it yet: "
            f"{reason_of(why)}"
        )
        self.reading = reading


def reason_of(error: Exception) -> str:
    """Return why a record could not be written, where a charge stands."""
    if not isinstance(error, LedgerError):  # its words are not ours
        return f"the ledger failed with {type(error).__name__}"
    # What a store says of charges is true only before one.
    return (
        "the ledger was locked" if isinstance(error, LedgerBusy) else str(error).split(NOTHING)[0]
    )


@final
class Witnessed:
    """A ledger's witness, and what is known of it.

    Attributes:
        expected: the head that it answered last, which must be among the records.
    """

    __slots__ = ("_witness", "expected")

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self.expected: str | None = None

    def ask(self) -> str | None:
        """Ask for the head that must be among the records.

        Raises:
            LedgerError: there is no answer, or it is no head.
        """
        try:
            head = self._witness.last()
            read_head(head)
        except ParameterError:
            raise LedgerError("the witness returned a value that is not a head") from None
        except Exception as error:  # noqa: BLE001 - any failure forbids a charge
            raise LedgerError(f"the witness failed with {type(error).__name__}") from None
        self.expected = head
        return head

    def has(self, head: str) -> bool:
        """Whether it answered with a head that is not before this one."""
        there, _ = read_head(self.expected) or (-1, "")
        return there >= int(head.split(":")[0])

    def bring(self, head: str, rows_after: RowsAfter, look: Callable[[], object]) -> None:
        """Tell of a head that continues what is kept, or see that somebody else went further.

        Args:
            head: place and hash of a record, durable and checked.
            rows_after: reads the lines to send.
            look: checks that the expected head is among the records.

        Raises:
            LedgerError: something failed: what depends on this record is not told.
        """
        while not self.has(head):
            self._tell(head, rows_after)
            if self.expected != head:  # another process was quicker
                look()

    def _tell(self, head: str, rows_after: RowsAfter) -> None:
        """Send all lines up to this head, and ask what it has now."""
        before = after = self.expected
        for rows in rows_after(before):
            lines = [log_line(row.body, row.hash, row.signature) for row in rows]
            last = head_of(rows[-1].seq, rows[-1].hash)
            try:
                self._witness.keep(last, lines, after)
            except Exception as error:  # noqa: BLE001 - any failure withholds the answer
                raise LedgerError(f"the witness failed with {type(error).__name__}") from None
            after = last
        if self.ask() in (None, before):
            raise LedgerError("the head of the witness did not change after it received new lines")


def read_witness(value: object) -> Witnessed | None:
    """Check an argument `witness=`.

    Raises:
        ParameterError: it lacks members of a Witness.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Witness):
        raise ParameterError(f"witness must implement the Witness protocol, got {describe(value)}")
    return Witnessed(value)
