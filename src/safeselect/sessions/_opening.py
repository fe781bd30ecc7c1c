"""A session on a ledger: charged its whole cost before the first of its bits, and settled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, final

from safeselect.errors import LedgerError, ScoreError
from safeselect.presentation import to_json_line
from safeselect.promises.guarantees import Guarantee
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.release.call import Call, Charge, Scope
from safeselect.release.results import Receipt, Statement

_Drawn = TypeVar("_Drawn")


@dataclass(frozen=True, slots=True)
class Opened:
    """A session: the ledger commits to this at its end, because its answers come one by one.

    Attributes:
        spent: what the session used; None in records of earlier versions, written at its opening.
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


@final
class Reserved:
    """The charge of a session, until the ledger has a record of its end.

    Attributes:
        receipt: of the record that settled it; None before, and for a session that was refused.
    """

    __slots__ = ("_call", "_opened", "receipt")

    def __init__(self, call: Call[None], opened: Opened) -> None:
        self._call, self._opened = call, opened
        self.receipt: Receipt | None = None

    def check_open(self) -> None:
        """Refuse every answer of a closed scope, before a value is looked at.

        Raises:
            BudgetError: a scope is closed.
            LedgerError: the ledger cannot be read.
        """
        self._call.check_open()

    def refused(self, sentence: str) -> ScoreError:
        """Record that the session ended at a private value; return the one error to raise."""
        return self._call.refuse(sentence)

    def settle(self, spent: Mapping[str, int]) -> None:
        """Record what was used, unless the end is recorded.

        Raises:
            LedgerError: the record could not be written; the caller may try again.
        """
        closed = replace(self._opened, spent={**spent})
        self.receipt = self._call.settle(closed, spent) or self.receipt


def leave(close: Callable[[], None], error: BaseException | None) -> None:
    """Close a session at the end of its block; an error of the block is not hidden by another."""
    try:
        close()
    except LedgerError:
        if error is None:
            raise


def reserve_session(
    scope: Scope | None,
    source: Source,
    guarantee: Guarantee,
    mechanism: str,
    parts: tuple[tuple[Guarantee, int], ...],
    parameters: Mapping[str, str],
    draw: Callable[[Bits], _Drawn],
) -> tuple[_Drawn, Reserved | None]:
    """Charge a session its whole cost, then draw its first noise; without a scope only draw.

    If the process dies before the session's end is recorded, the charge has no outcome, and it
    stands.
    """
    charge = Charge(mechanism, guarantee, parts, parameters)
    call = Call(charge, lambda: None, source=source, scope=scope)
    with call.opened():
        drawn = draw(call.bits)
        opened = Opened(guarantee, mechanism, call.source_name, call.statement)
    return drawn, None if scope is None else Reserved(call, opened)
