"""The result of reading one record in a replay, and the part of it that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from safeselect.errors import LedgerDamaged
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.fields import Fields
from safeselect.ledger.records.record import read_numbers
from safeselect.ledger.store import Row


@dataclass(frozen=True, slots=True)
class Open:
    """A charge that has no outcome yet: its scopes and its public parameters."""

    scopes: tuple[str, ...]
    parameters: Mapping[str, str]


@dataclass(slots=True)
class Reading:
    """A correct record, and what follows from it.

    Attributes:
        row: the record as it is stored.
        record: its content.
        scopes: the new balances of the scopes that it changes.
        nonce: the nonce of a charge.
        request: the two hashes of the request that was charged, if it had one.
        opens: a charge that awaits its outcome.
        closes: the place of the charge whose outcome this record states.
    """

    row: Row
    record: Fields
    scopes: Mapping[str, Balance] = field(default_factory=dict)
    nonce: int | None = None
    request: tuple[str, str] | None = None
    opens: Open | None = None
    closes: str | None = None


def check_spent(spent: Fields, reserved: Mapping[str, str], where: str) -> None:
    """Check that a session used counted amounts, and no more than its charge reserved."""
    used = read_numbers(spent, where)
    there = read_numbers({name: reserved.get(name) for name in spent}, where)
    if not used or any(n.denominator != 1 or n > there[name] for name, n in used.items()):
        raise LedgerDamaged(f"{where} does not tell what was used of what was reserved")
