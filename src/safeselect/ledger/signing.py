"""Signatures over records, approvals and handovers: who may write, and who may change the limits.

The chain of hashes alone reveals an edit only to a reader who knows a later head.  Somebody who can
write the file could compute the whole chain anew.  A signer whose key is kept elsewhere prevents
that.

A ledger may be created with approvers, by their public Ed25519 keys.  From then on a new scope or a
raised limit holds the signatures of as many different approvers as were said to be needed; so does
a new signing key, when the one before it is lost.  They sign what changes, before and after, the
hash of the last such record, and the last place at which the change may stand.  So an approval is
used once, in a ledger whose scopes, limits and keys are those that the approver saw, and expires.

A record of kind "key" names the next key, and is the first one that this key signs.  It holds a
signature by the key before it, or, if that was lost, by approvers.  By the chain of hashes each of
these signatures covers all records before it.  So whoever knows one key of the chain can verify all
records.  These signatures are always verified; those of other records where somebody gave a key.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, Protocol, final, runtime_checkable

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe, integer, read_list
from safeselect.ledger.record import SCHEMA, Fields, canonical, parse, read_record, text
from safeselect.ledger.store import Row
from safeselect.promises.guarantees import Content
from safeselect.release.display import library

PUBLIC_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
"""A public key of Ed25519 in a record."""
ED25519 = "ed25519"
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)
_KEY_BYTES = 32
# What is before the 32 bytes of a key in a PEM file (RFC 8410).
_PRIVATE = bytes.fromhex("302e020100300506032b657004220420")
_PUBLIC = bytes.fromhex("302a300506032b6570032100")


@runtime_checkable
class Signer(Protocol):
    """An object that signs messages with an Ed25519 key.

    The key can be in a hardware device.
    """

    @property
    def key_id(self) -> str:
        """A readable name for the key, for use in records."""

    @property
    def public_key(self) -> bytes:
        """The 32 bytes of the public key, for use in records."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""


@final
class Ed25519Signer:
    """A `Signer` whose private key is in memory.

    This class requires the extra `signing`.

    Args:
        private_key: a PEM file without a password, as `openssl genpkey -algorithm ed25519` writes
            it; or the 32 bytes of a key from a cryptographic generator.
        key_id: a readable name of the key.

    Raises:
        ParameterError: the key or the name is not valid, or `cryptography` is not installed.
    """

    __slots__ = ("_key", "key_id", "public_key")

    def __init__(self, private_key: bytes, *, key_id: str) -> None:
        seed = _read_key(private_key, "private_key", _PRIVATE)
        try:
            self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(seed)
        except LedgerError as error:
            raise ParameterError(str(error)) from None
        self.key_id = text(key_id, "key_id")
        self.public_key = bytes(self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<Ed25519Signer {self.key_id}>"

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("to protect its key, an Ed25519Signer cannot be pickled or copied")

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return bytes(self._key.sign(message))


def signed_message(
    what: Literal["record", "approval", "handover", "certificate"], body: str
) -> bytes:
    """Return what is signed of a text: DSSE's pre-authentication encoding of its type and itself.

    So a signature of one kind is none of another, and tools that know DSSE can check it.
    """
    kind, content = f"application/vnd.safeselect.{what}".encode(), body.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(content), content)


def is_signed(public_key: str, message: bytes, signature: str) -> bool:
    """Whether a signature, in hexadecimal digits, is that of a public key.

    Raises:
        LedgerError: `cryptography` is not installed.
    """
    if not _SIGNATURE.fullmatch(signature):
        return False
    invalid: type[Exception] = _library("cryptography.exceptions").InvalidSignature
    try:
        _loaded(public_key).verify(bytes.fromhex(signature), message)
    except (ValueError, invalid):  # it is no key of Ed25519, or not its signature
        return False
    return True


@lru_cache(maxsize=64)
def _loaded(public_key: str) -> Any:
    return _ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))


def key_of(key: Signer | None) -> dict[str, str]:
    """Return what a record states of the key; empty without a key."""
    return {} if key is None else stated(key.public_key.hex(), key.key_id)


def stated(public_key: str, key_id: str) -> dict[str, str]:
    """Return what a record states of a key."""
    return {"algorithm": ED25519, "key_id": key_id, "public_key": public_key}


def is_key(key: Signer, said: Mapping[str, str]) -> bool:
    """Whether a record states this key; its name is for people, and may differ."""
    return said.get("public_key") == key.public_key.hex()


