"""What the owner of a ledger does with it: new scopes, limits raised, and another signing key.

In a ledger that was created with approvers, these are proposed, signed by them, and then enacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import Number, describe, exact_text, integer, rational, read_list
from safeselect.ledger.balance import MAX_REFUSALS, Budget, exact_texts, names_of
from safeselect.ledger.book import Book, Written, opened_scope
from safeselect.ledger.budget import Amounts
from safeselect.ledger.record import text
from safeselect.ledger.replay import Checker
from safeselect.ledger.signing import (
    Approvers,
    Proposal,
    handover_message,
    is_key,
    is_signed,
    key_of,
    read_public_key,
    read_signer,
    stated,
)
from safeselect.promises.guarantees import Content

# Mechanisms refuse what is not proved for replaced units, by this exact word.
_KNOWN = {
    **dict.fromkeys(("addremove", "addorremove"), "add_remove"),
    **dict.fromkeys(("replaceone", "replace"), "replace_one"),
}


def read_refusals(value: object, name: str) -> int:
    """Read a number of refusals, from 1 to 1000.

    Raises:
        ParameterError: it is something else.
    """
    return integer(value, name, minimum=1, maximum=1000)


def check_budget(name: object, budget: object) -> None:
    """Check a new scope.

    Raises:
        ParameterError: its name is no line of text, its budget is no Budget, or its neighbours are
            nearly one of the two words that mechanisms know.
    """
    if not isinstance(budget, Budget):
        raise ParameterError(f"the budget of a scope must be a Budget, got {describe(budget)}")
    for each in (name, *names_of(str(name), budget)):
        text(each, "a block with " * (each is not name) + "the name of a scope")
    written = budget.neighbours
    meant = _KNOWN.get("".join(filter(str.isalpha, written.casefold())), written)
    if meant != written:
        raise ParameterError(f"neighbours={written!r} is misspelled; use neighbours={meant!r}")


def raised(
    scope: str, limit: str, before: str, after: str, reason: str, caps: Amounts | None = None
) -> Written:
    """Return the record that raises a limit of a scope; nobody has approved it yet.

    Args:
        caps: of the budget after it; a limit of refusals leaves them.
    """
    return "raised", {
        "scope": scope,
        "limit": limit,
        "before": before,
        "after": after,
        "caps": exact_texts(caps or {}),
        "reason": reason,
        "approvals": [],
    }


Decide = Callable[[Checker], Written]
"""Returns the record of a change that the state allows, or raises; its arguments were checked."""


def add_scope(name: str, budget: Budget, max_refusals: int) -> Decide:
    """Return what decides about another scope."""
    check_budget(name, budget)
    limit = read_refusals(max_refusals, "max_refusals")

    def decide(checker: Checker) -> Written:
        if (there := checker.clash(name, budget)) is not None:
            raise ParameterError(f"scope {there!r} already exists, or its name conflicts")
        return opened_scope(name, budget, limit)

    return decide


def reopen(name: str, reason: str, refusals: int) -> Decide:
    """Return what decides about so many more refusals of a scope that is closed."""
    more, why = read_refusals(refusals, "refusals"), text(reason, "reason")
    known = text(name, "scope")

    def decide(checker: Checker) -> Written:
        balance = checker.balance(known)
        if not balance.is_closed:
            raise ParameterError(f"scope {known!r} is not closed")
        after = max(balance.max_refusals, balance.refusals) + more
        return raised(known, "max_refusals", str(balance.max_refusals), str(after), why)

    return decide


def raise_limit(checker: Checker, name: str, limit: str, after: Fraction, reason: str) -> Written:
    """Return the record that raises a number of a scope's budget."""
    budget = checker.balance(name).budget
    limits = budget.terms.limits
    if limit not in [*limits]:  # it may be a value that cannot be hashed
        raise ParameterError(f"scope {name!r} limits {' and '.join(limits)}, not {describe(limit)}")
    if after <= limits[limit]:
        raise ParameterError(f"{limit} of scope {name!r} must be raised above {limits[limit]}")
    caps = budget.at(limit, after).caps  # refuses what is above the ceiling
    return raised(name, limit, exact_text(limits[limit]), exact_text(after), reason, caps)


def unapproved(decide: Decide) -> Decide:
    """Return the decision, for ledgers in which nobody approves."""

    def decided(checker: Checker) -> Written:
        if checker.approvers is not None:
            raise ParameterError(
                "approvers must sign new scopes, raised limits and reopenings; use ledger.propose"
            )
        return decide(checker)

    return decided


def proposed(checker: Checker, written: Written) -> dict[str, Content]:
    """Return what approvers sign of this record."""
    kind, content = written
    return {**content, "kind": kind, "ledger": checker.ledger}


def _approvers(checker: Checker) -> Approvers:
    if checker.approvers is None:
        raise ParameterError("this ledger has no approvers: it was created without approvers=")
    return checker.approvers


def enact(book: Book, proposal: object, approvals: object) -> None:
    """Write a change that the approvers have signed."""
    if not isinstance(proposal, Proposal) or not isinstance(proposal.text, str):
        raise ParameterError(f"proposal must be a Proposal, got {describe(proposal)}")
    signed = read_list(approvals, "approvals")

    def decide(checker: Checker) -> Written:
        approvers = _approvers(checker)
        try:
            content = proposal.content
            since, _ = (content.pop(name, "") for name in ("since", "until"))
            if content.get("ledger") != checker.ledger or since != checker.changed:
                raise ParameterError(
                    "the proposal is for another ledger, or the scopes, limits or keys have "
                    "changed since it was made; make a new proposal"
                )
            approvers.check(content, since, signed, checker.count, "the proposal")
            kind = content.pop("kind", "")
            del content["ledger"]
        except LedgerDamaged as error:
            raise ParameterError(str(error)) from None
        if kind == "key":  # the record is signed by the new key, which is not here
            raise ParameterError("to replace the key, call rotate(key, approvals) instead")
        return kind, {**content, "approvals": signed}

    book.write(decide)


