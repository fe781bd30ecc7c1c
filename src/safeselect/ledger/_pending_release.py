"""A release on a ledger: charged before its first bit, with one record of its outcome.

The salt of the commitment is drawn right after the charge.  Only these bits go to no sampler.
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
        parts: the guarantees of its draws, fixed in advance, each with its number of draws; their
            joint cost is charged if it is less.
        parameters: public parameters and shape, such as sensitivity and number of candidates.
        source: name of the source of random bytes.
        production: whether the source is for production: "yes", "asserted" or "no".
        health: the result of the source's tests, such as "passed" or "not tested".
        nonce: the 16 bytes that the source gave for this call; no sampler uses them.
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
    """A released result: a frozen dataclass with a field for the receipt."""

    @property
    def guarantee(self) -> Guarantee:
        """The cost of the release."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    def to_json(self) -> str:
        """One line of JSON, to which the ledger commits."""


Result = TypeVar("Result", bound=Output)


class Charged(Protocol):
    """A release that was charged."""

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output; show the output only after this returns."""

    def settled(self, output: str, salt: bytes, spent: Mapping[str, int]) -> Receipt:
        """Write how much of its reserved charge a session used."""

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
        scope: the scope whose budget pays.
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
        """Charge the release, then draw the salt, the only bits that go to no sampler."""
        seen = observed(source)
        self._pending = self._scope.charge(
            Charge(*self._charge, seen.name, seen.production, seen.health, bits.nonce)
        )
        salt = bytearray(SALT_BYTES)
        bits.fill(salt)
        self._salt = bytes(salt)

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

        Raises:
            LedgerError: there is no output, and no error explains it.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        kind: Reason = "error"
        if isinstance(error, SourceError):
            kind = "source"
        elif isinstance(error, ScoreError):
            kind = "input"  # after the charge, only private values can still be refused
        elif error is not None and not isinstance(error, Exception):
            kind = "interrupt"
        # The error is already being raised; a charge without an outcome stands anyway.
        with suppress(LedgerError):
            pending.aborted(kind)
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge stands")
