"""A release on a ledger: charged before its first bit, its outcome told once.

The salt of the commitment is drawn right after the charge: the only bits that no sampler uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeVar, final

from safeselect.errors import LedgerError, ScoreError, SourceError
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.sources.observed import observed

__all__ = ["Charge", "PendingRelease"]

SALT_BYTES = 32
"""Length of the salt that opens the commitment to an output."""

Reason = Literal["source", "interrupt", "error", "input"]


@dataclass(frozen=True, slots=True)
class Charge:
    """A release about to be made, in public terms.

    Attributes:
        mechanism: name of the mechanism and version of its law.
        guarantee: what the whole release costs.
        parts: the guarantees of its draws, fixed in advance, each with how many of them; what they
            cost together is charged where it is less.
        parameters: public parameters and shape, such as sensitivity and number of candidates.
        source: name of the source of random bytes.
        production: whether it is one for production: "yes", "asserted" or "no".
        health: what was observed of it, such as "passed" or "not tested".
        nonce: 16 bytes that the source gave for this call and no sampler uses.
    """

    mechanism: str
    guarantee: Guarantee
    parts: tuple[tuple[Guarantee, int], ...]
    parameters: Mapping[str, str]
    source: str
    production: str
    health: str
    nonce: bytes


class Output(Protocol):
    """What is released: a frozen dataclass with a field for the receipt."""

    @property
    def guarantee(self) -> Guarantee:
        """What the release costs."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    def to_json(self) -> str:
        """One line of JSON, to which the ledger commits."""


Result = TypeVar("Result", bound=Output)


class Charged(Protocol):
    """A release that was charged."""

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output, which may be shown only when this has returned."""

    def settled(self, output: str, salt: bytes, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what it reserved."""

    def aborted(self, reason: Reason) -> None:
        """Write that there will be no output."""


class ChargingScope(Protocol):
    """A scope that charges."""

    def charge(self, charge: Charge) -> Charged:
        """Charge a release durably, before its first random bit is drawn."""


@final
class PendingRelease:
    """One release on a scope of a ledger.

    Args:
        scope: whose budget pays.
        mechanism, guarantee, parts, parameters: as in `Charge`.
    """

    __slots__ = ("_charge", "_pending", "_salt", "_scope")

    def __init__(
        self,
        scope: ChargingScope,
        mechanism: str,
        guarantee: Guarantee,
        parts: tuple[tuple[Guarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> None:
        self._scope = scope
        self._charge = mechanism, guarantee, parts, parameters
        self._pending: Charged | None = None
        self._salt = b""

    def charge(self, source: Source, bits: Bits) -> None:
        """Charge the release, then draw the salt: the only bits drawn that no sampler uses."""
        seen = observed(source)
        self._pending = self._scope.charge(
            Charge(*self._charge, seen.name, seen.production, seen.health, bits.nonce)
        )
        salt = bytearray(SALT_BYTES)
        bits.fill(salt)
        self._salt = bytes(salt)

    def released(self, result: Result) -> Result:
        """Write that this result is released, and give it its receipt.

        Raises:
            LedgerError: it is not what was charged, or it could not be written.
        """
        if self._pending is None or (result.mechanism, result.guarantee) != self._charge[:2]:
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json(), self._salt)
        self._pending = None
        # Every result is a frozen dataclass with this field, which a protocol cannot say.
        return replace(result, receipt=receipt)  # type: ignore[type-var]

    def settled(self, closed: Output, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what it reserved, and that it ended.

        Raises:
            LedgerError: it was written before, or could not be written now; then it may be tried
                again.
        """
        if self._pending is None:
            raise LedgerError("what the session used is in the ledger already")
        receipt = self._pending.settled(closed.to_json(), self._salt, spent)
        self._pending = None
        return receipt

    def end(self, error: BaseException | None) -> None:
        """Write that there is no output, unless one was released.

        Raises:
            LedgerError: no error tells why there is none.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        kind: Reason = "error"
        if isinstance(error, SourceError):
            kind = "source"
        elif isinstance(error, ScoreError):
            kind = "input"  # after the charge, only private values are still to be refused
        elif error is not None and not isinstance(error, Exception):
            kind = "interrupt"
        # The error is on its way already; a charge without an outcome stands all the same.
        with suppress(LedgerError):
            pending.aborted(kind)
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge stands")
