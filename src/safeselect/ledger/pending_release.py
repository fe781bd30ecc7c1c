"""A release on a ledger: charged before its first bit, with one record of its outcome.

The salt of the commitment is drawn right after the charge.  Only these bits go to no sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar, final

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.errors import BudgetError, LedgerError, ParameterError, ScoreError, SourceError
from safeselect.ledger.asking import Asking
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Charge, Written
from safeselect.ledger.events import Event, reported
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.record import commitment
from safeselect.ledger.records.replay import Checker
from safeselect.promises.records import Content, Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.memory import Generation, generation
from safeselect.randomness.source import Source
from safeselect.sources.observed import observed

__all__ = [
    "SALT_BYTES",
    "Pending",
    "PendingRelease",
    "Reason",
    "balance_of",
    "check_open",
    "check_process",
    "finish_request",
]

SALT_BYTES = 32
"""Length of the salt that opens the commitment to an output."""

Reason = Literal["source", "interrupt", "error", "input"]


class Output(Protocol):
    """A released result: a frozen dataclass with a field for the receipt."""

    @property
    def guarantee(self) -> AnyGuarantee:
        """The cost of the release."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    def to_json(self) -> str:
        """One line of JSON, to which the ledger commits."""


Result = TypeVar("Result", bound=Output)