def rotate(book: Book, key: object, approvals: object) -> None:
    """Replace the signing key.

    Raises:
        ParameterError: it is no new key of Ed25519; or neither did the key in force open the
            ledger, nor did enough approvers sign.
        LedgerError: a record or a signature fails its check, or the ledger cannot be used.
    """
    new = read_signer(key)
    if new is None:
        raise ParameterError("key must be the new signer, not None")
    signed = read_list(approvals, "approvals")
    if not is_signed(new.public_key.hex(), _TEST, new.sign(_TEST).hex()):
        raise ParameterError("the signatures of the new key do not match its public key")
    verified = _verified(book) if signed else None

    def decide(checker: Checker) -> Written:
        kind, content = _next(checker, key_of(new))
        if verified is not None:
            if checker.last != verified:
                raise ParameterError("the ledger was changed during this call; try again")
            about = proposed(checker, (kind, content)), checker.changed, signed, checker.count
            try:
                _approvers(checker).check(*about, "the key")
            except LedgerDamaged as error:
                raise ParameterError(str(error)) from None
            return kind, {**content, "approvals": signed}
        if book.signer is None or not is_key(book.signer, checker.signer):
            raise ParameterError(
                "the current key must sign the handover; open the ledger with this key as signer= "
                "or, if the key is lost, pass approvals of a proposal from ledger.propose.key"
            )
        place: dict[str, Content] = {"seq": str(checker.count), "previous": checker.last}
        message = handover_message({**content, **place, "ledger": checker.ledger})
        return kind, {**content, "handover": book.signer.sign(message).hex()}

    book.write(decide, new)


def _next(checker: Checker, said: Mapping[str, str]) -> Written:
    """Return the record of the next key, before anybody signs it."""
    if not checker.signer:
        raise ParameterError("this ledger is not signed; create a signed one with signer=")
    if said["public_key"] in checker.keys.used:
        raise ParameterError("this key has already signed records of the ledger; use a new key")
    if checker.approvers is not None and said["public_key"] in checker.approvers.keys:
        raise ParameterError("the key that signs records cannot be an approver's key")
    replaced = checker.signer["public_key"]
    return "key", {"signer": dict(said), "replaces": replaced, "handover": "", "approvals": []}


def _verified(book: Book) -> str:
    """Verify all records with the keys that they state; return the last hash.

    The approvers' key vouches for all records before it, and nobody has to hold the old one.
    """
    public = book.state(lambda checker: checker.signer.get("public_key"))
    checker = Checker([bytes.fromhex(public)] if public else ())
    for row in book.rows():
        checker.check(row.body, row.hash, row.signature)
    checker.finish()
    return checker.last


_TEST = b"safeselect/key test"


@dataclass(frozen=True, slots=True)
class Proposals:
    """An object whose methods create proposals for approvers to sign.

    A proposal takes effect only after approvers have signed it.

    Every method raises `ParameterError` if a parameter is wrong or the ledger has no approvers, and
    `LedgerError` if the ledger cannot be used.
    """

    _book: Book
    _records: int = 1000

    def within(self, records: int) -> Proposals:
        """Return a copy of this object whose proposals expire once the given number of further
        records have been added to the ledger.

        The default is 1000.

        Args:
            records: from 1 to 10**9; charges and outcomes count too.
        """
        return Proposals(self._book, integer(records, "records", minimum=1, maximum=10**9))

    def scope(self, name: str, budget: Budget, *, max_refusals: int = MAX_REFUSALS) -> Proposal:
        """Return a proposal to add a scope.

        The arguments are those of `Ledger.add_scope`.
        """
        return self._of(add_scope(name, budget, max_refusals))

    def limit(self, name: str, *, limit: str, to: Number, reason: str) -> Proposal:
        """Return a proposal to raise one limit of a scope's budget.

        The new value must not exceed the ceiling of the budget. Unit, neighbours, orders, weights
        and the share of own deltas never change.

        Args:
            name: the scope.
            limit: "epsilon", "delta" or "rho", a limit of the scope's budget.
            to: the new value.
            reason: reason, one line for the records.
        """
        known, why, after = text(name, "scope"), text(reason, "reason"), rational(to, "to")
        return self._of(lambda checker: raise_limit(checker, known, limit, after, why))

    def reopening(self, name: str, *, reason: str, refusals: int = MAX_REFUSALS) -> Proposal:
        """Return a proposal to reopen a scope.

        The arguments are those of `Ledger.reopen`.
        """
        return self._of(reopen(name, reason, refusals))

    def key(self, public_key: bytes, *, key_id: str) -> Proposal:
        """Return a proposal to replace a lost signing key.

        Args:
            public_key: the next key, as a PEM file or as 32 bytes.
            key_id: a readable name of the key.
        """
        said = stated(read_public_key(public_key), text(key_id, "key_id"))
        return self._of(lambda checker: _next(checker, said))

    def _of(self, decide: Decide) -> Proposal:
        def propose(checker: Checker) -> Proposal:
            _approvers(checker)
            until = str(checker.count - 1 + self._records)
            return Proposal.of(proposed(checker, decide(checker)), checker.changed, until)

        return self._book.state(propose)
