"""What one record says to those who replay a ledger, and what of it they keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from safeselect.errors import LedgerDamaged
from safeselect.ledger._ledger_store import Row
from safeselect.ledger._record_check import Fields
from safeselect.ledger._record_scope import Standing
from safeselect.ledger.record import read_numbers

__all__ = ["Open", "Reading", "check_spent", "read_open"]


@dataclass(frozen=True, slots=True)
class Open:
    """A charge that has no outcome yet: whose, and with which public parameters."""

    scopes: tuple[str, ...]
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """A record that was found right, and what follows from it.

    Attributes:
        row: the record as it is kept.
        record: what it says.
        scopes: where scopes stand after it, those that it moves.
        nonce: of a charge.
        request: identity of the request that was charged, if it had one.
        opens: a charge, which waits for its outcome.
        closes: the place of the charge whose outcome it tells.
    """

    row: Row
    record: Fields
    scopes: Mapping[str, Standing] = field(default_factory=dict)
    nonce: int | None = None
    request: str | None = None
    opens: Open | None = None
    closes: int | None = None


def check_spent(spent: Fields, reserved: Mapping[str, str], where: str) -> None:
    """What a session used is counted, and no more than its charge says there was."""
    used = read_numbers(spent, where)
    there = read_numbers({name: reserved.get(name) for name in spent}, where)
    if not used or any(n.denominator != 1 or n > there[name] for name, n in used.items()):
        raise LedgerDamaged(f"{where} does not tell what was used of what was reserved")


def read_open(content: object, where: str) -> Open:
    if isinstance(content, dict) and content.keys() == {"scopes", "parameters"}:
        scopes, parameters = content["scopes"], content["parameters"]
        if isinstance(scopes, list) and isinstance(parameters, dict):
            return Open(tuple(scopes), parameters)
    raise LedgerDamaged(f"{where} does not say what an open charge is")