def read_signer(value: object) -> Signer | None:
    """Check an argument `signer=`.

    Raises:
        ParameterError: it lacks members of a Signer, or its public key is none.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Signer):
        raise ParameterError(f"signer must implement the Signer protocol, got {describe(value)}")
    read_public_key(value.public_key)
    text(value.key_id, "key_id")
    return value


def read_public_key(value: object) -> str:
    """Return the hexadecimal digits of a public key: of a PEM file, or of its 32 bytes.

    Raises:
        ParameterError: it is neither.
    """
    return _read_key(value, "a public key", _PUBLIC).hex()


def read_public_keys(value: object) -> frozenset[str]:
    """Check an argument `public_keys=`: a list of public keys; return their hexadecimal digits.

    Raises:
        ParameterError: it is something else.
    """
    if isinstance(value, Iterator):  # each check of a ledger reads them again
        raise ParameterError("public keys must be a list, not an iterator, which is empty later")
    return frozenset(map(read_public_key, read_list(value, "public keys")))


def _read_key(key: object, name: str, prefix: bytes) -> bytes:
    found = key if isinstance(key, bytes) else b""
    if found.startswith(b"-----BEGIN "):
        with suppress(ValueError, IndexError):
            found = b64decode(found.split(b"-----")[2]).removeprefix(prefix)
    if len(found) != _KEY_BYTES:
        raise ParameterError(
            f"{name} must be {_KEY_BYTES} bytes, or an Ed25519 key in PEM form without a password"
        )
    return found


def _ed25519() -> Any:
    return _library("cryptography.hazmat.primitives.asymmetric.ed25519")


def _library(name: str) -> Any:
    try:
        return library(name, "signing")
    except ParameterError as error:
        raise LedgerError(f"Ed25519 signatures cannot be made or checked: {error}") from None


def check_signer(signer: Mapping[str, Any], where: str) -> None:
    """Check what a record states of the key that signs.

    Raises:
        LedgerDamaged: it names no key of Ed25519.
    """
    with suppress(KeyError, ParameterError, TypeError):
        text(signer["key_id"], "key_id")
        if PUBLIC_KEY.fullmatch(signer["public_key"]) and signer == stated(
            signer["public_key"], signer["key_id"]
        ):
            return
    raise LedgerDamaged(f"{where} does not name an Ed25519 key and its ID in the right form")


def check_signature(row: Row, signer: Mapping[str, str], *, verify: bool) -> None:
    """Check the signature of a row: its form, and itself.

    Args:
        signer: what the records state of the key in force; empty if nobody signs.
        verify: whether to check more than its form.

    Raises:
        LedgerDamaged: it is wrong, missing, or there although nobody signs.
    """
    where = f"record {row.seq}"
    if not signer:
        if row.signature:
            raise LedgerDamaged(f"{where} is signed, but the ledger is not")
    elif not _SIGNATURE.fullmatch(row.signature):
        raise LedgerDamaged(f"{where} has no signature, or one of the wrong form")
    elif verify and not is_signed(
        signer["public_key"], signed_message("record", row.hash), row.signature
    ):
        raise LedgerDamaged(f"the signature of {where} is wrong")


_COUNT = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)
_UNSIGNED = {"schema": SCHEMA, "seq": "", "previous": "", "utc": "", "approvals": []}
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
    def of(cls, content: Fields, signer: Mapping[str, str]) -> Approvers:
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
            raise LedgerDamaged("record 0 does not list valid approvers")
        read = cls(tuple(keys), int(str(needed)), int(str(scopes)))
        if not 1 <= read.needed <= len(set(keys)) == len(keys) <= _MOST:
            raise LedgerDamaged("record 0 does not list valid approvers")
        if signer.get("public_key") in keys:
            raise LedgerDamaged("in record 0, the key that signs records is also an approver's key")
        return read

    def check(
        self, record: Fields, since: str, approvals: Sequence[object], place: int, where: str
    ) -> None:
        """Check that enough different approvers signed.

        Args:
            record: what changes, as `Proposal.of` takes it.
            since: the hash of the record of the last such change.
            place: of the record.

        Raises:
            LedgerDamaged: they did not, or something that is no approval is among them, or one that
                has expired.
            LedgerError: the library that checks their keys is not installed.
        """
        signed: set[str] = set()
        for each in approvals:
            key, signature, until = _read_approval(each, where)
            if key in signed or key not in self.keys:
                raise LedgerDamaged(f"{where} is approved twice by one key, or by an unknown key")
            if not is_signed(key, Proposal.of(record, since, until).message, signature):
                raise LedgerDamaged(f"an approval of {where} is for another change or is invalid")
            if place > int(until):
                raise LedgerDamaged(f"an approval of {where} expired after record {until}")
            signed.add(key)
        if len(signed) < self.needed:
            raise LedgerDamaged(f"{where} requires {self.needed} approvals, but has {len(signed)}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed change to the scopes, limits or keys of a ledger, for approvers to sign.

    Attributes:
        text: canonical JSON with the ledger, the change, and the values before and after. `since`
            is the hash of the record of the last such change, and `until` is the last position at
            which the change can be written.
    """

    text: str

    @classmethod
    def of(cls, record: Mapping[str, Content], since: str, until: str) -> Proposal:
        """Return the proposal for a change, given the record of the change."""
        signed = {name: value for name, value in record.items() if name not in _UNSIGNED}
        return cls(canonical({**signed, "since": since, "until": until}))

    @property
    def message(self) -> bytes:
        """The bytes that approvers sign."""
        return signed_message("approval", self.text)

    @property
    def content(self) -> Fields:
        """The proposed change, as it is shown to an approver."""
        return dict(parse(self.text, "the proposal"))


