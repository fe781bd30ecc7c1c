"""`safeselect verify`: what is loaded, known answers, a certificate."""

from __future__ import annotations

import base64
import json
import os
import platform
from dataclasses import replace
from importlib.metadata import version

import pytest
from ledgers import pem

from safeselect import known_answers
from safeselect.audit import certified
from safeselect.audit.code import running
from safeselect.cli import _verify, main
from safeselect.ledger.signing import Ed25519Signer, is_signed


@pytest.fixture
def some(monkeypatch):
    """Two rows, of which one needs bytes that are known."""
    rows = known_answers.read("small")
    chosen = {name: rows[name] for name in ("permute_and_flip, 3", "compose, repeated")}
    monkeypatch.setattr(known_answers, "read", lambda which: chosen if which == "small" else {})
    return chosen


def test_all_is_as_recorded(tmp_path, capsys, monkeypatch):
    """Also where only production is allowed; afterwards the variable is what it was.

    The smaller set: `tests/known/test_known.py` compares all of them.
    """
    monkeypatch.setattr(known_answers, "USED", ("written",))
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    place = tmp_path / "certificate.json"
    assert main(["verify", "--certificate", str(place)]) == 0
    assert os.environ["SAFESELECT_REQUIRE_PRODUCTION"] == "1"
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("passed  ")
    count = sum(len(known_answers.read(each)) for each in known_answers.USED)
    assert second == f"passed  check of {count} known answers"
    found = json.loads(place.read_text())
    assert found["passed"] is True
    assert found["schema"] == certified.SCHEMA
    asked = known_answers.not_asked()
    assert found["known_answers"] == {
        "sha256": certified.digest(),
        "count": count,
        "differing": [],
        "not_asked": asked,
    }
    assert found["library"]["numpy"] == version("numpy")
    machine = found["machine"]
    assert ({"host", "os", "cpu", "mpfr"}, machine["host"]) == (machine.keys(), platform.node())
    assert machine["cpu"]
    assert main(["verify", "--certificate", str(place)]) == 2
    assert "cannot write a new certificate file" in capsys.readouterr().err


def test_another_answer_and_other_code_are_told(some, tmp_path, capsys, monkeypatch):
    some["permute_and_flip, 3"]["told"]["random"][1] += 1
    other = replace(running(), differing=("safeselect.x",))
    monkeypatch.setattr(_verify, "running", lambda: other)
    place = tmp_path / "certificate.json"
    assert main(["verify", "--certificate", str(place)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "differs: safeselect.x"
    assert lines[1].startswith("FAILED  ")
    assert lines[2:] == ["differs: small: permute_and_flip, 3", "FAILED  check of 2 known answers"]
    assert json.loads(place.read_text())["passed"] is False


def test_a_certificate_is_signed_by_whoever_makes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(known_answers, "USED", ("written",))
    (tmp_path / "key").write_bytes(pem(b"k" * 32))
    key = Ed25519Signer(b"k" * 32, key_id="k").public_key
    place = tmp_path / "certificate.json"
    assert main(["verify", "--certificate", str(place), "--key", str(tmp_path / "key")]) == 0
    envelope = json.loads(place.read_text())
    assert envelope.keys() == {"payloadType", "payload", "signatures"}
    body = base64.b64decode(envelope["payload"])
    (signature,) = envelope["signatures"]
    assert signature["keyid"] == key.hex()
    # DSSE, version 1, as its specification has it.
    kind = envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)
    assert is_signed(key.hex(), signed, base64.b64decode(signature["sig"]).hex())
    assert json.loads(body)["passed"] is True
    assert main(["verify", "--certificate", "other", "--key", str(place)]) == 2
