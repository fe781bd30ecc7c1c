"""Charge, read, draw, commit: the one transaction of everything that is charged.

The order never changes.  The ledger is charged; only then are values read, and only then is a bit
drawn for noise.  A result is shown only once its record is written.  Without a ledger the values
are read before the source is asked for anything.

A ledger is known here by two protocols, `Scope` and `Pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, cast, final

import numpy as np

from safeselect.errors import LedgerError, ParameterError, ScoreError, from_outside
from safeselect.exact.parameters import describe
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.release.results import Provenance, Receipt, Release

if TYPE_CHECKING:
    from safeselect.accounting.repetition import AnyGuarantee

Values = TypeVar("Values")
Result = TypeVar("Result", bound=Release)

UNREADABLE = (
    "the scores do not fit the arguments. The charge remains; the ledger records it as 'aborted: "
    "input'. To see why, make the same call on synthetic scores of this kind without a ledger"
)
"""The one sentence for all refusals that depend on values, after a charge."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release is and costs, in public terms.

    Attributes:
        mechanism: name of the mechanism, with the version of its law.
        guarantee: what it costs as a whole.
        parts: what its draws cost, each with how many there are.
        parameters: further public parameters, for the record.
    """

    mechanism: str
    guarantee: AnyGuarantee
    parts: tuple[tuple[AnyGuarantee, int], ...]
    parameters: Mapping[str, str]


class Pending(Protocol):
    """A charge whose outcome is still to be written, once."""

    @property
    def utc(self) -> str | None:
        """When it was charged; None where an earlier charge covers the release."""

    def check_open(self) -> None:
        """Refuse an answer of a session if answers are withheld, as its outcome would be."""

    def released(self, output: str) -> Receipt | None:
        """Write a commitment to the output; only after this returns may it be shown."""

    def settled(self, output: str, spent: Mapping[str, int]) -> Receipt | None:
        """Write what a session used of what was charged when it began."""

    def end(self, error: BaseException | None) -> None:
        """Write that there will be no output."""


class Scope(Protocol):
    """The part of a ledger that a release knows: the one budget that it charges."""

    @property
    def name(self) -> str:
        """The name of the budget."""

    @property
    def unit(self) -> str | None:
        """The unit of privacy that it protects; None where that is not known."""

    @property
    def neighbours(self) -> str | None:
        """Which data sets are compared: "add_remove" or "replace_one"; None if not known."""

    def begin(self, charge: Charge, bits: Bits) -> Pending:
        """Charge durably; of these bits take only the nonce, and the salt of the commitment.

        The nonce is taken before the charge, the salt after it; if the salt cannot be had, the
        outcome is written.
        """


def read_ledger(ledger: object, *, monotonic: bool) -> Scope | None:
    """Check an argument `ledger=`.

    Raises:
        ParameterError: not what `ledger.scope(...)` returns, or monotonic scores where neighbours
            replace one unit by another, which moves scores both up and down.
    """
    if ledger is None:
        return None
    # `isinstance` of a protocol takes a tenth of the time of a small call.
    if not all(hasattr(ledger, member) for member in ("begin", "unit", "neighbours")):
        raise ParameterError(
            "ledger must be the result of ledger.scope('name', unit=, neighbours=, purpose=), "
            f"got {describe(ledger)}"
        )
    scope = cast("Scope", ledger)
    if monotonic and scope.neighbours == "replace_one":
        raise ParameterError(
            f"monotonic=True requires add/remove neighbours, but scope {scope.name!r} has "
            "replace_one; omit monotonic or, for counts of users, charge an add_remove scope"
        )
    return scope


def unit_of(scope: Scope | None) -> str | None:
    """The unit of privacy that a scope protects; None without a scope."""
    return None if scope is None else scope.unit


def is_replaced(scope: Scope | None) -> bool:
    """Whether a neighbour has another unit in the place of one; not so without a scope."""
    return scope is not None and scope.neighbours == "replace_one"


@final
class Call(Generic[Values]):
    """One release of whatever can be read by one function: for `with`, once.

        with Call(charge, read, source=source, scope=scope) as call:
            ...
            return call.commit(result)

    On leaving, values in an array and unused random bits are overwritten, and a call that released
    nothing says so in the ledger.  A session keeps the call, and ends it by `settle` or `refuse`.

    Args:
        charge: what the release is and costs.
        read: returns the private values; an array must be its own, because it is overwritten.
        source: as a caller gave it, or None.
        scope: the budget that pays, if any.
        unit: whose privacy, where the values say it and the scope does not.
        neighbours: which data sets are compared, where the call says it; else the scope does.
        unreadable: the one sentence for values that cannot be read after a charge.

    Attributes:
        bits: the random bits of this call; as `values`, only inside `with`.
        values: what was read; private.
    """

    __slots__ = ("_pending", "_read", "_said", "_source", "bits", "charge", "scope", "values")
    bits: Bits
    values: Values

    def __init__(
        self,
        charge: Charge,
        read: Callable[[], Values],
        *,
        source: Source | None,
        scope: Scope | None,
        unit: str | None = None,
        neighbours: str | None = None,
        unreadable: str = UNREADABLE,
    ) -> None:
        self.charge, self.scope = charge, scope
        self._read, self._source, self._said = read, source, (unit, neighbours, unreadable)
        self._pending: Pending | None = None

    def __enter__(self) -> Self:
        try:
            if self.scope is None:
                # Nothing is asked of the source before the values are known to be good.
                self.values = self._read()
                self.bits = Bits(self._source)
            else:
                self.bits = Bits(self._source)
                self._pending = self.scope.begin(self.charge, self.bits)
                self.values = in_one_sentence(self._read, self._said[2])
            return self
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failed = error
        # Outside the handler: what interrupts this has no refusal as its context.
        self.__exit__(None, failed, None)
        raise failed

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._wipe()
        finally:  # whatever interrupts it: a refusal is not told before it is counted
            if self._pending is not None:
                self._pending.end(error)
                self._pending = None  # not before: a session tries it again

    @property
    def header(self) -> dict[str, Any]:
        """The fields of `Release`, but for the receipt, once the call is charged."""
        charge, (unit, by, _) = self.charge, self._said
        if self.scope is not None:
            unit, by = self.scope.unit or unit, by or self.scope.neighbours
        utc = None if self._pending is None else self._pending.utc
        return {
            "mechanism": charge.mechanism,
            "guarantee": charge.guarantee,
            "parts": tuple([part for part, times in charge.parts for _ in range(times)]),
            "source": source_name(self.bits.source),
            "provenance": Provenance.of(tuple(charge.parameters.items()), unit, by, utc),
        }

    def commit(self, result: Result) -> Result:
        """The result; with a ledger it has its receipt, once its record is written.

        Raises:
            LedgerError: it is not what was charged, or the record could not be written.
        """
        paid = self.charge.mechanism, self.charge.guarantee
        if (result.mechanism, result.guarantee) != paid or (self.scope and not self._pending):
            raise LedgerError("a mechanism made a release that it had not charged for")
        if self._pending is None:
            return result
        receipt = self._pending.released(result.to_json())
        self._pending = None
        return replace(result, receipt=receipt)

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """For a session, in place of `with`: where nothing goes wrong the charge stays open."""
        self.__enter__()
        try:
            yield self
        except BaseException as error:
            self.__exit__(None, error, None)
            raise
        self._wipe()

    def check_open(self) -> None:
        """Refuse every answer of a closed scope, before a value is looked at.

        Raises:
            BudgetError: a scope is closed.
            LedgerError: the ledger cannot be read.
        """
        if self._pending is not None:
            self._pending.check_open()

    def settle(self, result: Release, spent: Mapping[str, int]) -> Receipt | None:
        """Write what a session used, unless its end is written; without a ledger do nothing.

        Raises:
            LedgerError: the record could not be written; the caller may try again.
        """
        pending, self._pending = self._pending, None  # a handler of a signal settles nothing twice
        try:
            return None if pending is None else pending.settled(result.to_json(), spent)
        except BaseException:
            self._pending = pending
            raise

    def refuse(self, sentence: str) -> ScoreError:
        """Write that a session ended at a private value; the one error to raise for it.

        Raises:
            BudgetError: a scope was closed in between.
            LedgerError: the record could not be written, so the refusal is not told.
        """
        failed = ScoreError(sentence)
        self.__exit__(None, failed, None)
        return failed

    def _wipe(self) -> None:
        # Where entering failed, there may be no values and no bits.
        if isinstance(values := getattr(self, "values", None), np.ndarray):
            values.fill(0)
        if (bits := getattr(self, "bits", None)) is not None:
            bits.close()


def source_name(source: Source) -> str:
    """The source's name in results; it says where the bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"


def in_one_sentence(read: Callable[[], Values], unreadable: str) -> Values:
    """Read values, of which any fault gives the same message, and no warning.

    Raises:
        ScoreError: with this message; which fault it was may follow from private values.
    """
    try:
        with np.errstate(all="ignore"):
            return read()
    except BaseException as error:  # also errors of libraries and of memory
        if from_outside(error):
            raise
        failed = ScoreError(unreadable)
    raise failed  # outside the handler, so that it has no exception as its context