def approve(proposal: Proposal, signer: Signer) -> dict[str, str]:
    """Sign a proposal with an approver's key, and return the approval.

    Check the `content` of the proposal first.

    Args:
        proposal: a result of a method of `Ledger.propose`, or `Proposal(text)`.
        signer: the approver's key, such as an `Ed25519Signer`.

    Returns:
        dict: the public key, the signature, and the position after which the approval expires, for
            `Ledger.enact`.

    Raises:
        ParameterError: the argument is not a proposal, or the key is not an Ed25519 key.
    """
    if not isinstance(proposal, Proposal) or not isinstance(proposal.text, str):
        raise ParameterError(f"proposal must be a Proposal, got {describe(proposal)}")
    try:
        change = {**proposal.content, **_UNSIGNED}
        until, _ = (text(change.pop(name), name) for name in ("until", "since"))
        read_record(canonical(change), "the proposal")
    except (LedgerDamaged, KeyError):
        raise ParameterError("the text of the proposal was not written by a ledger") from None
    key = read_signer(signer)
    if key is None:
        raise ParameterError("signer must be the key of the approver, not None")
    signature = key.sign(proposal.message).hex()
    return {"key": key.public_key.hex(), "signature": signature, "until": until}


def read_approvers(
    approvers: object, needed: object, signer: Signer | None, scopes: int
) -> Approvers | None:
    """Check arguments `approvers=` and `approvals_needed=`; None without approvers.

    Raises:
        ParameterError: they are no different keys of Ed25519, or too few, or the key that signs
            records is among them.
    """
    listed = read_list(approvers, "approvers")
    keys = tuple(_read_key(each, "an approver's public key", _PUBLIC).hex() for each in listed)
    if not keys:
        if needed is not None:
            raise ParameterError("approvals_needed requires approvers")
        return None
    if len(set(keys)) != len(keys) or len(keys) > _MOST:
        raise ParameterError(f"approvers must be at most {_MOST} distinct keys")
    asked = len(keys) if needed is None else needed
    count = integer(asked, "approvals_needed", minimum=1, maximum=len(keys))
    if signer is not None and signer.public_key.hex() in keys:
        raise ParameterError("the key that signs records cannot be an approver's key")
    return Approvers(keys, count, scopes)


def check_approved(
    approvers: Approvers | None, record: Fields, since: str, place: int, where: str
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
            raise LedgerDamaged(f"{where} has approvals, but requires none")
        return False
    approvers.check(record, since, approvals, place, where)
    return True


_APPROVAL = {"key": PUBLIC_KEY, "signature": _SIGNATURE, "until": re.compile(r"[0-9]{1,18}", re.A)}


def _read_approval(content: object, where: str) -> tuple[str, str, str]:
    if isinstance(content, dict) and content.keys() == _APPROVAL.keys():
        key, signature, until = (content[name] for name in _APPROVAL)
        texts = zip(_APPROVAL.values(), (key, signature, until), strict=True)
        if all(isinstance(each, str) and form.fullmatch(each) for form, each in texts):
            return key, signature, until
    raise LedgerDamaged(f"{where} has an invalid approval")


_HANDED_OVER = ("ledger", "seq", "previous", "replaces", "signer")


def handover_message(record: Mapping[str, Content]) -> bytes:
    """Return what the old key signs: the place, all records before it, and both keys."""
    handed_over = {name: record[name] for name in _HANDED_OVER}
    return signed_message("handover", canonical(handed_over))
