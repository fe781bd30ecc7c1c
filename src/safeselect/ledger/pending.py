"""A charge whose outcome is still to be written: released, settled or aborted, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from safeselect.errors import BudgetError, LedgerError, ParameterError, RepeatedRequest
from safeselect.ledger.asking import Asking
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Written
from safeselect.ledger.events import Event, reported
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.record import commitment
from safeselect.ledger.records.replay import Checker
from safeselect.promises.records import Content, Receipt
from safeselect.randomness.memory import Generation, generation

SALT_BYTES = 32
"""Length of the salt that opens the commitment to an output."""

Reason = Literal["source", "interrupt", "error", "input"]


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

    def aborted(self, reason: Reason) -> BudgetError | None:
        """Write that there will be no output; the charge stands.

        Args:
            reason: "input" if private values caused the refusal.  Such refusals are counted, and
                too many close the scope.

        Returns:
            BudgetError | None: the error of an answer, if a scope was closed already.
        """
        closed: list[BudgetError] = []

        def look(checker: Checker, scopes: tuple[str, ...]) -> None:
            closed.extend(filter(None, (_closed(name, checker.scopes[name]) for name in scopes)))

        self._settle("aborted", {"reason": reason}, look)
        return closed[0] if closed else None

    def _settle(
        self,
        kind: Literal["settled", "aborted"],
        content: Mapping[str, Content],
        look: Callable[[Checker, tuple[str, ...]], None] = lambda *_: None,
    ) -> int:
        def decide(checker: Checker) -> Written:
            check_process(self._born)
            waits = checker.awaits(self.charge)
            if waits is None:
                raise LedgerError(f"the outcome of charge {self.charge} is in the ledger already")
            look(checker, waits.scopes)
            return kind, {"charge": str(self.charge), **content}

        event = replace(self._event, kind=kind)
        return reported(self.book.on_event, event, lambda: self.book.write(decide))


class _Released(RepeatedRequest):
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

    released = replace(event, kind="released")
    try:
        place = reported(book.on_event, released, lambda: book.write(decide))
    except _Released:
        # Another process wrote the record; a look makes it durable.
        found = book.state(lambda checker: checker.requests.at(charge))
        if found is None or found.record is None or found.outcome != "released":
            raise LedgerError(f"charge {charge} was not released") from None
        place = found.record
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
    error = _closed(scope, balance)
    if error is not None:
        raise error


def _closed(scope: str, balance: Balance) -> BudgetError | None:
    """Return the error of every answer of a closed scope; None for one that is open."""
    if not balance.is_closed:
        return None
    return BudgetError(
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
