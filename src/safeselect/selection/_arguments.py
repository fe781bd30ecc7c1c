"""What every mechanism accepts, with its types: written once, shown in every signature.

A new common argument is two edits: a line in `Options` here, and its use in `_call.Call`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Generic, Protocol, TypedDict, TypeVar, cast

from safeselect.randomness.source import Source
from safeselect.selection._charging import Scope
from safeselect.selection._results import Label

__all__ = ["Number", "Options", "Parameters", "Rows", "Scores", "explicit"]

Number = int | str | Fraction | Decimal | float
"""An exact parameter: 1, "0.1", Fraction(1, 3); a float counts as the decimal that it prints."""


class _Column(Protocol):
    def __array__(self) -> Any:
        """An array, or a column of pandas, polars or Arrow."""


Scores = Mapping[Label, Any] | Sequence[Any] | _Column
"""n scores, or a mapping label -> score."""

Rows = Sequence[Any] | _Column
"""m rows of n scores."""


class Parameters(TypedDict, Generic[Label], total=False):
    """The common arguments but for the cost of a call and its sensitivity; each may be left out."""

    monotonic: bool
    minimize: bool
    grid: Number | None
    on_grid: bool
    score_error: Number | None
    labels: Iterable[Label] | None
    source: Source | None
    ledger: Scope | None
    engine: str | None


class Options(Parameters[Label], Generic[Label], total=False):
    """The common arguments; each may be left out."""

    epsilon: Number | None
    rho: Number | None
    sensitivity: Number | None
    range_: Number | None


_FIRST = ("epsilon", "delta", "rho", "sensitivity", "range_")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def explicit(common: type[Any]) -> Callable[[_Function], _Function]:
    """A decorator that gives a function with `**options: Unpack[common]` its whole signature.

    `inspect`, `help` and the documentation then show every argument with type and default, as type
    checkers do by themselves.

    Args:
        common: `Options` or `Parameters`.
    """

    def decorate(function: _Function) -> _Function:
        plain = signature(function)
        own = list(plain.parameters.values())
        scores, own = own[0], own[1:-1]
        taken = own + [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=False if form.__forward_arg__ == "bool" else None,
                annotation=form.__forward_arg__,
            )
            for name, form in common.__annotations__.items()
        ]
        names = frozenset(each.name for each in taken) | {scores.name}
        first = {name: place for place, name in enumerate(_FIRST)}
        taken.sort(key=lambda each: first.get(each.name, len(first)) if each not in own else -1)

        @wraps(function)
        def called(*positional: Any, **options: Any) -> Any:
            unknown = options.keys() - names
            if unknown:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {min(unknown)!r}"
                )
            return function(*positional, **options)

        cast("Any", called).__signature__ = plain.replace(parameters=[scores, *taken])
        return cast("_Function", called)

    return decorate
