"""The contents of a ledger's records, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from safeselect.ledger._ledger_budget import Amounts, Budget, add, exact_texts
from safeselect.ledger._ledger_store import Torn
from safeselect.ledger._pending_release import Charge
from safeselect.ledger._record_scope import Balance
from safeselect.ledger._record_sign import Signer, key_of
from safeselect.ledger.library import library
from safeselect.ledger.record import utc_now
from safeselect.promises.records import Content, guarantee_record

__all__ = ["Written", "amounts", "charged", "made", "opened_scope", "raised", "was_torn"]

Written = tuple[str, Mapping[str, Content]]
"""The kind of a record, and its content without the fields of every record."""


def made(signer: Signer | None, place: Mapping[str, str]) -> Written:
    """Return the first record."""
    about: dict[str, Content] = {"utc": utc_now(), "library": dict(library())}
    return "created", about | {"signer": dict(key_of(signer)), "place": dict(place)}


def opened_scope(name: str, budget: Budget, max_refusals: int) -> Written:
    """Return the record of a new scope; it states derived caps too, for readers."""
    return "scope", {
        "utc": utc_now(),
        "scope": name,
        "terms": budget.as_record(),
        "caps": exact_texts(budget.caps),
        "max_refusals": str(max_refusals),
    }


def charged(purpose: str, charge: Charge) -> dict[str, Content]:
    """Return the record of a charge without its amounts, which depend on the last total."""
    parts: list[Content] = [
        {"count": str(count), "each": guarantee_record(guarantee)}
        for guarantee, count in charge.parts
    ]
    return {
        "utc": utc_now(),
        "library": dict(library()),
        "purpose": purpose,
        "mechanism": charge.mechanism,
        "guarantee": guarantee_record(charge.guarantee),
        "parts": parts,
        "parameters": dict(charge.parameters),
        "source": {
            "name": charge.source,
            "production": charge.production,
            "health": charge.health,
        },
        "nonce": charge.nonce.hex(),
        "request": {},
    }


def amounts(scope: str, standing: Balance, price: Amounts) -> dict[str, Content]:
    """Return the amounts of a charge to one scope."""
    return {
        "scope": scope,
        "terms": standing.budget.as_record(),
        "before": exact_texts(standing.spent),
        "charge": exact_texts(price),
        "after": exact_texts(add(standing.spent, price)),
    }


def raised(scope: str, standing: Balance, refusals: int, reason: str) -> Written:
    """Return the record that raises a scope's limit of refusals."""
    after = max(standing.max_refusals, standing.refusals) + refusals
    return "raised", {
        "utc": utc_now(),
        "scope": scope,
        "limit": "max_refusals",
        "before": str(standing.max_refusals),
        "after": str(after),
        "reason": reason,
        "approvals": [],
    }


def was_torn(torn: Torn) -> Written:
    """Return the record of bytes that were cut off before it."""
    return "torn", {"length": str(torn.length), "sha256": torn.sha256}
