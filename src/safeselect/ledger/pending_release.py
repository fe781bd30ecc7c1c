"""A release on a ledger: charged before its first bit, with one record of its outcome.

The salt of the commitment is drawn right after the charge.  Only these bits go to no sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeVar, final

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.errors import BudgetError, LedgerError, ScoreError, SourceError
from safeselect.ledger.entries import Charge
from safeselect.ledger.pending import SALT_BYTES, Pending, Reason
from safeselect.promises.records import Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.sources.observed import observed


class Output(Protocol):
    """A released result: a frozen dataclass with a field for the receipt."""

    @property
    def guarantee(self) -> AnyGuarantee:
        """The cost of the release."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    def to_json(self) -> str:
        """One line of JSON, to which the ledger commits."""


Result = TypeVar("Result", bound=Output)


@final
class PendingRelease:
    """One release on a scope of a ledger.

    Args:
        charge_scope: writes the charge, in the name of the scope whose budget pays.
        mechanism, guarantee, parts, parameters: as in `Charge`.
    """

    __slots__ = ("_charge", "_charge_scope", "_pending", "_salt")

    def __init__(
        self,
        charge_scope: Callable[[Charge], Pending],
        mechanism: str,
        guarantee: AnyGuarantee,
        parts: tuple[tuple[AnyGuarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> None:
        self._charge_scope = charge_scope
        self._charge = mechanism, guarantee, parts, parameters
        self._pending: Pending | None = None
        self._salt = b""

    def charge(self, source: Source, bits: Bits) -> str:
        """Charge the release, then draw the salt; return the time that the record says."""
        nonce = bits.nonce  # drawn, if at all now, before the charge: the source is known to work
        seen = observed(source)
        self._pending = self._charge_scope(
            Charge(*self._charge, seen.name, seen.production, seen.health, nonce)
        )
        salt = bytearray(SALT_BYTES)
        bits.fill(salt)
        self._salt = bytes(salt)
        return self._pending.utc

    def check_open(self) -> None:
        """Refuse an answer of a session if a scope is closed, before a value is looked at.

        Raises:
            BudgetError: one is.
            LedgerError: the ledger cannot be used.
        """
        if self._pending is not None:
            self._pending.check_open()

    def released(self, result: Result) -> Result:
        """Write that this result is released; return it with its receipt.

        Raises:
            LedgerError: the result is not what was charged, or the record could not be written.
        """
        if self._pending is None or (result.mechanism, result.guarantee) != self._charge[:2]:
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json(), self._salt)
        self._pending = None
        # Every result is a frozen dataclass with this field; a protocol cannot express that.
        return replace(result, receipt=receipt)  # type: ignore[type-var]

    def settled(self, closed: Output, spent: Mapping[str, int]) -> Receipt:
        """Write that a session ended, and how much of its reserved charge it used.

        Raises:
            LedgerError: it was written before, or could not be written now; then the caller may
                try again.
        """
        if self._pending is None:
            raise LedgerError("what the session used is in the ledger already")
        receipt = self._pending.settled(closed.to_json(), self._salt, spent)
        self._pending = None
        return receipt

    def end(self, error: BaseException | None) -> None:
        """Write that there is no output, unless one was released.

        A refusal of private input is told only if it was counted, and while the scopes are open.
        Otherwise the error is the one that an answer would have met.

        Raises:
            BudgetError: private input was refused, and a scope was closed before.
            LedgerError: there is no output, and no error explains it; or private input was refused,
                and the record could not be written.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        kind: Reason = "error"
        if isinstance(error, SourceError):
            kind = "source"
        elif isinstance(error, ScoreError):
            _count_refusal(pending)  # after the charge, only private values can still be refused
            return
        elif error is not None and not isinstance(error, Exception):
            kind = "interrupt"
        # The error is already being raised; a charge without an outcome stands anyway.
        with suppress(LedgerError):
            pending.aborted(kind)
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge stands")


def _count_refusal(pending: Pending) -> None:
    """Write that private input was refused; raise what an answer would have met, if it met a thing.

    Raises:
        BudgetError: a scope was closed before.
        LedgerError: the record could not be written.
    """
    met: BudgetError | LedgerError | None
    try:
        met = pending.aborted("input")
    except LedgerError as error:
        met = error
    if met is not None:
        try:
            raise met
        finally:
            met.__context__ = None  # the refusal that is being handled depends on private values
