"""A real ledger: flights, three scopes, a refusal of private input, an approved raise, a repair."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from audited import certificate
from ledgers import TERMS

import safeselect as s
from safeselect.audit.certified import sealed
from safeselect.ledger import Ed25519Signer, Ledger, approve, repair

ROOT = Path(__file__).parents[2]
OWNER, ANN, BEN, VERIFIER = (
    Ed25519Signer(bytes([n]) * 32, key_id=name)
    for n, name in enumerate(("owner", "ann", "ben", "verifier"), 1)
)


def counted() -> dict[str, int]:
    """How many planes flew to each airport."""
    planes: dict[str, set[str]] = {}
    with gzip.open(ROOT / "examples" / "flights.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            plane, place, *_ = row.values()
            planes.setdefault(place, set()).add(plane)
    known = (ROOT / "examples" / "destinations.txt").read_text("utf-8").split()
    return {place: len(planes.get(place, ())) for place in known}


def flown(folder: Path) -> list[str]:
    """Make the ledger, a release and a signed certificate; return the arguments of an audit."""
    place, plane = folder / "flights.ledger", {**TERMS, "unit": "plane"}
    budgets = {
        "flights 2013": s.Budget(**plane, epsilon=1, delta="1e-6", ceiling={"epsilon": 3}),
        "analyst 7": s.Budget(**plane, epsilon=2, delta="1e-6"),
        "press": s.Budget(**plane, rho="1/2"),
    }
    approvers = [ANN.public_key, BEN.public_key]
    ledger = Ledger.create(place, budgets, signer=OWNER, approvers=approvers)
    data, analyst, press = (
        ledger.scope(each, **plane, purpose="yearly report") for each in budgets
    )
    given: dict[str, Any] = {"k": 5, "sensitivity": 1, "monotonic": True}
    s.top_k(counted(), **given, rho="1/100", ledger=press)
    with pytest.raises(s.ScoreError):
        s.permute_and_flip([1, None], epsilon="1/10", sensitivity=1, ledger=data)
    wanted = ledger.propose.limit("flights 2013", limit="epsilon", to=2, reason="a second report")
    ledger.enact(wanted, [approve(wanted, each) for each in (ANN, BEN)])
    ledger.close()
    with place.open("ab") as file:
        file.write(b"an editor was here\n")
    repair(place, signer=OWNER)
    ledger = Ledger.open(place, signer=OWNER)
    data, analyst = (ledger.scope(each, **plane, purpose="hubs") for each in [*budgets][:2])
    both: dict[str, Any] = {**given, "ledger": data & analyst}
    result = s.top_k(counted(), **both, epsilon=1, delta="1e-7", mechanism="exponential")
    (folder / "release.json").write_text(result.to_json())
    (folder / "certificate.json").write_text(
        json.dumps(sealed(json.loads(certificate()), VERIFIER))
    )
    return [
        *("audit", str(folder / "release.json"), "--log", str(place), "--head", ledger.head),
        *("--certificate", str(folder / "certificate.json")),
        *("--certificate-key", VERIFIER.public_key.hex()),
        *("--public-key", OWNER.public_key.hex(), "--by", "A. Uditor, Audits Ltd"),
    ]
