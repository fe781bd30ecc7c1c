"""A charge whose outcome is still to be written: released, settled or aborted, once.

The salt of the commitment is drawn right after the charge.  Only these bits go to no sampler.

A request has an identity under which a charge is made at most once, so that a retry is safe.  Its
outbox is the caller's own store, which gets every answer before the ledger says that it is
released.  So a caller who lost the connection, or whose process died, finds the answer there, and
nothing has to be drawn twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol, TypeVar

from safeselect.errors import (
    BudgetError,
    ChargeStands,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
    RepeatedRequest,
    ScoreError,
    SourceError,
)
from safeselect.ledger.book import Book, Event, Written
from safeselect.ledger.record import commitment
from safeselect.ledger.replay import Checker
from safeselect.ledger.stores.turn import check_process
from safeselect.ledger.witness import reason_of
from safeselect.promises.guarantees import Content
from safeselect.randomness.guard import Generation, generation
from safeselect.release.results import Receipt

SALT_BYTES = 32
"""Length of the salt that opens the commitment to an output."""

OUTCOME_WAIT = 60
"""Seconds for which an outcome is tried while others hold the ledger's lock: its charge stands."""

_new_salt = partial(os.urandom, SALT_BYTES)

T = TypeVar("T")

Reason = Literal["source", "interrupt", "error", "input"]


class Outbox(Protocol):
    """Stores answers until their caller has received them; can be a function."""

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


@dataclass(slots=True)
class Pending:
    """A charged release whose outcome this process must record.

    `released` ends it, once.  Leaving a `with` block without a release ends it too: with an
    exception as "input", because only the caller knows whether the exception depended on private
    values.  Such refusals are counted, and too many close the scope.

    Attributes:
        salt: opens the commitment to the output.
    """

    book: Book
    charge: int
    utc: str
    _born: Generation = field(repr=False, compare=False)
    _asking: Asking | None = field(repr=False, compare=False)
    _event: Event = field(repr=False, compare=False)
    _is_kept: bool = field(default=False, repr=False, compare=False)
    _is_ended: bool = field(default=False, repr=False, compare=False)
    salt: bytes = field(default_factory=_new_salt, repr=False, compare=False)

    def check_open(self) -> None:
        """Raise an error if a scope is closed, before a session reads a value.

        Raises:
            BudgetError: one is.
            LedgerError: the ledger cannot be used.
        """

        def look(checker: Checker) -> None:
            for name in self._event.scopes:
                checker.balance(name).check_open(name)

        standing(self.charge, self._born, lambda: self.book.state(look), _ASK_AGAIN)

    def released(self, output: str, salt: bytes | None = None) -> Receipt:
        """Write a commitment to the output; show the output only after this method returns.

        The outbox of the request, if there is one, gets the output first.

        Args:
            output: the output as text, such as JSON; the ledger keeps its hash alone.
            salt: in place of its own.

        Returns:
            Receipt: place of the record, and the salt that opens the commitment.

        Raises:
            ParameterError: the output is not text.
            BudgetError: a scope was closed in between; the charge stands.
            ChargeStands: the record could not be written, or the outbox failed.
        """
        if not isinstance(output, str):
            raise ParameterError(f"output must be a string, got {type(output).__name__}")
        salt = self.salt if salt is None else salt
        if self._asking is not None and self._asking.outbox is not None:
            check_process(self._born)
            # From here on the outbox may have the answer, unless it says that it failed.
            self._is_kept = True
            deliver = partial(self._asking.deliver, self.charge, salt, output)
            try:
                standing(self.charge, self._born, deliver)
            except LedgerError:
                self._is_kept = False
                raise
        committed = commitment(salt, output)

        def check(checker: Checker, scopes: tuple[str, ...]) -> None:
            request = checker.requests.at(self.charge)
            if not scopes and request is not None and request.commitment == committed:
                raise _Released
            for name in scopes:
                checker.scopes[name].check_open(name)

        def look() -> int:
            found = self.book.state(lambda checker: checker.requests.at(self.charge))
            if found is None or found.record is None or found.outcome != "released":
                raise LedgerError(f"charge {self.charge} was not released")
            return found.record

        try:
            place = self._settle("released", {"commitment": committed}, check)
        except _Released:
            # Another process wrote the record; a look makes it durable.
            place = standing(self.charge, self._born, look)
        self._is_ended = True
        return Receipt(self.book.id, place, salt)

    def settled(self, output: str, spent: Mapping[str, int]) -> Receipt:
        """Record how much of its reserved charge a session used; the charge remains.

        Args:
            spent: the numbers used, by the names that the charge's parameters have for the limits.

        Raises:
            ChargeStands: the record could not be written; it may be tried again.
        """
        committed, used = commitment(self.salt, output), {name: str(n) for name, n in spent.items()}
        record = self._settle("settled", {"commitment": committed, "spent": {**used}})
        return Receipt(self.book.id, record, self.salt)

    def aborted(self, reason: Reason) -> BudgetError | None:
        """Record that there will be no output; the charge remains.

        Nothing is written once the outbox may have the answer: `Ledger.finish` can release it.

        Args:
            reason: "input" if private values caused the refusal.  Such refusals are counted, and
                too many close the scope.

        Returns:
            BudgetError | None: the error of an answer, if a scope was closed already.
        """
        closed: list[BudgetError] = []
        if self._is_kept:
            return None

        def look(checker: Checker, scopes: tuple[str, ...]) -> None:
            closed.extend(filter(None, (checker.scopes[name].closed(name) for name in scopes)))

        self._settle("aborted", {"reason": reason}, look)
        return closed[0] if closed else None

    def end(self, error: BaseException | None) -> None:
        """Record that there is no output.

        A refusal of private input is told only if it was counted, and while the scopes are open.
        Otherwise the error is the one that an answer would have met.

        Args:
            error: why there is none; it is already being raised.

        Raises:
            BudgetError: private input was refused, and a scope was closed before.
            LedgerError: no error explains why there is no output; or private input was refused,
                and the record could not be written.
        """
        # After the charge, only private values can still be refused.
        reason = _reason(error, ScoreError)
        met: BudgetError | LedgerError | None
        try:
            met = self.aborted(reason)
        except LedgerError as failed:
            met = failed
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge is not refunded")
        if met is None or reason != "input":
            return  # a charge without an outcome stands anyway
        try:
            raise met
        finally:
            met.__context__ = None  # the refusal that is being handled depends on private values

    def __enter__(self) -> Pending:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._is_ended:
            return
        # The charge stands with or without this record; an error is already being raised.
        with suppress(LedgerError):
            self.aborted(_reason(error, Exception))
        if error is None:
            raise LedgerError("the with block ended without a release; the charge is not refunded")

    def _settle(
        self,
        kind: Literal["released", "settled", "aborted"],
        content: Mapping[str, Content],
        look: Callable[[Checker, tuple[str, ...]], None] = lambda *_: None,
    ) -> int:
        """Write the one outcome; return the place of its record.

        Args:
            look: looks at the state and the scopes of the charge, none if it awaits no outcome.
        """

        def decide(checker: Checker) -> Written:
            check_process(self._born)
            waits = checker.awaits(self.charge)
            look(checker, waits.scopes if waits else ())
            if waits is None:
                raise LedgerError(f"the ledger already has the outcome of charge {self.charge}")
            return kind, {"charge": str(self.charge), **content}

        def write() -> int:
            return self.book.write(decide, wait=OUTCOME_WAIT).row.seq

        event = replace(self._event, kind=kind)
        end = _ASK_AGAIN if kind == "settled" else _LOST
        return self.book.reported(event, lambda: standing(self.charge, self._born, write, end))


