"""Proposals of new scopes, raised limits and keys, in a ledger that was created with approvers."""

from __future__ import annotations

from dataclasses import dataclass

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, rational
from safeselect.ledger.arguments import check_budget, read_refusals
from safeselect.ledger.book import Book
from safeselect.ledger.management import add_scope, propose, raise_limit, reopen
from safeselect.ledger.records.approvals import Proposal
from safeselect.ledger.records.balance import MAX_REFUSALS
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.record import text
from safeselect.ledger.records.signatures import Verifier, read_verifier
from safeselect.ledger.rotation import propose_key


@dataclass(frozen=True, slots=True)
class Proposals:
    """What can be proposed; nothing is written before `Ledger.enact`.

    Every method raises `ParameterError` if a parameter is wrong or nobody approves in this ledger,
    and `LedgerError` if the ledger cannot be used.
    """

    _book: Book

    def scope(self, name: str, budget: Budget, *, max_refusals: int = MAX_REFUSALS) -> Proposal:
        """Return the proposal of another scope; arguments as for `Ledger.add_scope`."""
        check_budget(name, budget)
        limit = read_refusals(max_refusals, "max_refusals")
        return self._book.state(
            lambda checker: propose(checker, add_scope(checker, name, budget, limit))
        )

    def limit(self, name: str, *, limit: str, to: Number, reason: str) -> Proposal:
        """Return the proposal of a greater budget.

        Unit, neighbours, the quantity that adds up and its order never change.

        Args:
            name: the scope.
            limit: "epsilon", "delta" or "rho", as the scope's budget has it.
            to: the new value.
            reason: why; one line that goes into the records.
        """
        known, why, after = text(name, "scope"), text(reason, "reason"), rational(to, "to")
        return self._book.state(
            lambda checker: propose(checker, raise_limit(checker, known, limit, after, why))
        )

    def reopening(self, name: str, *, reason: str, refusals: int = MAX_REFUSALS) -> Proposal:
        """Return the proposal to reopen a scope; arguments as for `Ledger.reopen`."""
        more, why = read_refusals(refusals, "refusals"), text(reason, "reason")
        known = text(name, "scope")
        return self._book.state(lambda checker: propose(checker, reopen(checker, known, more, why)))

    def key(self, key: Verifier) -> Proposal:
        """Return the proposal of another signing key, when the one in force is lost.

        Args:
            key: the next key, of Ed25519; its public half is enough.
        """
        new = read_verifier(key)
        if new is None:
            raise ParameterError("key must be the next key, got None")
        return self._book.state(lambda checker: propose_key(checker, new))
