"""Ed25519 signatures for a ledger, by the library `cryptography`: `safeselect[signing]`.

Unlike an HMAC key, the verifying key cannot sign, so it may be published.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn, final

from safeselect.errors import ParameterError
from safeselect.ledger.records.record import text

__all__ = ["Ed25519Signer", "Ed25519Verifier"]

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
        self._key = _ed25519().Ed25519PublicKey.from_public_bytes(_read(public_key, "public_key"))
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
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
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
        self._key = key.from_private_bytes(_read(private_key, "private_key"))
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


def _read(key: object, name: str) -> bytes:
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
