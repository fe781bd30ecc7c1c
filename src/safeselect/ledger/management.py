"""What the owner of a ledger does with it: new scopes, and limits raised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import cast

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Written, more_refusals, opened_scope, raised
from safeselect.ledger.pending import balance_of
from safeselect.ledger.records.approvals import Proposal
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.replay import Checker
from safeselect.promises.records import Content, exact_text

LIMITS = ("epsilon", "delta", "rho")


def add_scope(checker: Checker, name: str, budget: Budget, max_refusals: int) -> Written:
    """Return the record of another scope."""
    if name in checker.scopes:
        raise ParameterError(f"there is a scope {name!r} already")
    return opened_scope(name, budget, max_refusals)


def reopen(checker: Checker, name: str, refusals: int, reason: str) -> Written:
    """Return the record that raises the limit of refusals of a scope that is closed."""
    balance = balance_of(checker, name)
    if not balance.is_closed:
        raise ParameterError(f"scope {name!r} is not closed")
    return raised(name, "max_refusals", *more_refusals(balance, refusals), reason)


def raise_limit(checker: Checker, name: str, limit: str, after: Fraction, reason: str) -> Written:
    """Return the record that raises a number of a scope's budget."""
    terms = balance_of(checker, name).budget.terms
    if limit not in LIMITS or limit not in terms:
        allowed = ", ".join(each for each in LIMITS if each in terms)
        raise ParameterError(f"of scope {name!r} one can raise {allowed}, not {describe(limit)}")
    if after <= terms[limit]:
        raise ParameterError(f"{limit} of scope {name!r} is {terms[limit]} already")
    balance_of(checker, name).budget.with_limit(limit, after)  # refuses what is no budget
    return raised(name, limit, exact_text(terms[limit]), exact_text(after), reason)


def unapproved(decide: Callable[[Checker], Written]) -> Callable[[Checker], Written]:
    """Return the decision, for ledgers in which nobody approves."""

    def decided(checker: Checker) -> Written:
        if checker.approvers is not None:
            raise ParameterError(
                "in this ledger approvers sign every new scope and raised limit: propose it"
            )
        return decide(checker)

    return decided


def propose(checker: Checker, written: Written) -> Proposal:
    """Return what approvers sign for this record.

    Raises:
        ParameterError: the ledger has no approvers.
    """
    if checker.approvers is None:
        raise ParameterError("nobody approves in this ledger: it was created without approvers=")
    kind, content = written
    record: dict[str, Content] = {**content, "kind": kind, "ledger": checker.ledger}
    return Proposal.of(record, checker.changed)


def enact(book: Book, proposal: object, approvals: object) -> None:
    """Write a change that approvers signed."""
    if not isinstance(proposal, Proposal) or not isinstance(proposal.text, str):
        raise ParameterError(f"proposal must be a Proposal, got {describe(proposal)}")
    if isinstance(approvals, (str, bytes, Mapping)) or not isinstance(approvals, Iterable):
        raise ParameterError(f"approvals must be a list, got {describe(approvals)}")
    signed = list(approvals)

    def decide(checker: Checker) -> Written:
        if checker.approvers is None:
            raise ParameterError(
                "nobody approves in this ledger: it was created without approvers="
            )
        try:
            content = proposal.content
            ledger, since, kind = (content.pop(name, "") for name in ("ledger", "since", "kind"))
            if ledger != checker.ledger or since != checker.changed:
                raise ParameterError(
                    "the proposal is for another ledger, or its scopes and limits have changed "
                    "since: propose it anew"
                )
            checker.approvers.check(proposal, signed, "the proposal")
        except LedgerDamaged as error:
            raise ParameterError(str(error)) from None
        if kind == "key":  # the record is signed by the new key, which is not here
            raise ParameterError(
                "a key is replaced by rotate(key, approvals), with these approvals"
            )
        return kind, {**content, "approvals": cast("list[Content]", signed)}

    book.write(decide)
