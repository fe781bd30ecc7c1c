"""Signatures over records, so that not even the owner of the file can rewrite them unnoticed.

The chain of hashes alone shows an edit to whoever knows a later head; somebody who can write the
file could compute the whole chain anew.  With a signer whose key is kept elsewhere they cannot.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NoReturn, Protocol, final, runtime_checkable

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.ledger.record import text

__all__ = [
    "HmacSigner",
    "Signer",
    "Verifier",
    "is_key",
    "key_of",
    "read_signer",
    "read_verifier",
    "signed_message",
]

_SIGNED = b"safeselect/signature/1\x00"
_SHORTEST_KEY = 32


@runtime_checkable
class Verifier(Protocol):
    """Checks signatures; for an auditor who cannot make them."""

    @property
    def algorithm(self) -> str:
        """Such as "hmac-sha256"."""

    @property
    def key_id(self) -> str:
        """Which key; it goes into the ledger and must not be the key."""

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature belongs to the message."""


@runtime_checkable
class Signer(Verifier, Protocol):
    """Makes signatures: an HMAC, or a key in a device."""

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""


@final
class HmacSigner:
    """HMAC-SHA-256: whoever can verify can also sign, so keep the key from who writes the file.

    Args:
        key: at least 32 bytes, made by a cryptographic generator.
        key_id: a public name for it.

    Raises:
        ParameterError: too short a key, or no name.
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
        """The HMAC of the message."""
        return hmac.digest(self._key, message, "sha256")

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Whether it is the HMAC of the message, compared in constant time."""
        return hmac.compare_digest(self.sign(message), signature)


def signed_message(record_hash: str) -> bytes:
    """What is signed for a record: its hash, after a text that no other signature starts with."""
    return _SIGNED + bytes.fromhex(record_hash)


def key_of(key: Verifier | None) -> dict[str, str]:
    """What the first record of a ledger says of its key; nothing where there is none."""
    if key is None:
        return {}
    said = {"algorithm": key.algorithm, "key_id": key.key_id}
    public = getattr(key, "public_key", None)
    return said | {"public_key": public.hex()} if isinstance(public, bytes) else said


def is_key(key: Verifier, said: Mapping[str, str]) -> bool:
    """Whether the first record of a ledger means this key.

    Older records name no public key, and a verifier of one's own need not show it.
    """
    own = key_of(key)
    return bool(said) and all(
        own.get(name) == said.get(name)
        for name in ("algorithm", "key_id", "public_key")
        if name != "public_key" or (name in own and name in said)
    )


def read_signer(value: object) -> Signer | None:
    """Check an argument `signer=`.

    Raises:
        ParameterError: it has not the members of a Signer.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Signer):
        raise ParameterError(f"signer must have the members of Signer, got {describe(value)}")
    return value


def read_verifier(value: object) -> Verifier | None:
    """Check an argument `verifier=`.

    Raises:
        ParameterError: it has not the members of a Verifier.
    """
    if value is None:
        return None
    if isinstance(value, type) or not isinstance(value, Verifier):
        raise ParameterError(f"verifier must have the members of Verifier, got {describe(value)}")
    return value
