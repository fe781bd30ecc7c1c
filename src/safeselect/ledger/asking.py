"""A request as its caller states it: an identity, the question, and where the answer is kept.

The outbox is the caller's own store.  It gets every answer before the ledger says that it is
released.  So a caller who lost the connection, or whose process died, finds the answer there, and
nothing has to be drawn twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from safeselect.errors import LedgerError


class Outbox(Protocol):
    """A place for answers until their caller has them; a function will do."""

    def __call__(self, request: str, charge: int, salt: bytes, output: str, /) -> None:
        """Keep an answer durably before this returns; raise if that is not certain.

        Whoever reads the entry knows the answer, released or not.  Show it only after
        `Ledger.finish` has returned for it.

        Args:
            request: the identity that was passed to `asked`.
            charge: the place in the ledger of the record of the charge.
            salt: opens the commitment to the answer.
            output: the answer in JSON, without its receipt.
        """


@dataclass(frozen=True, slots=True)
class Asking:
    """One request.

    Attributes:
        request: its identity.
        question: what the caller adds to the question, beyond what the mechanism knows of it.
        outbox: where the answer goes before it is released.
    """

    request: str
    question: str = ""
    outbox: Outbox | None = None

    def deliver(self, charge: int, salt: bytes, output: str) -> None:
        """Put the answer into the outbox.

        Raises:
            LedgerError: the outbox failed.  Its own error may quote the answer, so only its type is
                named.
        """
        if self.outbox is None:
            return
        try:
            self.outbox(self.request, charge, salt, output)
        except Exception as error:  # noqa: BLE001 - any failure withholds the answer
            failed = type(error).__name__
        else:
            return
        # Outside the handler, so that it has no exception as its context.
        raise LedgerError(f"the outbox failed with {failed}")
