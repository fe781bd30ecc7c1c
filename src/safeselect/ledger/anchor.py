"""The anchor: a place for the newest head, outside the reach of who may replace the ledger.

A ledger that was rolled back as a whole, with a snapshot of its machine or an older copy of its
file, is consistent in itself.  Only somebody who knows a later head can tell.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from safeselect.errors import LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.records.fields import read_head

__all__ = ["Anchor", "ask", "place_of", "publish", "read_anchor"]


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


def read_anchor(value: object) -> Anchor | None:
    """Check an argument `anchor=`.

    Raises:
        ParameterError: it lacks members of an Anchor.
    """
    if value is not None and (isinstance(value, type) or not isinstance(value, Anchor)):
        raise ParameterError(f"anchor must have the members of Anchor, got {describe(value)}")
    return value


def ask(anchor: Anchor) -> str | None:
    """Return the last head.

    Raises:
        LedgerError: there is no answer, or it is no head.
    """
    try:
        head = anchor.last()
        read_head(head)
    except ParameterError:
        raise LedgerError("the anchor answered with something that is no head") from None
    except Exception as error:  # noqa: BLE001 - any failure forbids a charge
        raise LedgerError(f"the anchor failed with {type(error).__name__}") from None
    return head


def publish(anchor: Anchor, head: str, after: str | None) -> str:
    """Publish a head; return the last one then, which must be among the ledger's records.

    Raises:
        LedgerError: the anchor failed, or kept nothing.
    """
    try:
        anchor.publish(head, after)
    except Exception as error:  # noqa: BLE001 - any failure withholds the answer
        raise LedgerError(
            f"the anchor failed with {type(error).__name__}: nothing is released, and the charge "
            "may stand"
        ) from None
    now = ask(anchor)
    if now is None or now == after:
        raise LedgerError("the anchor did not keep the head that was published")
    return now


def place_of(head: str) -> int:
    """Return the place that a head names."""
    return int(head.split(":")[0])
