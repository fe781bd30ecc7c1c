"""A ledger as mechanisms see it: the scopes that a call charges, and the charge until its outcome.

A charge has one outcome: released, settled or aborted.  The salt of its commitment is drawn right
after the charge.  Only these bits go to no sampler.  A release of another library is charged too:
what it costs is asserted, not proved here.

A request has an ID under which a charge is made at most once, so that a retry is safe.  Its
outbox is the caller's own store, which gets every answer before the ledger says that it is
released.  So a caller who lost the connection, or whose process died, finds the answer there, and
nothing has to be drawn twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Literal, Protocol, TypeVar, get_args

from safeselect.accounting.repetition import AnyGuarantee
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
from safeselect.exact.parameters import describe
from safeselect.ledger.book import Book, Event, Written
from safeselect.ledger.budget import Amounts, View
from safeselect.ledger.record import commitment, library, question_hash, request_hash, text
from safeselect.ledger.replay import Checker, Reading, Request
from safeselect.ledger.stores.turn import check_process
from safeselect.ledger.witness import Untold, reason_of
from safeselect.promises.guarantees import Content, guarantee_record
from safeselect.randomness.bits import Bits
from safeselect.randomness.guard import Generation, generation
from safeselect.release.call import Charge
from safeselect.release.results import Receipt
from safeselect.sources import Observed, observed

SALT_BYTES = 32
"""Length of the salt that opens the commitment to an output."""

OUTCOME_WAIT = 60
"""Seconds for which an outcome is tried while others hold the ledger's lock: its charge stands."""

T = TypeVar("T")

Reason = Literal["source", "interrupt", "error", "input"]


class Outbox(Protocol):
    """A store that keeps answers until the caller has received them.

    An outbox can be a function.
    """

    def __call__(self, request: str, charge: int, salt: bytes, output: str, /) -> None:
        """Store an answer durably before this returns; raise if this is not certain.

        Anyone who can read the entry knows the answer, even if it is not released. Show the answer
        only after `Ledger.finish` has returned for it.

        Args:
            request: the request ID that was passed to `asked`.
            charge: position of the record of the charge.
            salt: salt that opens the commitment to the answer.
            output: the answer in JSON, without its receipt.
        """


