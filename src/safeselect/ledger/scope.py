"""A ledger as mechanisms see it: a scope to charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from safeselect.errors import ParameterError, SourceError
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Charge, Written, amounts, charged
from safeselect.ledger.pending_release import Pending, PendingRelease, check_open, check_process
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.budget import check_cap
from safeselect.ledger.records.replay import Checker
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Content
from safeselect.randomness.memory import generation

__all__ = ["Scope", "balance_of"]


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
        return PendingRelease(self.charge, mechanism, guarantee, parts, parameters)

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
            check_process(born)
            balance = balance_of(checker, self.name)
            price = balance.budget.price(charge.guarantee, charge.parts)
            check_open(self.name, balance)
            check_cap(self.name, balance.spent, price, balance.budget)
            if checker.has_nonce(charge.nonce):
                raise SourceError(
                    "the source gave a nonce that this ledger has seen: its randomness is a copy "
                    "of another's; nothing was charged and nothing released"
                )
            charges: list[Content] = [amounts(self.name, balance, price)]
            return "charged", content | {"charges": charges}

        return Pending(self.book, self.book.write(decide), str(content["utc"]), born)


def balance_of(checker: Checker, scope: str) -> Balance:
    """Return the balance of a scope.

    Raises:
        ParameterError: there is no such scope.
    """
    balance = checker.scopes.get(scope)
    if balance is None:
        raise ParameterError(f"there is no scope {scope!r} in this ledger")
    return balance
