"""Signatures of records, approvals and handovers."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ledgers import new, pure, scope

from safeselect.errors import LedgerError, ParameterError
from safeselect.ledger.signing import (
    Ed25519Signer,
    Signer,
    is_signed,
    read_public_key,
    signed_message,
)

pytest.importorskip("cryptography")
pytestmark = pytest.mark.claim("C9")

# RFC 8032, section 7.1, test 2; the PEM files are RFC 8410's form of the same key.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)

OLD, NEW = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in (10, 11))


def test_it_is_the_published_algorithm() -> None:
    signer = Ed25519Signer(SEED, key_id="k")
    assert isinstance(signer, Signer)
    assert (signer.public_key, signer.sign(b"\x72")) == (PUBLIC, SIGNATURE)
    found = SIGNATURE.hex()
    assert is_signed(PUBLIC.hex(), b"\x72", found)
    wrong = (found[:-2] + "01", found[:-2], found.upper(), "")
    assert not any(is_signed(PUBLIC.hex(), b"\x72", each) for each in wrong)
    assert not is_signed(PUBLIC.hex(), b"\x73", found)


def test_what_is_signed_is_the_encoding_of_dsse() -> None:
    """The protocol's own form: https://github.com/secure-systems-lab/dsse, protocol.md."""
    kind = "application/vnd.safeselect.record"
    assert signed_message("record", "hello") == f"DSSEv1 {len(kind)} {kind} 5 hello".encode()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_keys_are_pem_files(tmp_path: Path) -> None:
    files = str(tmp_path / "key.pem"), str(tmp_path / "public.pem")
    for words in (["genpkey", "-algorithm", "ed25519", "-out", files[0]],
                  ["pkey", "-in", files[0], "-pubout", "-out", files[1]]):  # fmt: skip
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    private, public = (Path(file).read_bytes() for file in files)
    signer = Ed25519Signer(private, key_id="k")
    assert read_public_key(public) == signer.public_key.hex()
    ledger = new(":memory:", signer=signer)
    scope(ledger).pay(pure()).released("blue")
    assert ledger.check(public_keys=[public]).count == 4
    with pytest.raises(LedgerError, match="not signed with the given key"):
        ledger.check(public_keys=[PUBLIC])
    for wrong in (b"", SEED[:-1], SEED.hex(), None, public, private[:-40], b"-----BEGIN "):
        with pytest.raises(
            ParameterError, match="private_key must be 32 bytes, or an Ed25519 key in PEM"
        ):
            Ed25519Signer(wrong, key_id="k")  # type: ignore[arg-type]
    for wrong in (b"", PUBLIC.hex(), None, private):
        with pytest.raises(ParameterError, match="a public key must be"):
            ledger.check(public_keys=[wrong])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="public keys must be a list"):
        ledger.check(public_keys=public)  # type: ignore[arg-type]


def test_a_key_is_neither_shown_nor_copied() -> None:
    signer = Ed25519Signer(SEED, key_id="k")
    assert repr(signer) == "<Ed25519Signer k>"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="to protect its key"):
            copied(signer)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a signer nor an audit of signatures works without it; both say what to install."""
    ledger = new(":memory:", signer=Ed25519Signer(SEED, key_id="k"))
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(ParameterError, match=r"\.\[signing\]"):
        Ed25519Signer(SEED, key_id="k")
    with pytest.raises(LedgerError, match=r"cannot be made or checked: .*\.\[signing\]"):
        ledger.check(public_keys=[PUBLIC])
