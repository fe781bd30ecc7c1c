"""Signatures of records, approvals and handovers."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, pure, scope

from safeselect import Budget, Ledger
from safeselect.errors import LedgerDamaged
from safeselect.ledger import Checker, Proposal, approve, kept_records
from safeselect.ledger.record import canonical, log_line, record_hash
from safeselect.ledger.signing import handover_message, key_of, signed_message

pytest.importorskip("cryptography")

from safeselect.ledger.signing import Ed25519Signer

pytestmark = pytest.mark.claim("C9")

OLD, NEW = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in (10, 11))


def test_a_signature_of_one_kind_is_none_of_another(tmp_path: Path) -> None:
    """Whoever has a text approved by the key of a ledger has no handover, and the other way."""
    path = tmp_path / "l"
    there = scope(Ledger.create(path, {"a": Budget(**TERMS, epsilon=1)}, signer=OLD))
    there.pay(pure()).released("blue")
    checker = Checker()
    first = next(kept_records(path, checker))
    for _ in kept_records(path, checker := Checker()):
        pass
    record: dict[str, Any] = {
        **{name: first.content[name] for name in ("schema", "ledger", "utc")},
        "seq": str(checker.count),
        "previous": checker.last,
        "kind": "key",
        "approvals": [],
        "signer": key_of(NEW),
        "replaces": OLD.public_key.hex(),
    }
    signed = {name: record[name] for name in ("ledger", "previous", "replaces", "seq", "signer")}
    proposal = Proposal(canonical(signed))
    handovers = {
        "handover": OLD.sign(handover_message(record)).hex(),
        "approval": approve(proposal, OLD)["signature"],
        "record": OLD.sign(signed_message(record_hash(proposal.text))).hex(),
        "text": OLD.sign(proposal.text.encode()).hex(),
    }
    whole, accepted = path.read_bytes(), []
    for kind, signature in handovers.items():
        body = canonical(record | {"handover": signature})
        hash_ = record_hash(body)
        line = log_line(body, hash_, NEW.sign(signed_message(hash_)).hex())
        path.write_bytes(whole + line)
        with suppress(LedgerDamaged):
            Ledger.open(path, signer=NEW)
            accepted.append(kind)
    assert accepted == ["handover"]
    assert OLD.verify(handover_message(record), bytes.fromhex(handovers["handover"]))
    assert not OLD.verify(proposal.message, bytes.fromhex(handovers["handover"]))
    assert json.loads(proposal.text) == signed
