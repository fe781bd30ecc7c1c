"""Ed25519: the published vectors, and a ledger that only the holder of the key can write."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest
from ledgers import new, pure, scope

from safeselect import Ledger, LedgerError, ParameterError, Signer
from safeselect.ledger import Verifier
from safeselect.ledger.signing import Ed25519Signer, Ed25519Verifier

# RFC 8032, section 7.1, test 2.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(ParameterError, match=r"safeselect\[signing\]"):
        Ed25519Signer(SEED, key_id="k")


def test_it_is_the_published_algorithm() -> None:
    pytest.importorskip("cryptography")
    signer = Ed25519Signer(SEED, key_id="k")
    assert signer.public_key == PUBLIC
    assert signer.sign(b"\x72") == SIGNATURE
    verifier = Ed25519Verifier(PUBLIC, key_id="k")
    for key in (signer, verifier):
        assert key.verify(b"\x72", SIGNATURE)
        assert not key.verify(b"\x73", SIGNATURE)
        assert not key.verify(b"\x72", SIGNATURE[:-1] + b"\x01")
        assert not key.verify(b"\x72", b"")
    assert isinstance(signer, Signer)
    assert isinstance(verifier, Verifier)
    assert not isinstance(verifier, Signer)


def test_a_ledger_is_verified_with_the_public_key_alone() -> None:
    pytest.importorskip("cryptography")
    ledger = new(":memory:", signer=Ed25519Signer(SEED, key_id="k"))
    scope(ledger).pay(pure()).released("blue", b"s" * 32)
    assert ledger.check(verifier=Ed25519Verifier(PUBLIC, key_id="k")).count == 4
    other = Ed25519Signer(bytes(32), key_id="k").public_key
    with pytest.raises(LedgerError, match="not signed with the key that is to verify it"):
        ledger.check(verifier=Ed25519Verifier(other, key_id="k"))
    with pytest.raises(ParameterError, match="signer must have the members of Signer"):
        Ledger.open(":memory:", signer=Ed25519Verifier(PUBLIC, key_id="k"))  # type: ignore[arg-type]


def test_a_key_is_neither_shown_nor_copied() -> None:
    pytest.importorskip("cryptography")
    signer = Ed25519Signer(SEED, key_id="k")
    assert repr(signer) == "<Ed25519Signer k>"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="its key stays"):
            copied(signer)
    for wrong in (b"", SEED[:-1], SEED.hex(), None):
        with pytest.raises(ParameterError, match="must be 32 bytes"):
            Ed25519Signer(wrong, key_id="k")  # type: ignore[arg-type]
