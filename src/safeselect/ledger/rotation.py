"""Another key that signs the records of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.book import Book
from safeselect.ledger.entries import Written, replaced
from safeselect.ledger.management import propose
from safeselect.ledger.records.approvals import Proposal
from safeselect.ledger.records.keys import ED25519, handover_message, is_replaceable
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import (
    Signer,
    Verifier,
    is_key,
    key_of,
    public_verifier,
    read_signer,
)
from safeselect.promises.records import Content


def propose_key(checker: Checker, key: Verifier) -> Proposal:
    """Return what approvers sign for another key, when the one in force is lost."""
    return propose(checker, _next(checker, key))


def rotate(book: Book, key: object, approvals: object) -> None:
    """Replace the signing key.

    Raises:
        ParameterError: it is no new key of Ed25519; or neither did the key in force open the
            ledger, nor did enough approvers sign.
        LedgerError: a record or a signature fails its check, or the ledger cannot be used.
    """
    new = read_signer(key)
    if new is None:
        raise ParameterError("key must be the new signer, got None")
    if isinstance(approvals, (str, bytes, Mapping)) or not isinstance(approvals, Iterable):
        raise ParameterError(f"approvals must be a list, got {describe(approvals)}")
    signed = list(approvals)
    verified = _verified(book) if signed else None

    def decide(checker: Checker) -> Written:
        kind, content = _next(checker, new)
        if verified is not None:
            if checker.last != verified:
                raise ParameterError("somebody else wrote to the ledger meanwhile: try again")
            record: dict[str, Content] = {**content, "kind": kind, "ledger": checker.ledger}
            proposal = Proposal.of(record, checker.changed)
            try:
                if checker.approvers is None:
                    raise ParameterError("nobody approves in this ledger: the old key must sign")
                checker.approvers.check(proposal, signed, "the key")
            except LedgerDamaged as error:
                raise ParameterError(str(error)) from None
            return kind, {**content, "approvals": cast("list[Content]", signed)}
        if book.signer is None or not is_key(book.signer, checker.signer):
            raise ParameterError(
                "the key in force hands over to the next: open the ledger with it as signer=, or, "
                "if it is lost, give approvals of propose.key"
            )
        place: dict[str, Content] = {"seq": str(checker.count), "previous": checker.last}
        message = handover_message({**content, **place, "ledger": checker.ledger})
        return kind, {**content, "handover": book.signer.sign(message).hex()}

    book.write(decide, new)


def _next(checker: Checker, key: Verifier) -> Written:
    """Return the record of the next key, before anybody signs it."""
    said = key_of(key)
    if not is_replaceable(checker.signer):
        raise ParameterError(
            "only a key of Ed25519 that the records state is replaced: make a new ledger"
        )
    if said["algorithm"] != ED25519 or not is_replaceable(said):
        raise ParameterError(f"the next key must be one of Ed25519, got {describe(key)}")
    if said["public_key"] in checker.keys.used:
        raise ParameterError("this key signed records of the ledger before: make a new one")
    if checker.approvers is not None and said["public_key"] in checker.approvers.keys:
        raise ParameterError("the key that signs records cannot be an approver's")
    if isinstance(key, Signer):
        test = b"safeselect/key test"
        if not public_verifier(said["public_key"]).verify(test, key.sign(test)):
            raise ParameterError("the next key signs otherwise than its public key says")
    return replaced(checker, said)


def _verified(book: Book) -> str:
    """Verify all records with the keys that they state; return the last hash.

    The approvers' key vouches for all records before it, and nobody has to hold the old one.
    """
    stated = book.state(lambda checker: checker.signer)
    if not is_replaceable(stated):
        raise ParameterError(
            "only a key of Ed25519 that the records state is replaced: make a new ledger"
        )
    checker = Checker(public_verifier(stated["public_key"]))
    for row in book.rows():
        checker.check(row.body, row.hash, row.signature)
    checker.finish()
    return checker.last
