"""Signatures over records, approvals and handovers: who may write, and who may change the limits.

The chain of hashes alone reveals an edit only to a reader who knows a later head.  Somebody who can
write the file could compute the whole chain anew.  A signer whose key is kept elsewhere prevents
that.

A ledger may be created with approvers, by their public Ed25519 keys.  From then on a new scope or a
raised limit holds the signatures of as many different approvers as were said to be needed; so does
a new signing key, when the one before it is lost.  They sign what changes, before and after, and
the hash of the last such record.  So an approval is used once, and only in a ledger whose scopes,
limits and keys are those that the approver saw.

A record of kind "key" names the next key, and is the first one that this key signs.  It holds a
signature by the key before it, or, if that was lost, by approvers.  By the chain of hashes each of
these signatures covers all records before it.  So whoever knows one key of the chain can verify all
records.  These signatures are always verified; those of other records where somebody gave a key.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn, Protocol, final, runtime_checkable

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.record import Fields, canonical, parse, text
from safeselect.ledger.store import Row
from safeselect.promises.records import Content

_SIGNED = b"safeselect/signature/1\x00"
_SHORTEST_KEY = 32
PUBLIC_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
"""A public key of Ed25519 in a record."""


@runtime_checkable
class Verifier(Protocol):
    """Checks signatures; for an auditor, who cannot make them."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm, such as "hmac-sha256"."""

    @property
    def key_id(self) -> str:
        """The public name of the key, which goes into the ledger; never the key itself."""

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature belongs to the message."""


@runtime_checkable
class Signer(Verifier, Protocol):
    """Makes signatures, by an HMAC or by a key in a device."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""


@final
class HmacSigner:
    """HMAC-SHA-256.  Its key verifies and signs, so hide it from people who write the file.

    Args:
        key: at least 32 bytes, made by a cryptographic generator.
        key_id: a public name for it.

    Raises:
        ParameterError: the key is too short, or there is no name.
    """

    __slots__ = ("_key", "_key_id")

    def __init__(self, key: bytes, *, key_id: str) -> None:
        if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
            raise ParameterError(f"key must be bytes, at least {_SHORTEST_KEY} of them")
        self._key = key
        self._key_id = text(key_id, "key_id")

    def __repr__(self) -> str:
        return f"<HmacSigner {self._key_id}>"

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("an HmacSigner is not pickled or copied: its key stays where it was loaded")

    @property
    def algorithm(self) -> str:
        """The name "hmac-sha256"."""
        return "hmac-sha256"

    @property
    def key_id(self) -> str:
        """The public name of the key."""
        return self._key_id

    def sign(self, message: bytes) -> bytes:
        """Return the HMAC of the message."""
        return hmac.digest(self._key, message, "sha256")

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature is the HMAC of the message, compared in constant time."""
        return hmac.compare_digest(self.sign(message), signature)


def signed_message(record_hash: str) -> bytes:
    """Return the signed bytes of a record: a text that only these have in front, and its hash."""
    return _SIGNED + bytes.fromhex(record_hash)


def key_of(key: Verifier | None) -> dict[str, str]:
    """Return the first record's statement about the key; empty without a key."""
    if key is None:
        return {}
    said = {"algorithm": key.algorithm, "key_id": key.key_id}
    public = getattr(key, "public_key", None)
    return said | {"public_key": public.hex()} if isinstance(public, bytes) else said


def is_key(key: Verifier, said: Mapping[str, str]) -> bool:
    """Whether a record names this key: by its public key, or else by its name.

    Older records name no public key, and a user's own verifier need not have one.
    """
    own = key_of(key)
    which = "public_key" if "public_key" in own and "public_key" in said else "key_id"
    return bool(said) and all(own[name] == said.get(name) for name in ("algorithm", which))


def public_verifier(public_key: str) -> Verifier:
    """Return the verifier of a public key of Ed25519.

    Raises:
        LedgerError: the library is not installed.
        ValueError: it is no key of Ed25519.
    """
    try:
        return Ed25519Verifier(bytes.fromhex(public_key), key_id="key")
    except ParameterError as error:
        raise LedgerError(f"signatures of this ledger cannot be checked: {error}") from None


def check_signer(signer: Mapping[str, object], where: str) -> None:
    """Check the first record's statement about the key.

    Raises:
        LedgerDamaged: it names no key.
    """
    if not all(isinstance(value, str) for value in signer.values()) or (
        signer and not signer.keys() >= {"algorithm", "key_id"}
    ):
        raise LedgerDamaged(f"{where} names no key")


