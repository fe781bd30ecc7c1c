"""What the owner of a ledger does with it: new scopes, and limits raised."""

from __future__ import annotations

from safeselect.errors import ParameterError
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Written, opened_scope, raised
from safeselect.ledger.pending_release import balance_of
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.replay import Checker

__all__ = ["add_scope", "reopen"]


def add_scope(book: Book, name: str, budget: Budget, max_refusals: int) -> None:
    """Open another scope."""

    def decide(checker: Checker) -> Written:
        if name in checker.scopes:
            raise ParameterError(f"there is a scope {name!r} already")
        return opened_scope(name, budget, max_refusals)

    book.write(decide)


def reopen(book: Book, name: str, refusals: int, reason: str) -> None:
    """Raise the limit of refusals of a scope that is closed."""

    def decide(checker: Checker) -> Written:
        balance = balance_of(checker, name)
        if not balance.is_closed:
            raise ParameterError(f"scope {name!r} is not closed")
        return raised(name, balance, refusals, reason)

    book.write(decide)
