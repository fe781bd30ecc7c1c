"""Opening a session on a ledger: its whole cost is charged before the first of its bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from safeselect.presentation import to_json_line
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt
from safeselect.promises.statement import Statement
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.selection._arguments import PendingRelease, Scope
from safeselect.selection._results import source_name

__all__ = ["Opened", "open_session", "reserve_session"]

_Drawn = TypeVar("_Drawn")


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened session: the ledger commits to this, because its answers come later.

    Attributes:
        spent: what a session used, if its end is recorded.
    """

    guarantee: Guarantee
    mechanism: str
    source: str
    statement: Statement
    spent: Mapping[str, int] | None = None
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.session/2"."""
        used = {} if self.spent is None else {"spent": {k: str(n) for k, n in self.spent.items()}}
        return to_json_line("safeselect.session/2", self, **used)


def reserve_session(
    scope: Scope,
    source: Source,
    guarantee: Guarantee,
    mechanism: str,
    parts: tuple[tuple[Guarantee, int], ...],
    parameters: Mapping[str, str],
) -> tuple[PendingRelease, Statement]:
    """Charge a session its whole cost; `settled` records at its end what was used.

    If the process dies in between, the charge has no outcome, and it stands.
    """
    pending = scope.prepare(mechanism, guarantee, parts, parameters)
    with Bits(source) as bits:
        try:
            utc = pending.charge(source, bits)
        except BaseException as error:
            pending.end(error)
            raise
    return pending, _said(scope, parameters, utc)


def _said(scope: Scope, parameters: Mapping[str, str], utc: str | None) -> Statement:
    return Statement.of(parameters, unit=scope.unit, neighbours=scope.neighbours, utc=utc)


def open_session(
    scope: Scope | None,
    source: Source,
    guarantee: Guarantee,
    mechanism: str,
    parts: tuple[tuple[Guarantee, int], ...],
    parameters: Mapping[str, str],
    draw: Callable[[Bits], _Drawn],
) -> tuple[_Drawn, Receipt | None]:
    """Charge a session its whole cost, then draw its first noise; return that and a receipt.

    The ledger commits to the opening of the session.  Its answers come later and are already paid
    for.
    """
    with Bits(source) as bits:
        if scope is None:
            return draw(bits), None
        pending = scope.prepare(mechanism, guarantee, parts, parameters)
        try:
            utc = pending.charge(source, bits)
            drawn = draw(bits)
            said = _said(scope, parameters, utc)
            opened = pending.released(Opened(guarantee, mechanism, source_name(source), said))
        except BaseException as error:
            pending.end(error)
            raise
        return drawn, opened.receipt