def check_signature(row: Row, signer: Mapping[str, str], verifier: Verifier | None) -> None:
    """Check the signature of a row: its form, and with a key itself.

    Raises:
        LedgerDamaged: it is wrong, missing, or there although nobody signs.
    """
    if not signer:
        if row.signature:
            raise LedgerDamaged(f"record {row.seq} is signed, in a ledger without signatures")
        return
    try:
        signature = bytes.fromhex(row.signature)
    except ValueError:
        signature = b""
    if not signature or signature.hex() != row.signature:
        raise LedgerDamaged(f"record {row.seq} has no signature")
    if verifier is not None and not verifier.verify(signed_message(row.hash), signature):
        raise LedgerDamaged(f"the signature of record {row.seq} is wrong")


def read_signer(value: object) -> Signer | None:
    """Check an argument `signer=`.

    Raises:
        ParameterError: it lacks members of a Signer.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Signer):
        raise ParameterError(f"signer must have the members of Signer, got {describe(value)}")
    return value


def read_verifier(value: object) -> Verifier | None:
    """Check an argument `verifier=`.

    Raises:
        ParameterError: it lacks members of a Verifier.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Verifier):
        raise ParameterError(f"verifier must have the members of Verifier, got {describe(value)}")
    return value


_KEY_BYTES = 32


@final
class Ed25519Verifier:
    """Checks the signatures of one key.

    Args:
        public_key: its 32 bytes.
        key_id: the key's name in the ledger.

    Raises:
        ParameterError: not such a key or name, or `cryptography` is not installed.
    """

    __slots__ = ("_key", "_key_id")

    def __init__(self, public_key: bytes, *, key_id: str) -> None:
        self._key = _ed25519().Ed25519PublicKey.from_public_bytes(
            _read_key(public_key, "public_key")
        )
        self._key_id = text(key_id, "key_id")

    @property
    def public_key(self) -> bytes:
        """The 32 bytes."""
        return bytes(self._key.public_bytes_raw())

    @property
    def algorithm(self) -> str:
        """The name "ed25519"."""
        return "ed25519"

    @property
    def key_id(self) -> str:
        """The public name of the key."""
        return self._key_id

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature belongs to the message."""
        invalid: type[Exception] = import_module("cryptography.exceptions").InvalidSignature
        try:
            self._key.verify(signature, message)
        except invalid:
            return False
        return True


@final
class Ed25519Signer:
    """Makes signatures, and checks them.

    Args:
        private_key: its 32 bytes (the seed), made by a cryptographic generator.
        key_id: a public name for it.

    Raises:
        ParameterError: not such a key or name, or `cryptography` is not installed.
    """

    __slots__ = ("_key", "_verifier")

    def __init__(self, private_key: bytes, *, key_id: str) -> None:
        key = _ed25519().Ed25519PrivateKey
        self._key = key.from_private_bytes(_read_key(private_key, "private_key"))
        self._verifier = Ed25519Verifier(self.public_key, key_id=key_id)

    def __repr__(self) -> str:
        return f"<Ed25519Signer {self.key_id}>"

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("an Ed25519Signer is not pickled or copied: its key stays where it is")

    @property
    def public_key(self) -> bytes:
        """The 32 bytes with which others verify."""
        return bytes(self._key.public_key().public_bytes_raw())

    @property
    def algorithm(self) -> str:
        """The name "ed25519"."""
        return self._verifier.algorithm

    @property
    def key_id(self) -> str:
        """The public name of the key."""
        return self._verifier.key_id

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return bytes(self._key.sign(message))

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature belongs to the message."""
        return self._verifier.verify(message, signature)


def _read_key(key: object, name: str) -> bytes:
    if not isinstance(key, bytes) or len(key) != _KEY_BYTES:
        raise ParameterError(f"{name} must be {_KEY_BYTES} bytes")
    return key


def _ed25519() -> Any:
    try:
        return import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError:
        raise ParameterError(
            "Ed25519 needs cryptography: pip install 'safeselect[signing]'"
        ) from None


_APPROVAL = b"safeselect/approval/1\x00"
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
            if not _is_approved(key, proposal.message, signature):
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
        return _APPROVAL + self.text.encode("ascii")

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
    return {"key": _approver_key(signer), "signature": signer.sign(proposal.message).hex()}


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
    keys = tuple(_approver_key(each) for each in approvers)
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


def _approver_key(key: object) -> str:
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


def _is_approved(key: str, message: bytes, signature: str) -> bool:
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
        public = _stated_key(signer, where)
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
        elif not _is_handed_over(self.signer["public_key"], handover_message(record), handover):
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


def _stated_key(signer: Mapping[str, Any], where: str) -> str:
    if signer.keys() == {"algorithm", "key_id", "public_key"} and is_replaceable(signer):
        try:
            text(signer["key_id"], "key_id")
        except ParameterError:
            pass
        else:
            return str(signer["public_key"])
    raise LedgerDamaged(f"{where} names no key of Ed25519")


def _is_handed_over(public: str, message: bytes, signature: str) -> bool:
    try:
        return public_verifier(public).verify(message, bytes.fromhex(signature))
    except ValueError:  # it is no signature, or no key of Ed25519
        return False


_NOT_FOUND = "the ledger is not signed with the key that is to verify it"
