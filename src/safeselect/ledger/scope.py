"""A ledger as mechanisms see it: the scopes that one call charges.

A release of another library is charged too: what it costs is asserted, not proved here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import get_args

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.errors import BudgetError, ParameterError, RepeatedRequest, SourceError
from safeselect.exact.parameters import describe
from safeselect.ledger.book import Book, Event, Written
from safeselect.ledger.budget import Amounts, View
from safeselect.ledger.pending import SALT_BYTES, Asking, Outbox, Pending, standing, standing_error
from safeselect.ledger.record import library, question_hash, request_hash, text
from safeselect.ledger.replay import Checker, Reading, Request
from safeselect.ledger.stores.turn import check_process
from safeselect.ledger.witness import Untold
from safeselect.promises.guarantees import Content, guarantee_record
from safeselect.randomness.bits import Bits
from safeselect.randomness.guard import generation
from safeselect.release.call import Charge
from safeselect.sources import Observed, observed


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
            "guarantee must be a guarantee of safeselect, such as PureDP(1), got "
            f"{describe(guarantee)}"
        )
    name = text(mechanism, "mechanism")
    if not _NAMED.fullmatch(name) or _OURS.fullmatch(name):
        raise ParameterError(
            "mechanism must be a library and a law, such as 'opendp/laplace', optionally with a "
            f"version of the law, got {name!r}"
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
    """One or more scopes of a ledger with a purpose; mechanisms accept it as `ledger=`.

    `dataset & analyst` charges both in one record, or neither.
    """

    book: Book
    names: tuple[str, ...]
    unit: str
    neighbours: str
    purpose: str
    asking: Asking | None = None

    @property
    def name(self) -> str:
        """The names, as messages give them."""
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
            raise ParameterError(f"one call would charge scope {twice[0]!r} twice")
        if self.book is not other.book:
            raise ParameterError(
                "scopes that are charged together must belong to the same ledger object"
            )
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
        """Return the number of further releases of one kind that fit, or None if it has no limit.

        Args:
            asked: as for `Balance.fits`.

        Raises:
            ParameterError: as `Balance.fits`.
        """
        balances = self.book.state(lambda checker: [checker.balance(name) for name in self.names])
        counts = [count for each in balances if (count := each.fits(asked)) is not None]
        return min(counts, default=None)

    def asked(self, request: str, *, question: str = "", outbox: Outbox | None = None) -> Scope:
        """Return the scope for one request, whose retries are never charged or drawn again.

        Args:
            request: identity of the request.  Make it at random for a caller whom you know, for
                example `str(uuid.uuid4())`: others could use up one that they can guess, or
                recognise it in the records.
            question: what belongs to the question and is no parameter of the mechanism, such as the
                table, the column and the filter.  Only its hash is kept.
            outbox: keeps the answer before it is released.

        Raises:
            ParameterError: the request has no identity, or the scope belongs to a request already.
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
        """Charge a release of another library, before it draws its first random bit.

        The record says that the source is `external`: that the release has this guarantee is your
        assertion, and not proved here.

        Args:
            guarantee: what the release costs, such as `PureDP("1/10")`.
            mechanism: the library and its mechanism, such as "opendp/laplace".
            parameters: public parameters, for the record: names and values are texts.

        Returns:
            Pending: for `with`; its `released(output)` ends the release.

        Raises:
            ParameterError: an argument is wrong, or the guarantee does not bound the amounts that a
                budget adds up; or another question was asked under the request's identity.
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
        """Charge a release durably, then draw the salt of its commitment.

        Only the nonce, before the charge, and the salt, after it, are taken of these bits; no
        sampler gets them.

        Raises:
            ParameterError, BudgetError, SourceError, LedgerError: as `pay`.
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
        """Charge a release durably, before its first random bit is drawn.

        Raises:
            ParameterError: the guarantee does not bound the amounts that a budget adds up; or
                another question was asked under the request's identity.
            RepeatedRequest: the request was charged before; nothing is charged again.
            BudgetError: a cap does not allow it, or a scope is closed; none is charged.
            SourceError: the ledger has seen the nonce.
            LedgerBusy: others use the ledger; nothing was charged.
            ChargeStands: it was charged, and what is kept elsewhere could not be told.
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
            if id_ in checker.requests.found:
                raise RepeatedRequest(record=checker.requests.found[id_].charge)
            balances = {name: checker.balance(name) for name in self.names}
            priced = charge.guarantee, charge.parts
            for name, balance in balances.items():  # what is refused is told with its prices, too
                prices[name] = balance.budget.price(*priced)
            charges: list[Content] = [
                balance.charge(name, prices[name], *priced) for name, balance in balances.items()
            ]
            if checker.has_nonce(payment.nonce):
                raise SourceError(
                    "the source returned a nonce that this ledger already has, so its randomness "
                    "is a copy; nothing was charged or released"
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
            look = partial(self.book.state, lambda checker: checker.requests.found.get(id_))
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
                "this request identity was already used for a different question; use a new "
                "identity; nothing was charged"
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
            f"scope {name!r} protects unit {budget.unit!r} under {budget.neighbours!r}, but this "
            f"call asks for {describe(unit)} under {describe(neighbours)}; open another scope, or "
            f"pass unit={budget.unit!r} and neighbours={budget.neighbours!r}"
        )
    return Scope(book, (name,), unit, neighbours, text(purpose, "purpose"))
