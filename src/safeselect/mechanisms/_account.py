"""What a call does with its ledger: charge before the first bit, tell the outcome at the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, final

from safeselect._exact import describe
from safeselect.accounting import Charge, Pending, Scope
from safeselect.accounting.record import SALT_BYTES
from safeselect.errors import LedgerError, ParameterError, SourceError
from safeselect.guarantees import Guarantee
from safeselect.mechanisms._results import Selection, Selections, TopK, TopSet
from safeselect.samplers._bits import Bits
from safeselect.sources import Source

__all__ = ["Account", "read_ledger"]

_Result = TypeVar("_Result", Selection, Selections, TopK, TopSet)


def read_ledger(ledger: object, *, monotonic: bool) -> Scope | None:
    """Check an argument `ledger=`.

    Raises:
        ParameterError: not what `ledger.scope(...)` returns, or monotonic scores where neighbours
            replace one unit by another, which moves scores both up and down.
    """
    if ledger is None:
        return None
    if not isinstance(ledger, Scope):
        raise ParameterError(f"ledger must be ledger.scope(...), got {describe(ledger)}")
    if monotonic and ledger.neighbours == "replace_one":
        raise ParameterError(
            f"monotonic=True needs add/remove neighbours; scope {ledger.name!r} has replace_one"
        )
    return ledger


@final
class Account:
    """One release on a scope of a ledger, or on none.

    Args:
        scope: what `read_ledger` returned.
        mechanism, guarantee, parts, parameters: as in `Charge`.
    """

    __slots__ = ("_guarantee", "_mechanism", "_parameters", "_parts", "_pending", "_salt", "_scope")

    def __init__(
        self,
        scope: Scope | None,
        mechanism: str,
        guarantee: Guarantee,
        parts: tuple[tuple[Guarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> None:
        self._scope = scope
        self._mechanism, self._guarantee, self._parts = mechanism, guarantee, parts
        self._parameters = parameters
        self._pending: Pending | None = None
        self._salt = b""

    def charge(self, source: Source, bits: Bits) -> None:
        """Charge the release, then draw the salt: the only bits drawn that no sampler uses."""
        if self._scope is None:
            return
        self._pending = self._scope.charge(
            Charge(
                self._mechanism,
                self._guarantee,
                self._parts,
                self._parameters,
                source.name,
                source.production,
                bits.nonce,
            )
        )
        salt = bytearray(SALT_BYTES)
        bits.fill(salt)
        self._salt = bytes(salt)

    def released(self, result: _Result) -> _Result:
        """Write that this result is released, and give it its receipt.

        Raises:
            LedgerError: it is not what was charged, or it could not be written.
        """
        if self._scope is None:
            return result
        charged = self._guarantee, self._mechanism
        if self._pending is None or (result.guarantee, result.mechanism) != charged:
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json(), self._salt)
        self._pending = None
        return replace(result, receipt=receipt)

    def end(self, error: BaseException | None) -> None:
        """Write that there is no output, unless one was released.

        Raises:
            LedgerError: no error tells why there is none.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        kind = "source" if isinstance(error, SourceError) else "error"
        if error is not None and not isinstance(error, Exception):
            kind = "interrupt"
        # The error is on its way already; a charge without an outcome stands all the same.
        with suppress(LedgerError):
            pending.aborted(kind)  # type: ignore[arg-type]  # one of its three words
        if error is None:
            raise LedgerError("the mechanism ended without an output; the charge stands")
