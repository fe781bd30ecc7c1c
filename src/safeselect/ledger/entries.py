"""The contents of a ledger's records, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.ledger.records.approvals import Approvers
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.budget import Amounts, Budget, add, exact_texts
from safeselect.ledger.records.provenance import library
from safeselect.ledger.records.record import Clock
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.signatures import Signer, key_of
from safeselect.ledger.store import Torn
from safeselect.promises.records import Content, guarantee_record

Written = tuple[str, Mapping[str, Content]]
"""The kind of a record, and its content without the fields of every record and the time."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A release about to be made, in public terms.

    Attributes:
        mechanism: name of the mechanism and version of its law.
        guarantee: what the whole release costs.
        parts: the guarantees of its draws, fixed in advance, each with its number of draws; their
            joint cost is charged if it is less.
        parameters: public parameters and shape, such as sensitivity and number of candidates.
        source: name of the source of random bytes.
        production: whether the source is for production: "yes", "asserted" or "no".
        health: the result of the source's tests, such as "passed" or "not tested".
        nonce: the 16 bytes that the source gave for this call; no sampler uses them.
    """

    mechanism: str
    guarantee: AnyGuarantee
    parts: tuple[tuple[AnyGuarantee, int], ...]
    parameters: Mapping[str, str]
    source: str
    production: str
    health: str
    nonce: bytes


def made(
    signer: Signer | None, place: Mapping[str, str], approvers: Approvers | None, clock: Clock
) -> Written:
    """Return the first record."""
    about: dict[str, Content] = {"clock": clock, "library": dict(library())}
    if approvers is not None:
        about["approvers"] = approvers.as_record()
    return "created", about | {"signer": dict(key_of(signer)), "place": dict(place)}


def opened_scope(name: str, budget: Budget, max_refusals: int) -> Written:
    """Return the record of a new scope; it states derived caps too, for readers."""
    return "scope", {
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
        "library": dict(library()),
        "purpose": purpose,
        "mechanism": charge.mechanism,
        "guarantee": guarantee_record(charge.guarantee),
        "parts": parts,
        "parameters": dict(charge.parameters),
        "source": {"name": charge.source, "production": charge.production, "health": charge.health},
        "nonce": charge.nonce.hex(),
        "request": {},
    }


def amounts(scope: str, balance: Balance, price: Amounts) -> dict[str, Content]:
    """Return the amounts of a charge to one scope."""
    return {
        "scope": scope,
        "terms": balance.budget.as_record(),
        "before": dict(balance.texts),
        "charge": exact_texts(price),
        "after": exact_texts(add(balance.spent, price)),
    }


def more_refusals(balance: Balance, refusals: int) -> tuple[str, str]:
    """Return the limit of refusals before, and after so many more."""
    after = max(balance.max_refusals, balance.refusals) + refusals
    return str(balance.max_refusals), str(after)


def raised(scope: str, limit: str, before: str, after: str, reason: str) -> Written:
    """Return the record that raises a limit of a scope; nobody has approved it yet."""
    return "raised", {
        "scope": scope,
        "limit": limit,
        "before": before,
        "after": after,
        "reason": reason,
        "approvals": [],
    }


def replaced(checker: Checker, signer: Mapping[str, str]) -> Written:
    """Return the record of another signing key; nobody has handed over or approved yet."""
    return "key", {
        "signer": dict(signer),
        "replaces": checker.signer["public_key"],
        "handover": "",
        "approvals": [],
    }


def was_torn(torn: Torn) -> Written:
    """Return the record of bytes that were cut off before it."""
    return "torn", {"length": str(torn.length), "sha256": torn.sha256}
