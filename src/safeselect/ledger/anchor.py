"""What is kept of a ledger elsewhere, outside the reach of who may replace the ledger.

An anchor has its newest head.  A ledger that was rolled back as a whole, with a snapshot of its
machine or an older copy of its file, is consistent in itself; only somebody who knows a later head
can tell.  A receiver has its lines, with which an older copy is made whole again.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe


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
