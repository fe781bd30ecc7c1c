"""Requests: identities under which a charge is made at most once, so that a retry is safe.

A record holds two hashes and no text of the caller's.  Both take in the identity of the ledger and
of the request, so that nobody who reads the records can guess what was asked, as long as the
identity of the request is random.

The outbox is the caller's own store.  It gets every answer before the ledger says that it is
released.  So a caller who lost the connection, or whose process died, finds the answer there, and
nothing has to be drawn twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal, Protocol

from safeselect.errors import LedgerError
from safeselect.ledger.record import canonical
from safeselect.promises.guarantees import Content

Outcome = Literal["released", "settled", "aborted"]

_ID = b"safeselect/request/1\x00"
_ASKED = b"safeselect/asked/1\x00"


@dataclass(frozen=True, slots=True)
class Request:
    """What a ledger knows of a request that was charged.

    Attributes:
        charge: place of the record of its charge.
        asked: hash of the question.
        outcome: "released", "settled" or "aborted"; None if its call still runs, or died.
        record: place of the record of the outcome.
        commitment: what a released record holds of the output.
    """

    charge: int
    asked: str
    outcome: Outcome | None = None
    record: int | None = None
    commitment: str = ""


def request_hash(ledger: str, request: str) -> str:
    """Return the identity of a request in the records of a ledger."""
    return sha256(_ID + f"{ledger} {request}".encode()).hexdigest()


def question_hash(ledger: str, request: str, question: Mapping[str, Content]) -> str:
    """Return the hash of a question, by which a retry is told from another question."""
    text = canonical({"ledger": ledger, "request": request, "question": dict(question)})
    return sha256(_ASKED + text.encode()).hexdigest()


@dataclass(slots=True)
class Requests:
    """All requests of a ledger that were charged.

    Attributes:
        found: by their hash.
    """

    found: dict[str, Request] = field(default_factory=dict)
    _places: dict[int, str] = field(default_factory=dict)

    def at(self, charge: int) -> Request | None:
        """Return the request of the charge at this place, if it had one."""
        id_ = self._places.get(charge)
        return None if id_ is None else self.found[id_]

    def open(self, id_: str, asked: str, charge: int) -> None:
        """Take in a charge."""
        self.found[id_], self._places[charge] = Request(charge, asked), id_

    def close(self, charge: int, record: int, content: Mapping[str, Any]) -> None:
        """Take in the outcome of a charge, if the charge had a request."""
        id_ = self._places.get(charge)
        if id_ is not None:
            self.found[id_] = replace(
                self.found[id_],
                outcome=content["kind"],
                record=record,
                commitment=content.get("commitment", ""),
            )


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
