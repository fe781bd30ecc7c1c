"""A ledger as mechanisms see it: a scope to charge, and a charge that awaits its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from safeselect.errors import BudgetError, LedgerError, ParameterError, SourceError
from safeselect.ledger._ledger_book import Book
from safeselect.ledger._ledger_budget import check_cap
from safeselect.ledger._ledger_words import Written, amounts, charged
from safeselect.ledger._pending_release import Charge, PendingRelease
from safeselect.ledger._record_replay import Checker
from safeselect.ledger._record_scope import Balance
from safeselect.ledger.record import commitment
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Content, Receipt
from safeselect.randomness.memory import Generation, generation

__all__ = ["Pending", "Scope", "balance_of"]


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope of a ledger and a purpose; mechanisms take it as `ledger=`."""

    book: Book
    name: str
    unit: str
    neighbours: str
    purpose: str

    def prepare(
        self,
        mechanism: str,
        guarantee: Guarantee,
        parts: tuple[tuple[Guarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> PendingRelease:
        """Return a release of a mechanism that is not charged yet.

        Args:
            mechanism, guarantee, parts, parameters: as in `Charge`.
        """
        return PendingRelease(self, mechanism, guarantee, parts, parameters)

    def charge(self, charge: Charge) -> Pending:
        """Charge a release durably, before its first random bit is drawn.

        Raises:
            ParameterError: the guarantee does not bound the amounts that the budget adds up.
            BudgetError: a cap does not allow it, or the scope is closed.
            SourceError: the ledger has seen the nonce.
            LedgerBusy: others use the ledger; nothing was charged.
            LedgerError: the ledger cannot be used.
        """
        born, content = generation(), charged(self.purpose, charge)

        def decide(checker: Checker) -> Written:
            # A child that continues its parent's call would charge once for two answers.
            _check_process(born)
            standing = balance_of(checker, self.name)
            price = standing.budget.price(charge.guarantee, charge.parts)
            _check_open(self.name, standing)
            check_cap(self.name, standing.spent, price, standing.budget)
            if checker.has_nonce(charge.nonce):
                raise SourceError(
                    "the source gave a nonce that this ledger has seen: its randomness is a copy "
                    "of another's; nothing was charged and nothing released"
                )
            charges: list[Content] = [amounts(self.name, standing, price)]
            return "charged", content | {"charges": charges}

        return Pending(self.book, self.book.write(decide), born)


@dataclass(frozen=True, slots=True)
class Pending:
    """A charged release whose outcome this process must write, once."""

    book: Book
    charge: int
    _born: Generation = field(repr=False, compare=False)

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output; show the output only after this returns.

        Raises:
            BudgetError: the scope was closed in between; the charge stands.
            LedgerError: the record could not be written; the charge stands.
        """
        committed = commitment(salt, output)
        record = self._settle("released", {"commitment": committed})
        return Receipt(self.book.id, record, salt)

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

    def aborted(self, reason: Literal["source", "interrupt", "error", "input"]) -> None:
        """Write that there will be no output; the charge stands.

        Args:
            reason: "input" if private values caused the refusal.  Such refusals are counted, and
                too many close the scope.
        """
        self._settle("aborted", {"reason": reason})

    def _settle(self, kind: str, content: Mapping[str, Content]) -> int:
        def decide(checker: Checker) -> Written:
            _check_process(self._born)
            waits = checker.awaits(self.charge)
            if waits is None:
                raise LedgerError(f"the outcome of charge {self.charge} is in the ledger already")
            if kind == "released":
                for name in waits.scopes:
                    _check_open(name, checker.scopes[name])
            return kind, {"charge": str(self.charge), **content}

        return self.book.write(decide)


def balance_of(checker: Checker, scope: str) -> Balance:
    """Return the balance of a scope.

    Raises:
        ParameterError: there is no such scope.
    """
    standing = checker.scopes.get(scope)
    if standing is None:
        raise ParameterError(f"there is no scope {scope!r} in this ledger")
    return standing


def _check_process(born: Generation) -> None:
    """Check that this process made the charge, as it must also write the outcome.

    Raises:
        LedgerError: this is a child of that process.
    """
    if generation() != born:
        raise LedgerError(
            "this process was forked in the middle of a call of its parent's, to which the charge "
            "belongs: call anew"
        )


def _check_open(scope: str, standing: Balance) -> None:
    """Refuse every answer of a closed scope, with one sentence.

    Raises:
        BudgetError: the scope is closed.
    """
    if standing.is_closed:
        raise BudgetError(
            f"scope {scope!r} is closed: calls that were charged were refused for what the data "
            "hold, and how often is not differentially private; the owner of the ledger opens it "
            "again with: safeselect ledger reopen",
            scope=scope,
        )