@dataclass(frozen=True, slots=True)
class Pending:
    """A charged release, recorded at this place and time, whose outcome this process must write."""

    book: Book
    charge: int
    utc: str
    _born: Generation = field(repr=False, compare=False)
    _asking: Asking | None = field(repr=False, compare=False)
    _event: Event = field(repr=False, compare=False)

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output; show the output only after this returns.

        The outbox of the request, if there is one, gets the output first.

        Raises:
            BudgetError: a scope was closed in between; the charge stands.
            LedgerError: the record could not be written, or the outbox failed; the charge stands.
        """
        check_process(self._born)
        if self._asking is not None:
            self._asking.deliver(self.charge, salt, output)
        return finish(self.book, self.charge, output, salt, self._born, self._event)

    def settled(self, output: str, salt: bytes, spent: Mapping[str, int]) -> Receipt:
        """Write how much of its reserved charge a session used; the charge stands.

        Args:
            spent: the numbers used, by the names that the charge's parameters have for the limits.

        Raises:
            LedgerError: the record could not be written.
        """
        committed, used = commitment(salt, output), {name: str(n) for name, n in spent.items()}
        record = self._settle("settled", {"commitment": committed, "spent": {**used}})
        return Receipt(self.book.id, record, salt)

    def aborted(self, reason: Reason) -> None:
        """Write that there will be no output; the charge stands.

        Args:
            reason: "input" if private values caused the refusal.  Such refusals are counted, and
                too many close the scope.
        """
        self._settle("aborted", {"reason": reason})

    def _settle(self, kind: Literal["settled", "aborted"], content: Mapping[str, Content]) -> int:
        def decide(checker: Checker) -> Written:
            check_process(self._born)
            if checker.awaits(self.charge) is None:
                raise LedgerError(f"the outcome of charge {self.charge} is in the ledger already")
            return kind, {"charge": str(self.charge), **content}

        event = replace(self._event, kind=kind)
        return reported(self.book.on_event, event, lambda: self.book.write(decide))


class _Released(Exception):
    """The output is released already, by another process that had it from the outbox."""


def finish(
    book: Book, charge: int, output: str, salt: bytes, born: Generation, event: Event
) -> Receipt:
    """Write that this output is released; for a request, it may have been written before.

    Args:
        event: what was told of the charge.

    Raises:
        BudgetError: a scope was closed in between.
        LedgerError: the charge has another outcome, or the record could not be written.
    """
    committed = commitment(salt, output)

    def decide(checker: Checker) -> Written:
        check_process(born)
        waits, request = checker.awaits(charge), checker.requests.at(charge)
        if waits is None and request is not None and request.commitment == committed:
            raise _Released
        if waits is None:
            raise LedgerError(f"the outcome of charge {charge} is in the ledger already")
        for name in waits.scopes:
            check_open(name, checker.scopes[name])
        return "released", {"charge": str(charge), "commitment": committed}

    def write() -> int:
        try:
            return book.write(decide)
        except _Released:
            # Another process wrote the record; a look makes it durable.
            found = book.state(lambda checker: checker.requests.at(charge))
        if found is None or found.record is None or found.outcome != "released":
            raise LedgerError(f"charge {charge} was not released")
        return found.record

    place = reported(book.on_event, replace(event, kind="released"), write)
    return Receipt(book.id, place, salt)


def finish_request(book: Book, charge: int, output: str, salt: bytes) -> Receipt:
    """Write that the output of a request is released, by any process.

    Raises:
        ParameterError: no request was charged there.
        BudgetError, LedgerError: as `finish`.
    """
    if book.state(lambda checker: checker.requests.at(charge)) is None:
        raise ParameterError(f"no request was charged in record {charge}")
    waits = book.state(lambda checker: checker.awaits(charge))
    event = Event("released", waits.scopes if waits else (), "")
    return finish(book, charge, output, salt, generation(), event)


@final
class PendingRelease:
    """One release on a scope of a ledger.

    Args:
        charge_scope: writes the charge, in the name of the scope whose budget pays.
        mechanism, guarantee, parts, parameters: as in `Charge`.
    """

    __slots__ = ("_charge", "_charge_scope", "_pending", "_salt")

    def __init__(
        self,
        charge_scope: Callable[[Charge], Pending],
        mechanism: str,
        guarantee: AnyGuarantee,
        parts: tuple[tuple[AnyGuarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> None:
        self._charge_scope = charge_scope
        self._charge = mechanism, guarantee, parts, parameters
        self._pending: Pending | None = None
        self._salt = b""

    def charge(self, source: Source, bits: Bits) -> str:
        """Charge the release, then draw the salt; return the time that the record says."""
        seen = observed(source)
        self._pending = self._charge_scope(
            Charge(*self._charge, seen.name, seen.production, seen.health, bits.nonce)
        )
        salt = bytearray(SALT_BYTES)
        bits.fill(salt)
        self._salt = bytes(salt)
        return self._pending.utc

    def released(self, result: Result) -> Result:
        """Write that this result is released; return it with its receipt.

        Raises:
            LedgerError: the result is not what was charged, or the record could not be written.
        """
        if self._pending is None or (result.mechanism, result.guarantee) != self._charge[:2]:
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json(), self._salt)
        self._pending = None
        # Every result is a frozen dataclass with this field; a protocol cannot express that.
        return replace(result, receipt=receipt)  # type: ignore[type-var]

    def settled(self, closed: Output, spent: Mapping[str, int]) -> Receipt:
        """Write that a session ended, and how much of its reserved charge it used.

        Raises:
            LedgerError: it was written before, or could not be written now; then the caller may
                try again.
        """
        if self._pending is None:
            raise LedgerError("what the session used is in the ledger already")
        receipt = self._pending.settled(closed.to_json(), self._salt, spent)
        self._pending = None
        return receipt

    def end(self, error: BaseException | None) -> None:
        """Write that there is no output, unless one was released.

        Raises:
            LedgerError: there is no output, and no error explains it.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        kind: Reason = "error"
        if isinstance(error, SourceError):
            kind = "source"
        elif isinstance(error, ScoreError):
            kind = "input"  # after the charge, only private values can still be refused
        elif error is not None and not isinstance(error, Exception):
            kind = "interrupt"
        # The error is already being raised; a charge without an outcome stands anyway.
        with suppress(LedgerError):
            pending.aborted(kind)
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge stands")


def check_process(born: Generation) -> None:
    """Check that this process made the charge, as it must also write the outcome.

    Raises:
        LedgerError: this is a child of that process.
    """
    if generation() != born:
        raise LedgerError(
            "this process was forked in the middle of a call of its parent's, to which the charge "
            "belongs: call anew"
        )


def check_open(scope: str, balance: Balance) -> None:
    """Refuse every answer of a closed scope, with one sentence.

    Raises:
        BudgetError: the scope is closed.
    """
    if balance.is_closed:
        raise BudgetError(
            f"scope {scope!r} is closed: calls that were charged were refused for what the data "
            "hold, and how often is not differentially private; the owner of the ledger opens it "
            "again with: safeselect ledger reopen",
            scope=scope,
        )


def balance_of(checker: Checker, scope: str) -> Balance:
    """Return the balance of a scope.

    Raises:
        ParameterError: there is no such scope.
    """
    balance = checker.scopes.get(scope)
    if balance is None:
        raise ParameterError(f"there is no scope {scope!r} in this ledger")
    return balance
