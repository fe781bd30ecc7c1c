"""What a call does with its ledger: charge before the first bit, tell the outcome at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal, Protocol, TypeVar, final, runtime_checkable

from safeselect.errors import LedgerError, ParameterError, ScoreError, SourceError
from safeselect.exact.parameters import describe
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import SALT_BYTES, Charge, Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source, observed
from safeselect.selection._results import Opened, Release

__all__ = [
    "Account",
    "Scope",
    "open_session",
    "read_ledger",
    "reserve_session",
    "source_name",
    "unit_of",
]

_Result = TypeVar("_Result", bound=Release)
_Drawn = TypeVar("_Drawn")
Reason = Literal["source", "interrupt", "error", "input"]


class Pending(Protocol):
    """A release that a ledger has charged, and whose outcome it is told once."""

    def released(self, output: str, salt: bytes) -> Receipt:
        """Write a commitment to the output, which may be shown only when this has returned."""

    def settled(self, output: str, salt: bytes, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what it reserved."""

    def aborted(self, reason: Reason) -> None:
        """Write that there will be no output."""


@runtime_checkable
class Scope(Protocol):
    """What a mechanism knows of a ledger: one budget, in whose name it charges."""

    @property
    def name(self) -> str:
        """The name of the budget."""

    @property
    def unit(self) -> str:
        """Whom it protects."""

    @property
    def neighbours(self) -> str:
        """Which data sets are compared: "add_remove" or "replace_one"."""

    @property
    def purpose(self) -> str:
        """Why it is charged."""

    def charge(self, charge: Charge) -> Pending:
        """Charge a release durably, before its first random bit is drawn."""


def unit_of(scope: Scope | None) -> str | None:
    """Whom a scope protects; None without one."""
    return None if scope is None else scope.unit


def source_name(source: Source) -> str:
    """What results say about a source; says so loudly where its bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"


def read_ledger(ledger: object, *, monotonic: bool) -> Scope | None:
    """Check an argument `ledger=`.

    Raises:
        ParameterError: not what `ledger.scope(...)` returns, or monotonic scores where neighbours
            replace one unit by another, which moves scores both up and down.
    """
    if ledger is None:
        return None
    if not isinstance(ledger, Scope):
        raise ParameterError(
            "ledger must be what ledger.scope('name', unit=, neighbours=, purpose=) returns, "
            f"got {describe(ledger)}"
        )
    if monotonic and ledger.neighbours == "replace_one":
        raise ParameterError(
            f"monotonic=True needs add/remove neighbours; scope {ledger.name!r} has replace_one"
        )
    return ledger


@final
class Account:
    """One release on a scope of a ledger.

    Args:
        scope: what `read_ledger` returned.
        mechanism, guarantee, parts, parameters: as in `Charge`.
    """

    __slots__ = (
        "_guarantee",
        "_mechanism",
        "_parameters",
        "_parts",
        "_pending",
        "_salt",
        "_scope",
        "_source",
    )

    def __init__(
        self,
        scope: Scope,
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
        self._source = ""

    def charge(self, source: Source, bits: Bits) -> None:
        """Charge the release, then draw the salt: the only bits drawn that no sampler uses."""
        self._source = source_name(source)
        seen = observed(source)
        self._pending = self._scope.charge(
            Charge(
                self._mechanism,
                self._guarantee,
                self._parts,
                self._parameters,
                seen.name,
                seen.production,
                seen.health,
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
        charged = self._guarantee, self._mechanism
        if self._pending is None or (result.guarantee, result.mechanism) != charged:
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json(), self._salt)
        self._pending = None
        # Every result is a frozen dataclass with this field, which a protocol cannot say.
        return replace(result, receipt=receipt)  # type: ignore[type-var]

    def settled(self, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what it reserved, and that it ended.

        Raises:
            LedgerError: it was written before, or could not be written now; then it may be tried
                again.
        """
        if self._pending is None:
            raise LedgerError("what the session used is in the ledger already")
        closed = Opened(self._guarantee, self._mechanism, self._source, spent)
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


def reserve_session(
    scope: Scope,
    source: Source,
    guarantee: Guarantee,
    mechanism: str,
    parts: tuple[tuple[Guarantee, int], ...],
    parameters: Mapping[str, str],
) -> Account:
    """Charge a session its whole cost; `settled` tells at its end what was used.

    A process that dies in between leaves a charge without an outcome, and charges stand.
    """
    account = Account(scope, mechanism, guarantee, parts, parameters)
    with Bits(source) as bits:
        try:
            account.charge(source, bits)
        except BaseException as error:
            account.end(error)
            raise
    return account


def open_session(
    scope: Scope | None,
    source: Source,
    guarantee: Guarantee,
    mechanism: str,
    parts: tuple[tuple[Guarantee, int], ...],
    parameters: Mapping[str, str],
    draw: Callable[[Bits], _Drawn],
) -> tuple[_Drawn, Receipt | None]:
    """Charge a session its whole cost, then draw what it starts with; returns that and a receipt.

    What the ledger commits to is that the session was opened; its answers come later, and are paid
    for already.
    """
    with Bits(source) as bits:
        if scope is None:
            return draw(bits), None
        account = Account(scope, mechanism, guarantee, parts, parameters)
        try:
            account.charge(source, bits)
            drawn = draw(bits)
            opened = account.released(Opened(guarantee, mechanism, source_name(source)))
        except BaseException as error:
            account.end(error)
            raise
        return drawn, opened.receipt
