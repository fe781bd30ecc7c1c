"""Approvals: new scopes and raised limits that several people must sign before they hold.

A ledger may be created with approvers, by their public Ed25519 keys.  From then on a new scope or a
raised limit holds the signatures of as many different approvers as were said to be needed; so does
a new signing key, when the one before it is lost.  They sign what changes, before and after, and
the hash of the last such record.  So an approval is used once, and only in a ledger whose scopes,
limits and keys are those that the approver saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.records.record import canonical, parse
from safeselect.ledger.records.signatures import PUBLIC_KEY, Signer, Verifier, public_verifier
from safeselect.promises.records import Content

_SIGNED = b"safeselect/approval/1\x00"
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)
_COUNT = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)
_UNSIGNED = {"schema", "seq", "previous", "utc", "approvals"}
_MOST = 100


@dataclass(frozen=True, slots=True)
class Approvers:
    """The approvers of a ledger.

    Attributes:
        keys: their public Ed25519 keys, in hexadecimal digits.
        needed: how many different keys must sign.
        scopes: how many scopes were made with the ledger, before there was anybody to approve.
    """

    keys: tuple[str, ...]
    needed: int
    scopes: int

    def as_record(self) -> dict[str, Content]:
        """Return the content for the first record."""
        keys: list[Content] = [*self.keys]
        return {"keys": keys, "needed": str(self.needed), "scopes": str(self.scopes)}

    @classmethod
    def of(cls, content: Mapping[str, Any], signer: Mapping[str, str]) -> Approvers:
        """Read what `as_record` wrote.

        Raises:
            LedgerDamaged: the content is something else, or the key that signs records approves.
        """
        keys, needed, scopes = (content.get(name) for name in ("keys", "needed", "scopes"))
        if (
            content.keys() != {"keys", "needed", "scopes"}
            or not isinstance(keys, list)
            or not all(isinstance(key, str) and PUBLIC_KEY.fullmatch(key) for key in keys)
            or not all(isinstance(n, str) and _COUNT.fullmatch(n) for n in (needed, scopes))
        ):
            raise LedgerDamaged("record 0 does not say who approves")
        read = cls(tuple(keys), int(str(needed)), int(str(scopes)))
        if not 1 <= read.needed <= len(set(keys)) == len(keys) <= _MOST:
            raise LedgerDamaged("record 0 does not say who approves")
        if signer.get("public_key") in keys:
            raise LedgerDamaged("record 0 lets the key that signs records approve")
        return read

    def check(self, proposal: Proposal, approvals: Sequence[object], where: str) -> None:
        """Check that enough different approvers signed.

        Raises:
            LedgerDamaged: they did not, or something that is no approval is among them.
            LedgerError: the library that checks their keys is not installed.
        """
        signed: set[str] = set()
        for each in approvals:
            key, signature = _read_approval(each, where)
            if key in signed or key not in self.keys:
                raise LedgerDamaged(f"{where} is approved twice by one key, or by no approver's")
            if not _is_signed(key, proposal.message, signature):
                raise LedgerDamaged(f"an approval of {where} is not for this")
            signed.add(key)
        if len(signed) < self.needed:
            raise LedgerDamaged(f"{where} needs {self.needed} approvals and has {len(signed)}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of scopes or limits, for approvers to sign.

    Attributes:
        text: canonical JSON: the ledger, what changes, before and after, and `since`, the hash of
            the record of the last such change.
    """

    text: str

    @classmethod
    def of(cls, record: Mapping[str, Content], since: str) -> Proposal:
        """Return the proposal for the record of a change."""
        signed = {name: value for name, value in record.items() if name not in _UNSIGNED}
        return cls(canonical({**signed, "since": since}))

    @property
    def message(self) -> bytes:
        """The signed bytes: a text that only these have in front, and the proposal."""
        return _SIGNED + self.text.encode("ascii")

    @property
    def content(self) -> dict[str, Any]:
        """What is proposed, to be shown to an approver."""
        return dict(parse(self.text, "the proposal"))