def _reason(error: BaseException | None, private: type[Exception]) -> Reason:
    if isinstance(error, SourceError):
        return "source"
    if error is None or isinstance(error, (BudgetError, LedgerError)):
        return "error"
    if isinstance(error, private):
        return "input"
    return "error" if isinstance(error, Exception) else "interrupt"


class _Released(RepeatedRequest):
    """The output is released already, by another process that had it from the outbox."""


def finish_request(book: Book, charge: int, output: str, salt: bytes) -> Receipt:
    """Write that the output of a request is released, by any process.

    Raises:
        ParameterError: no request was charged there.
        BudgetError, LedgerError: as `Pending.released`.
    """

    def look(checker: Checker) -> tuple[bool, tuple[str, ...]]:
        waits = checker.awaits(charge)
        return checker.requests.at(charge) is not None, waits.scopes if waits else ()

    born = generation()
    was_asked, scopes = standing(charge, born, lambda: book.state(look))
    if not was_asked:
        raise ParameterError(f"record {charge} is not the charge of a request")
    event = Event("released", scopes, "")
    return Pending(book, charge, "", born, None, event, salt=salt).released(output)


_LOST = (
    "if the outbox has the answer, finish the request with Ledger.finish; without an outbox the "
    "answer is lost"
)
_ASK_AGAIN = "try again"


def standing(charge: int, born: Generation, work: Callable[[], T], end: str = _LOST) -> T:
    """Do work after a charge; whatever fails, the error says that the charge stands.

    The words are the same whether there is an answer: a refusal of private input may fail as well.

    Args:
        end: what can be done.

    Raises:
        ChargeStands: the ledger could not be used.
        LedgerDamaged, LedgerRolledBack: as the work does.
    """
    try:
        return work()
    except (LedgerDamaged, LedgerRolledBack):
        raise
    except LedgerError as error:
        if generation() != born:
            raise  # the charge is the parent's
        why = reason_of(error)
    raise standing_error(charge, why, end)


def standing_error(charge: int, why: str, end: str = _LOST) -> ChargeStands:
    """Return the error of a charge whose answer is withheld."""
    said = f"the charge in record {charge} remains, and its answer is withheld: {why}; {end}"
    return ChargeStands(said, charge=charge)
