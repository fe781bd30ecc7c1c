"""A session on a ledger: charged its whole cost before the first of its bits, and settled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, final

from safeselect.errors import LedgerError, ScoreError
from safeselect.presentation import to_json_line
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, Statement
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.selection._arguments import PendingRelease, Scope
from safeselect.selection._results import source_name

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

    __slots__ = ("_opened", "_pending", "receipt")

    def __init__(self, pending: PendingRelease, opened: Opened) -> None:
        self._opened = opened
        self._pending: PendingRelease | None = pending
        self.receipt: Receipt | None = None

    def check_open(self) -> None:
        """Refuse every answer of a closed scope, before a value is looked at.

        Raises:
            BudgetError: a scope is closed.
            LedgerError: the ledger cannot be read.
        """
        if self._pending is not None:
            self._pending.check_open()

    def refused(self, sentence: str) -> ScoreError:
        """Record that the session ended at a private value; return the one error to raise.

        Raises:
            BudgetError: a scope was closed in between.
            LedgerError: the record could not be written, so the refusal is not told.
        """
        failed, pending, self._pending = ScoreError(sentence), self._pending, None
        if pending is not None:
            pending.end(failed)
        return failed

    def settle(self, spent: Mapping[str, int]) -> None:
        """Record what was used, unless the end is recorded.

        Raises:
            LedgerError: the record could not be written; the caller may try again.
        """
        if self._pending is not None:
            opened = self._opened
            closed = Opened(
                opened.guarantee, opened.mechanism, opened.source, opened.statement, {**spent}
            )
            self.receipt = self._pending.settled(closed, spent)
            self._pending = None


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
    if scope is None:
        with Bits(source) as bits:
            return draw(bits), None
    pending = scope.prepare(mechanism, guarantee, parts, parameters)
    with Bits(source) as bits:
        try:
            utc = pending.charge(source, bits)
            drawn = draw(bits)
        except BaseException as error:
            pending.end(error)
            raise
    said = Statement.of(parameters, unit=scope.unit, neighbours=scope.neighbours, utc=utc)
    return drawn, Reserved(pending, Opened(guarantee, mechanism, source_name(source), said))