def approve(proposal: Proposal, signer: Signer) -> dict[str, str]:
    """Return an approver's approval of a proposal: look at its `content` first.

    Args:
        proposal: what `propose_scope` or `propose_raise` returned, or `Proposal(text)`.
        signer: the approver's key, such as an `Ed25519Signer`.

    Returns:
        dict: the public key and the signature, for `Ledger.enact`.

    Raises:
        ParameterError: it is no proposal, or no key of Ed25519.
    """
    if not isinstance(proposal, Proposal) or not isinstance(proposal.text, str):
        raise ParameterError(f"proposal must be a Proposal, got {describe(proposal)}")
    try:
        parse(proposal.text, "the proposal")
    except LedgerDamaged:
        raise ParameterError("the text of the proposal is not what a ledger proposed") from None
    return {"key": _public_key(signer), "signature": signer.sign(proposal.message).hex()}


def read_approvers(
    approvers: object, needed: object, signer: Verifier | None, scopes: int
) -> Approvers | None:
    """Check arguments `approvers=` and `approvals_needed=`; None without approvers.

    Raises:
        ParameterError: they are no different keys of Ed25519, or too few, or the key that signs
            records is among them.
    """
    if isinstance(approvers, (str, bytes)) or not isinstance(approvers, Iterable):
        raise ParameterError(f"approvers must be a list of keys, got {describe(approvers)}")
    keys = tuple(_public_key(each) for each in approvers)
    if not keys:
        if needed is not None:
            raise ParameterError("approvals_needed goes with approvers")
        return None
    count = len(keys) if needed is None else needed
    if len(set(keys)) != len(keys) or len(keys) > _MOST:
        raise ParameterError(f"approvers must be at most {_MOST} different keys")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= len(keys):
        raise ParameterError(
            f"approvals_needed must be a whole number from 1 to {len(keys)}, got {describe(needed)}"
        )
    own = getattr(signer, "public_key", None)
    if isinstance(own, bytes) and own.hex() in keys:
        raise ParameterError("the key that signs records cannot be an approver's")
    return Approvers(keys, count, scopes)


def _public_key(key: object) -> str:
    public = getattr(key, "public_key", None)
    if getattr(key, "algorithm", "") != "ed25519" or not isinstance(public, bytes):
        raise ParameterError(
            f"an approver has a key of Ed25519, such as an Ed25519Verifier, got {describe(key)}"
        )
    return public.hex()


def check_approved(
    approvers: Approvers | None, record: Mapping[str, Any], since: str, place: int, where: str
) -> bool:
    """Check the approvals of a new scope or a raised limit; return whether approvers signed it.

    Args:
        since: the hash of the record of the last such change.
        place: of the record.

    Raises:
        LedgerDamaged: it is not approved as the first record says.
    """
    approvals = record.get("approvals", [])
    if approvers is None or (record["kind"] == "scope" and place <= approvers.scopes):
        if approvals:
            raise LedgerDamaged(f"{where} holds approvals where nobody approves")
        return False
    approvers.check(Proposal.of(record, since), approvals, where)
    return True


def _is_signed(key: str, message: bytes, signature: str) -> bool:
    try:
        return public_verifier(key).verify(message, bytes.fromhex(signature))
    except ValueError:  # it is no key of Ed25519
        return False


def _read_approval(content: object, where: str) -> tuple[str, str]:
    if isinstance(content, dict) and content.keys() == {"key", "signature"}:
        key, signature = content["key"], content["signature"]
        are_texts = isinstance(key, str) and isinstance(signature, str)
        if are_texts and PUBLIC_KEY.fullmatch(key) and _SIGNATURE.fullmatch(signature):
            return key, signature
    raise LedgerDamaged(f"{where} holds something that is no approval")
