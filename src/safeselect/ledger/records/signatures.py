"""Signatures over records, so that not even the owner of the file can rewrite them unnoticed.

The chain of hashes alone reveals an edit only to a reader who knows a later head.  Somebody who can
write the file could compute the whole chain anew.  A signer whose key is kept elsewhere prevents
that.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn, Protocol, final, runtime_checkable

from safeselect.errors import LedgerDamaged, LedgerError, ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.records.record import text
from safeselect.ledger.store import Row

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
    """Return the verifier of a public key of Ed25519; an adapter checks its signatures.

    Raises:
        LedgerError: the library is not installed.
        ValueError: it is no key of Ed25519.
    """
    try:
        adapter = import_module("safeselect.adapters.ed25519")
        verifier: Verifier = adapter.Ed25519Verifier(bytes.fromhex(public_key), key_id="key")
    except ParameterError as error:
        raise LedgerError(f"signatures of this ledger cannot be checked: {error}") from None
    return verifier


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