@dataclass(frozen=True, slots=True)
class Asking:
    """One request.

    Attributes:
        request: its request ID.
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
            raise LedgerError(f"the outbox failed with {type(error).__name__}") from None


@dataclass(slots=True)
class Pending:
    """A charged release whose outcome is still to be recorded.

    `released` ends it; call it once. If a `with` block ends without a release, that ends it,
    too. After an exception the reason is "input", because only the caller knows whether the
    exception depended on private values. Such refusals are counted, and too many of them close the
    scope. If a refusal cannot be counted, the block raises the error that `released` would raise,
    instead of the exception.

    Attributes:
        salt: opens the commitment to the output.
    """

    book: Book
    charge: int
    utc: str
    _born: Generation = field(repr=False, compare=False)
    _asking: Asking | None = field(repr=False, compare=False)
    _event: Event = field(repr=False, compare=False)
    _has_answer: bool = field(default=False, repr=False, compare=False)
    _is_ended: bool = field(default=False, repr=False, compare=False)
    _untold: tuple[object, int] | None = field(default=None, repr=False, compare=False)
    salt: bytes = field(default_factory=partial(os.urandom, SALT_BYTES), repr=False, compare=False)

    def check_open(self) -> None:
        """Raise an error if a scope to which the release was charged is closed.

        A session calls this method before it reads a value.

        Raises:
            BudgetError: a scope is closed.
            LedgerError: the ledger cannot be used.
        """

        look = partial(_check_open, scopes=self._event.scopes)
        standing(self.charge, self._born, lambda: self.book.state(look))

    def released(self, output: str, salt: bytes | None = None) -> Receipt:
        """Record the outcome "released", with a commitment to the output.

        Show the output only after this method returns.

        If the request has an outbox, the outbox receives the output first.

        Args:
            output: the output as a string, such as JSON; the ledger stores only its hash.
            salt: salt to use instead of its own.

        Returns:
            Receipt: position of the record, and the salt that opens the commitment.

        Raises:
            ParameterError: the output is not a string.
            BudgetError: a scope was closed in the meantime; the charge remains.
            ChargeStands: the record could not be written, or the outbox failed.
        """
        if not isinstance(output, str) or not isinstance(salt, (bytes, type(None))):
            raise ParameterError("output must be a string, and salt bytes")
        salt = self.salt if salt is None else salt
        # From here on no other outcome is tried, as after a refusal that could not be written.
        self._has_answer = True
        if self._asking is not None and self._asking.outbox is not None:
            check_process(self._born)
            deliver = partial(self._asking.deliver, self.charge, salt, output)
            try:
                standing(self.charge, self._born, deliver)
            except LedgerError:
                # If the ledger fails as well, its error is told, as it would be of a refusal.
                self._settle("aborted", {"reason": "error"}, _check_open)
                raise
        committed = commitment(salt, output)

        def check(checker: Checker, scopes: tuple[str, ...]) -> None:
            found = None if scopes else checker.request_of(self.charge)
            if found is not None and found.commitment == committed:
                raise RepeatedRequest
            _check_open(checker, scopes)

        def look() -> int:
            found = self.book.state(lambda checker: checker.request_of(self.charge))
            if found is None or found.record is None or found.outcome != "released":
                raise LedgerError(f"the answer of charge {self.charge} was not released")
            return found.record

        try:
            place = self._settle("released", {"commitment": committed}, check)
        except RepeatedRequest:
            # Another process wrote the record; a look makes it durable.
            place = standing(self.charge, self._born, look)
        self._is_ended = True
        return Receipt(self.book.id, place, salt)

    def settled(self, output: str, spent: Mapping[str, int]) -> Receipt:
        """Record the outcome "settled", with the part of the charge that a session used.

        The charge remains.

        Args:
            spent: the amounts used, by the names of the limits in the parameters of the charge.

        Raises:
            ChargeStands: the record could not be written; you can call again.
        """
        committed, used = commitment(self.salt, output), {name: str(n) for name, n in spent.items()}
        record = self._settle("settled", {"commitment": committed, "spent": {**used}})
        return Receipt(self.book.id, record, self.salt)

    def aborted(self, reason: Reason) -> None:
        """Record the outcome "aborted", after which there will be no output.

        The charge remains.

        Nothing is written if `released` failed: the outbox may already have the answer, and then
        `Ledger.finish` can release it. If the outbox failed, `released` has recorded this outcome.

        Args:
            reason: "input" if private values caused the refusal. Such refusals are counted, and too
                many of them close the scope.

        Raises:
            BudgetError: the reason is "input", and a scope was closed in the meantime.
            ChargeStands: the record could not be written.
        """
        if self._is_ended or not self._has_answer:
            look = _check_open if reason == "input" else lambda *_: None
            self._settle("aborted", {"reason": reason}, look)

    def end(self, error: BaseException | None, private: type[Exception] = ScoreError) -> None:
        """Record that a call ended without an output because of the given error.

        A refusal of private input is reported only if it was counted, and only while the scopes are
        open. Otherwise this method raises the error that an answer would raise, whatever it is.

        Args:
            error: the reason, which is already being raised.
            private: what refuses private input. After a charge, only private values can still be
                refused.

        Raises:
            BudgetError: private input was refused, and a scope was closed before.
            LedgerError: no error explains why there is no output; or private input was refused,
                and the record could not be written.
        """
        reason = _reason(error, private)
        try:
            self.aborted(reason)
        except BaseException as failed:
            failed.__context__ = None  # the refusal being handled depends on private values
            if reason == "input" or not isinstance(failed, LedgerError):
                raise
        if error is None:
            raise LedgerError("the call ended without a release; the charge is not refunded")
        if reason != "input":
            error.__context__ = None  # so that it is the same where a refusal was being handled

    def __enter__(self) -> Pending:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not self._is_ended:
            self.end(error, Exception)

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
            if self._untold is not None and self._untold[0] == content:
                self.book.state(lambda _: None)  # tells the witness what it does not have yet
                return self._untold[1]
            try:
                return self.book.write(decide, wait=OUTCOME_WAIT).row.seq
            except Untold as error:
                self._untold = content, error.reading.row.seq
                raise

        event = replace(self._event, kind=kind)
        return self.book.reported(event, lambda: standing(self.charge, self._born, write))


def _check_open(checker: Checker, scopes: tuple[str, ...]) -> None:
    for name in scopes:
        checker.scopes[name].check_open(name)


def _reason(error: BaseException | None, private: type[Exception]) -> Reason:
    if isinstance(error, SourceError):
        return "source"
    if error is None or isinstance(error, (BudgetError, LedgerError)):
        return "error"
    if isinstance(error, private):
        return "input"
    return "error" if isinstance(error, Exception) else "interrupt"


def finish_request(book: Book, charge: int, output: str, salt: bytes) -> Receipt:
    """Write that the output of a request is released, by any process.

    Raises:
        ParameterError: no request was charged there.
        BudgetError, LedgerError: as `Pending.released`.
    """

    def look(checker: Checker) -> tuple[bool, tuple[str, ...]]:
        waits = checker.awaits(charge)
        return checker.request_of(charge) is not None, waits.scopes if waits else ()

    born = generation()
    was_asked, scopes = standing(charge, born, lambda: book.state(look))
    if not was_asked:
        raise ParameterError(f"record {charge} is not the charge of a request")
    event = Event("released", scopes, "")
    return Pending(book, charge, "", born, None, event, salt=salt).released(output)


def standing(charge: int, born: Generation, work: Callable[[], T]) -> T:
    """Do work after a charge; whatever fails, the error says that the charge stands.

    The words are the same whether there is an answer: a refusal of private input may fail as well.

    Raises:
        ChargeStands: the work failed in any other way.
        BudgetError, LedgerDamaged, LedgerRolledBack: as the work does.
    """
    try:
        return work()
    except (BudgetError, LedgerDamaged, LedgerRolledBack):
        raise
    except Exception as error:
        if generation() != born:
            raise  # the charge is the parent's
        why = reason_of(error)
    raise standing_error(charge, why)


def standing_error(charge: int, why: str) -> ChargeStands:
    """Return the error of a charge whose answer is withheld."""
    said = (
        f"the charge in record {charge} remains, and its answer is withheld: {why}; a session can "
        "try again; if the outbox has the answer, use Ledger.finish; otherwise the answer is lost"
    )
    return ChargeStands(said, charge=charge)


# -------------------------------------------------------------------------------------- scopes


@dataclass(frozen=True, slots=True)
class Payment:
    """A release about to be charged, in public terms.

    Attributes:
        charge: what it is and costs; if the joint cost of its parts is less, they are charged.
        source: where its random bytes come from.
        nonce: the 16 bytes that the source gave for this call; no sampler uses them.
    """

    charge: Charge
    source: Observed
    nonce: bytes


def charged(purpose: str, payment: Payment) -> dict[str, Content]:
    """Return the record of a charge without its amounts, which depend on the last total."""
    charge, source = payment.charge, payment.source
    return {
        **_costs(charge.guarantee, charge.parts),
        "purpose": purpose,
        "mechanism": charge.mechanism,
        "parameters": dict(charge.parameters),
        "source": {"name": source.name, "production": source.production, "health": source.health},
        "nonce": payment.nonce.hex(),
        "request": {},
    }


@lru_cache(maxsize=256)  # calls with equal arguments cost the same
def _costs(guarantee: AnyGuarantee, parts: View) -> dict[str, Content]:
    draws: list[Content] = [
        {"count": str(count), "each": guarantee_record(each)} for each, count in parts
    ]
    return {"guarantee": guarantee_record(guarantee), "parts": draws}


EXTERNAL = "external"
"""The source in the record of a release whose guarantee is asserted; no source has this name."""

_NAMED = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)+", re.ASCII)
_OURS = re.compile(r"[a-z0-9_]+/[0-9]+", re.ASCII)


def external_charge(
    guarantee: object, mechanism: object, parameters: Mapping[str, str] | None
) -> Charge:
    """Return the charge of a release of another library.

    Raises:
        ParameterError: an argument is wrong.
    """
    if not isinstance(guarantee, get_args(AnyGuarantee)):
        raise ParameterError(
            "guarantee must be a safeselect guarantee, such as PureDP(1), got "
            f"{describe(guarantee)}"
        )
    name = text(mechanism, "mechanism")
    if not _NAMED.fullmatch(name) or _OURS.fullmatch(name):
        raise ParameterError(
            "mechanism must be the name of a library and of its mechanism, such as "
            f"'opendp/laplace', optionally with a version of the mechanism, got {name!r}"
        )
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ParameterError(f"parameters must map names to strings, got {describe(parameters)}")
    recorded = {
        text(key, "the name of a parameter"): text(value, "the value of a parameter")
        for key, value in (parameters or {}).items()
    }
    return Charge(name, guarantee, ((guarantee, 1),), recorded)


@dataclass(frozen=True, slots=True)
class Scope:
    """An object through which releases are charged to one or more budgets of a ledger, for a stated
    purpose.

    Pass this object to mechanisms as `ledger=`.

    `dataset & analyst` charges both scopes in one record, or neither.
    """

    book: Book
    names: tuple[str, ...]
    unit: str
    neighbours: str
    purpose: str
    asking: Asking | None = None

    @property
    def name(self) -> str:
        """The names of the scopes, as messages show them."""
        return " & ".join(self.names)

    def __and__(self, other: Scope) -> Scope:
        """Return both together: a call charges all of them, or none.

        What a scope promises covers what is charged to it, if every release that reads its people's
        rows is charged to it, or no choice made under it uses an answer of one that is not.

        Raises:
            ParameterError: a scope is named twice; or they are not of one ledger, unit, kind of
                neighbours, purpose and request.
        """
        if not isinstance(other, Scope):
            return NotImplemented
        twice = [name for name in self.names if name in other.names]
        if twice:
            raise ParameterError(f"one call would charge scope {twice[0]!r} twice; join it once")
        if self.book is not other.book:
            raise ParameterError("scopes that are charged together must share one ledger object")
        if (self.unit, self.neighbours) != (other.unit, other.neighbours):
            raise ParameterError(
                "scopes that are charged together must have the same unit and neighbours; "
                f"{self.name!r} has {self.unit!r} and {self.neighbours!r}, {other.name!r} has "
                f"{other.unit!r} and {other.neighbours!r}"
            )
        if self.purpose != other.purpose:
            raise ParameterError("scopes that are charged together must have the same purpose")
        if self.asking and other.asking and self.asking != other.asking:
            raise ParameterError("scopes that are charged together must have the same request")
        asking = self.asking or other.asking
        return replace(self, names=self.names + other.names, asking=asking)

    def fits(self, asked: object) -> int | None:
        """Return how many more releases of one kind fit into the budgets, or None if any number
        fits.

        Args:
            asked: as for `Balance.fits`.

        Raises:
            ParameterError: as for `Balance.fits`.
        """
        balances = self.book.state(lambda checker: [checker.balance(name) for name in self.names])
        counts = [count for each in balances if (count := each.fits(asked)) is not None]
        return min(counts, default=None)

    def asked(self, request: str, *, question: str = "", outbox: Outbox | None = None) -> Scope:
        """Return a copy of this scope that is bound to one request.

        Retries of the request are never charged or drawn again.

        Args:
            request: the request ID. Create it at random for an authenticated caller, for
                example with `str(uuid.uuid4())`. Otherwise others could guess it and use it up, or
                recognise it in the records.
            question: the parts of the question that are not parameters of the mechanism, such as
                the table, the column and the filter. Only their hash is stored.
            outbox: stores the answer before it is released.

        Raises:
            ParameterError: the request ID is missing, or the scope already belongs to a request.
        """
        if self.asking is not None:
            raise ParameterError("this scope already belongs to a request")
        if not isinstance(question, str):
            raise ParameterError(f"question must be a string, got {describe(question)}")
        if outbox is not None and not callable(outbox):
            raise ParameterError(f"outbox must be a function, got {describe(outbox)}")
        asking = Asking(text(request, "request"), question, outbox)
        return replace(self, asking=asking)

    def charge(
        self,
        guarantee: AnyGuarantee,
        *,
        mechanism: str,
        parameters: Mapping[str, str] | None = None,
    ) -> Pending:
        """Charge for a release made with another library, before that library draws its first
        random bit.

        The record states that the source is `external`. You assert that the release has this
        guarantee; the library does not prove it.

        Args:
            guarantee: cost of the release, such as `PureDP("1/10")`.
            mechanism: name of the library and of its mechanism, such as "opendp/laplace".
            parameters: public parameters for the record; names and values are strings.

        Returns:
            Pending: a context manager; its `released(output)` ends the release.

        Raises:
            ParameterError: an argument is wrong; the guarantee does not bound the amounts of a
                budget; or the request ID was used for another question.
            RepeatedRequest: the request was charged before; nothing is charged again.
            BudgetError: a cap does not allow it, or a scope is closed; none is charged.
            LedgerError: the ledger cannot be used.

        Example:
            >>> from safeselect import Budget, Ledger, PureDP
            >>> ledger = Ledger.create(":memory:", {"a": Budget("person", "add_remove", epsilon=1)})
            >>> scope = ledger.scope("a", unit="person", neighbours="add_remove", purpose="a sum")
            >>> with scope.charge(PureDP("1/10"), mechanism="opendp/laplace") as pending:
            ...     total = 1234  # what the other library released
            ...     receipt = pending.released(str(total))
            >>> ledger.balance("a").spent
            {'epsilon': Fraction(1, 10)}
        """
        asserted = Observed(EXTERNAL, "asserted", "not tested")
        charge = external_charge(guarantee, mechanism, parameters)
        return self.pay(Payment(charge, asserted, os.urandom(16)))

    def begin(self, charge: Charge, bits: Bits) -> Pending:
        """Record the charge for a release durably, and then draw the salt for the commitment to
        its output.

        Only the nonce, before the charge, and the salt, after it, are taken from these bits; no
        sampler gets them.

        Raises:
            ParameterError, BudgetError, SourceError, LedgerError: as for `pay`.
        """
        nonce = bits.nonce  # drawn, if at all now, before the charge: the source is known to work
        pending = self.pay(Payment(charge, observed(bits.source), nonce))
        salt = bytearray(SALT_BYTES)
        try:
            bits.fill(salt)
        except BaseException as error:
            pending.end(error)
            raise
        pending.salt = bytes(salt)
        return pending

    def pay(self, payment: Payment) -> Pending:
        """Record the charge for a release durably, before any of its noise is drawn.

        Raises:
            ParameterError: the guarantee does not bound the amounts that a budget adds up; or
                another question was asked under the request ID.
            RepeatedRequest: the request was charged before; nothing is charged again.
            BudgetError: a cap does not allow it, or a scope is closed; none is charged.
            SourceError: the ledger has seen the nonce.
            LedgerBusy: others are using the ledger; nothing was charged.
            ChargeStands: the release was charged, but the witness could not be informed.
            LedgerError: the ledger cannot be used.
        """
        born, content = generation(), charged(self.purpose, payment)
        charge = payment.charge
        id_, question = self._identity(charge)
        if id_:
            content["request"] = {"id": id_, "asked": question}

        prices: dict[str, Amounts] = {}
        event = Event("charged", self.names, charge.mechanism, prices)

        def decide(checker: Checker) -> Written:
            # A child that continues its parent's call would charge once for two answers.
            check_process(born)
            if id_ in checker.requests:
                raise RepeatedRequest(record=checker.requests[id_].charge)
            balances = {name: checker.balance(name) for name in self.names}
            priced = charge.guarantee, charge.parts
            for name, balance in balances.items():  # what is refused is told with its prices, too
                prices[name] = balance.budget.price(*priced)
            charges: list[Content] = [
                balance.charge(name, prices[name], *priced) for name, balance in balances.items()
            ]
            if int.from_bytes(payment.nonce, "big") in checker.nonces:
                raise SourceError(
                    "the source returned a nonce that this ledger already has, so the source "
                    "repeats its bytes; nothing was charged or released"
                )
            ran = library()
            stated: dict[str, Content] = {} if checker.library == ran else {"library": {**ran}}
            return "charged", {**content, **stated, "charges": charges}

        def write() -> Reading:
            try:
                return self.book.write(decide)
            except RepeatedRequest as error:
                place = error.record or 0
            except Untold as error:
                seq, why = error.reading.row.seq, str(error)
                raise standing_error(seq, why) from None
            # What is told of a record must be on the disk; a look makes it durable.
            look = partial(self.book.state, lambda checker: checker.requests.get(id_))
            raise self._repeated(question, standing(place, born, look))

        made = self.book.reported(event, write)
        return Pending(self.book, made.row.seq, made.record["utc"], born, self.asking, event)

    def _identity(self, charge: Charge) -> tuple[str, str]:
        """Return the two hashes of the request; two empty texts without one.

        The order in which scopes were joined, and what is drawn anew for each try, do not matter.
        """
        if self.asking is None:
            return "", ""
        scopes: list[Content] = [*sorted(self.names)]
        question: dict[str, Content] = {
            "scopes": scopes,
            "purpose": self.purpose,
            "mechanism": charge.mechanism,
            "guarantee": guarantee_record(charge.guarantee),
            "parameters": dict(charge.parameters),
            "question": self.asking.question,
        }
        ledger, request = self.book.id, self.asking.request
        return request_hash(ledger, request), question_hash(ledger, request, question)

    def _repeated(self, question: str, found: Request | None) -> BudgetError | ParameterError:
        if found is None or found.asked != question:
            return ParameterError(
                "this request ID was already used for a different question; use a new request ID; "
                "nothing was charged"
            )
        outcome = "has no outcome yet" if found.outcome is None else f"was {found.outcome}"
        return RepeatedRequest(
            f"this request was already charged in record {found.charge}, which {outcome}; nothing "
            "was charged or drawn again",
            scope=self.name,
            record=found.charge,
            outcome=found.outcome,
        )


def scope_of(book: Book, name: str, unit: str, neighbours: str, purpose: str) -> Scope:
    """Return a scope of a ledger, if it has this unit and these neighbours.

    Raises:
        ParameterError: there is no such scope, or it has others.
    """
    budget = book.state(lambda checker: checker.balance(name)).budget
    if (unit, neighbours) != (budget.unit, budget.neighbours):
        raise ParameterError(
            f"scope {name!r} has unit {budget.unit!r} and neighbours {budget.neighbours!r}, but "
            f"this call asks for {describe(unit)} and {describe(neighbours)}; use another scope, "
            f"or pass unit={budget.unit!r} and neighbours={budget.neighbours!r}"
        )
    return Scope(book, (name,), budget.unit, budget.neighbours, text(purpose, "purpose"))
