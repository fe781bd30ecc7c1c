"""What a mechanism knows of a ledger: two protocols, and what every result has in common."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol, TypeVar, runtime_checkable

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source

__all__ = ["PendingRelease", "Release", "Result", "Scope", "read_ledger", "source_name", "unit_of"]

Result = TypeVar("Result", bound="Release")


class Release(Protocol):
    """What all results have in common: frozen dataclasses that say what they cost."""

    @property
    def guarantee(self) -> Guarantee:
        """What the release costs."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    @property
    def source(self) -> str:
        """Where the random bytes came from."""

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise was calibrated to."""

    @property
    def receipt(self) -> Receipt | None:
        """With `ledger=`, where its record is."""

    def to_json(self) -> str:
        """One line of JSON."""


class PendingRelease(Protocol):
    """A release that a ledger is about to charge, and whose outcome it is told once."""

    def charge(self, source: Source, bits: Bits) -> None:
        """Charge the release durably, before any other bit is drawn."""

    def released(self, result: Result) -> Result:
        """Write a commitment to the result, which may be shown only when this has returned."""

    def settled(self, closed: Release, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what was charged when it began."""

    def end(self, error: BaseException | None) -> None:
        """Write that there will be no output, unless one was released."""


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

    def prepare(
        self,
        mechanism: str,
        guarantee: Guarantee,
        parts: tuple[tuple[Guarantee, int], ...],
        parameters: Mapping[str, str],
    ) -> PendingRelease:
        """A release in its name, not charged yet; all that is given is public."""


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
