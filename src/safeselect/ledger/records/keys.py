"""The signing key of a ledger, and its replacement by another one.

A record of kind "key" names the next key, and is the first one that this key signs.  It holds a
signature by the key before it, or, if that was lost, by approvers.  By the chain of hashes each of
these signatures covers all records before it.  So whoever knows one key of the chain can verify all
records.  These signatures are always verified; those of other records where somebody gave a key.

Only keys of Ed25519 are replaced: everybody can verify the handover with what the records state.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.ledger.records.approvals import Approvers, Proposal
from safeselect.ledger.records.fields import Fields
from safeselect.ledger.records.record import canonical, text
from safeselect.ledger.records.signatures import (
    PUBLIC_KEY,
    Verifier,
    check_signature,
    check_signer,
    is_key,
    key_of,
    public_verifier,
)
from safeselect.ledger.store import Row
from safeselect.promises.records import Content

ED25519 = "ed25519"
_HANDOVER = b"safeselect/key/1\x00"
_HANDED_OVER = ("ledger", "seq", "previous", "replaces", "signer")


@dataclass(slots=True)
class Keys:
    """The keys of a ledger so far.

    Attributes:
        verifier: the key that somebody gave to verify with; one of the ledger's keys must be it.
        accepted: public keys; with any, every key of the ledger must be among them.
        signer: what the records state of the key in force; empty in a ledger without signatures.
        used: all public keys so far.
        is_found: whether one of the ledger's keys was the verifier.
    """

    verifier: Verifier | None = None
    accepted: Set[str] = frozenset()
    signer: dict[str, str] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    is_found: bool = False
    _in_force: Verifier | None = None

    def check_first(self, row: Row, signer: Mapping[str, str], where: str) -> None:
        """Check what the first record states of the key, and its signature.

        The approvers that it names may replace a lost key, so no later signature stands for this.

        Raises:
            LedgerDamaged: it names no key, or none that can lead to the one that is to verify it.
        """
        check_signer(signer, where)
        if self.verifier is not None and not may_lead(signer, self.verifier):
            raise LedgerDamaged(_NOT_FOUND)
        self._check_accepted(signer.get("public_key", ""), where)
        check_signature(row, signer, self._verifier_of(signer))

    def check(self, row: Row, *, verify: bool = True) -> None:
        """Check the signature of a record by the key in force.

        Raises:
            LedgerDamaged: it is wrong, missing, or there although nobody signs.
        """
        check_signature(row, self.signer, self._in_force if verify else None)

    def check_next(
        self, row: Row, record: Fields, approvers: Approvers | None, since: str, where: str
    ) -> None:
        """Check a record that replaces the key.

        Args:
            since: the hash of the last change that could be approved.

        Raises:
            LedgerDamaged: it names no new key, or neither the key before it nor enough approvers
                signed it.
        """
        signer, handover, approvals = record["signer"], record["handover"], record["approvals"]
        public = _public_key(signer, where)
        if not is_replaceable(self.signer) or record["replaces"] != self.signer["public_key"]:
            raise LedgerDamaged(f"{where} does not replace the key that there was")
        if public in self.used:
            raise LedgerDamaged(f"{where} names a key that signed records before")
        if approvers is not None and public in approvers.keys:
            raise LedgerDamaged(f"{where} lets an approver's key sign records")
        self._check_accepted(public, where)
        if approvals:
            if handover or approvers is None:
                raise LedgerDamaged(f"{where} holds approvals where nobody approves")
            approvers.check(Proposal.of(record, since), approvals, where)
        elif not _is_signed(self.signer["public_key"], handover_message(record), handover):
            raise LedgerDamaged(f"{where} is not signed by the key that it replaces")
        try:
            check_signature(row, signer, public_verifier(public))
        except ValueError:
            raise LedgerDamaged(f"{where} names no key of Ed25519") from None

    def take(self, signer: dict[str, str]) -> None:
        """Take in the next key, after its record was checked."""
        self.signer, self._in_force = signer, self._verifier_of(signer)
        if "public_key" in signer:
            self.used.append(signer["public_key"])
        self.is_found |= self.verifier is not None and is_key(self.verifier, signer)

    def finish(self) -> None:
        """Check at the end that one of the keys was the one that is to verify.

        Raises:
            LedgerDamaged: none was.
        """
        if self.verifier is not None and not self.is_found:
            raise LedgerDamaged(_NOT_FOUND)

    def _verifier_of(self, signer: Mapping[str, str]) -> Verifier | None:
        """Return the verifier of a key: the given one, or one by what the records state."""
        if self.verifier is None or is_key(self.verifier, signer):
            return self.verifier
        try:
            return public_verifier(signer["public_key"])
        except ValueError:
            raise LedgerDamaged("a record names no key of Ed25519") from None

    def _check_accepted(self, public: str, where: str) -> None:
        if self.accepted and public not in self.accepted:
            raise LedgerDamaged(f"{where} names a key that is none of those that are accepted")


def handover_message(record: Mapping[str, Content]) -> bytes:
    """Return what the old key signs: the place, all records before it, and both keys."""
    handed_over = {name: record[name] for name in _HANDED_OVER}
    return _HANDOVER + canonical(handed_over).encode("ascii")


def is_replaceable(signer: Mapping[str, Any]) -> bool:
    """Whether a key can be replaced: it is of Ed25519, and the records state its public key."""
    public = signer.get("public_key")
    named = signer.get("algorithm") == ED25519 and isinstance(public, str)
    return named and PUBLIC_KEY.fullmatch(str(public)) is not None


def may_lead(signer: Mapping[str, Any], key: Verifier) -> bool:
    """Whether a key is the one in the first record, or may be one that came after it."""
    return is_key(key, signer) or (is_replaceable(signer) and is_replaceable(key_of(key)))


def _public_key(signer: Mapping[str, Any], where: str) -> str:
    if signer.keys() == {"algorithm", "key_id", "public_key"} and is_replaceable(signer):
        try:
            text(signer["key_id"], "key_id")
        except ParameterError:
            pass
        else:
            return str(signer["public_key"])
    raise LedgerDamaged(f"{where} names no key of Ed25519")


def _is_signed(public: str, message: bytes, signature: str) -> bool:
    try:
        return public_verifier(public).verify(message, bytes.fromhex(signature))
    except ValueError:  # it is no signature, or no key of Ed25519
        return False


_NOT_FOUND = "the ledger is not signed with the key that is to verify it"
