"""The common arguments of every mechanism, with types: written once, shown in every signature.

This file knows a ledger only by two protocols, `Scope` and `PendingRelease`.

A new common argument is two edits: a line in `Options` here, and its use in `_reading.Arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Protocol, TypedDict, TypeVar, cast, runtime_checkable

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe
from safeselect.promises.records import Receipt
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import Source
from safeselect.scores.candidates import Label

Result = TypeVar("Result", bound="Release")


class Release(Protocol):
    """The part of a result that a ledger reads: a frozen dataclass that states its cost."""

    @property
    def guarantee(self) -> Any:
        """The cost of the release."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""

    def to_json(self) -> str:
        """One line of JSON, to which the ledger commits."""


class PendingRelease(Protocol):
    """A release that a ledger is about to charge; the ledger learns its outcome once."""

    def charge(self, source: Source, bits: Bits) -> str | None:
        """Charge the release durably, before any other bit is drawn; return the time, in UTC.

        None is the answer where an earlier charge covers the release.
        """

    def released(self, result: Result) -> Result:
        """Write a commitment to the result; only after this returns may the result be shown."""

    def settled(self, closed: Release, spent: Mapping[str, int]) -> Receipt:
        """Write what a session used of what was charged when it began."""

    def end(self, error: BaseException | None) -> None:
        """Write that there will be no output, unless one was released."""


@runtime_checkable
class Scope(Protocol):
    """The part of a ledger that a mechanism knows: the one budget that it charges."""

    @property
    def name(self) -> str:
        """The name of the budget."""

    @property
    def unit(self) -> str | None:
        """The unit of privacy that it protects; None where that is not known."""

    @property
    def neighbours(self) -> str | None:
        """Which data sets are compared: "add_remove" or "replace_one"; None if not known."""

    def prepare(
        self,
        mechanism: str,
        guarantee: Any,
        parts: tuple[tuple[Any, int], ...],
        parameters: Mapping[str, str],
    ) -> PendingRelease:
        """A release that this budget will pay for, not charged yet; all arguments are public."""


class _Column(Protocol):
    def __array__(self) -> Any:
        """An array, or a column of pandas, polars or Arrow."""


Scores = Mapping[Label, Any] | Sequence[Any] | _Column
"""n scores, or a mapping label -> score."""

Rows = Sequence[Any] | _Column
"""m rows of n scores."""

Labels = Iterable[Label] | None
"""One label for each candidate, or None for their positions."""


class Parameters(TypedDict, total=False):
    """The common arguments but for the cost of a call and its sensitivity; each may be left out."""

    monotonic: bool
    minimize: bool
    grid: Number | None
    on_grid: bool
    score_error: Number | None
    source: Source | None
    ledger: Scope | None
    engine: str | None


class _Cost(TypedDict, total=False):
    epsilon: Number | None
    rho: Number | None
    sensitivity: Number | None
    range_: Number | None


class Options(_Cost, Parameters, total=False):
    """The common arguments; each may be left out."""

    weights: Mapping[Any, Number] | Sequence[Number] | None


_Function = TypeVar("_Function", bound=Callable[..., Any])


def explicit(common: type[Any]) -> Callable[[_Function], _Function]:
    """A decorator that gives a function with `**options: Unpack[common]` its whole signature.

    `inspect`, `help` and the documentation then show every argument with its type and default.
    Type checkers do so by themselves.

    Args:
        common: `Options` or `Parameters`.
    """

    def decorate(function: _Function) -> _Function:
        written = signature(function)
        *taken, _ = written.parameters.values()
        taken += [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=False if form.__forward_arg__ == "bool" else None,
                annotation=form.__forward_arg__,
            )
            for name, form in common.__annotations__.items()
        ]
        names = frozenset(each.name for each in taken)

        @wraps(function)
        def called(*positional: Any, **options: Any) -> Any:
            if not names.issuperset(options):
                unknown = min(options.keys() - names)
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument {unknown!r}"
                )
            return function(*positional, **options)

        cast("Any", called).__signature__ = written.replace(parameters=taken)
        return cast("_Function", called)

    return decorate


def unit_of(scope: Scope | None) -> str | None:
    """The unit of privacy that a scope protects; None without a scope."""
    return None if scope is None else scope.unit


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
