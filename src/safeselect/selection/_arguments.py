"""The common arguments of every mechanism, with types: written once, shown in every signature.

`Arguments` are what they say, read and checked once: for one call, or for many.

A new common argument is two edits: a line in `Options` here, and its use in `Arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from inspect import Parameter, signature
from typing import Any, Protocol, TypedDict, TypeVar, cast, final

from safeselect.accounting.cost import PrivacyCost
from safeselect.exact.parameters import Number
from safeselect.promises.records import exact_text
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Scope, read_ledger
from safeselect.scores.candidates import Label
from safeselect.scores.reading import Reading, Sensitivity, flag
from safeselect.selection._table import Calibration, Row, choose_engine
from safeselect.selection._weights import GivenWeights


class _Column(Protocol):
    def __array__(self) -> Any:
        """An array, or a column of pandas, polars or Arrow."""


Scores = Mapping[Label, Any] | Sequence[Any] | _Column
"""n scores, or a mapping label -> score."""

Values = Sequence[Any] | _Column
"""n numbers, or m rows of n scores."""

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


_calibrated = lru_cache(maxsize=256)(Row.calibrate)  # of public numbers alone


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Arguments:
    """The public arguments of a call, read and checked once, for one call or for many.

    Attributes:
        cost: what each call may cost in total.
        change: how far one unit of privacy may move the scores.
        reading: how numbers become steps.
        minimize: smaller scores are better.
        scope: the budget that each call charges, if any.
        source: the source that was given, guarded; None for the default, which each call asks for
            anew, because a source that failed is replaced.
        engine: the name of an engine, or None.
        range_in_steps: the range of the change of the scores, in steps of their grid.
        weights: the weights of the candidates, or None.
        recorded: all but cost and weights, for records and for what a release says of itself.
    """

    cost: PrivacyCost
    change: Sensitivity
    reading: Reading
    minimize: bool
    scope: Scope | None
    source: Source | None
    engine: str | None
    range_in_steps: Fraction
    weights: GivenWeights | None
    recorded: Mapping[str, str]

    @classmethod
    def read(
        cls, options: Options, *, cost: PrivacyCost | None = None, delta: object = None
    ) -> Arguments:
        """Read and check the arguments.

        Args:
            options: as for `permute_and_flip`.
            cost: given by a mechanism that reads its cost itself; else epsilon, with delta, or rho.
            delta: a public number, or None.

        Raises:
            ParameterError: one of them is wrong.
        """
        given = options.get
        cost = cost or PrivacyCost.read(epsilon=given("epsilon"), delta=delta, rho=given("rho"))
        one_way = given("monotonic", False)
        change = Sensitivity.read(
            sensitivity=given("sensitivity"), range_=given("range_"), monotonic=one_way
        )
        reading = Reading.read(
            grid=given("grid"), on_grid=given("on_grid", False), score_error=given("score_error")
        )
        range_in_steps = change.range_in_steps(reading)
        minimize = flag(given("minimize", False), "minimize")
        scope = read_ledger(given("ledger"), monotonic=change.monotonic)
        source = given("source")
        source = None if source is None else resolve(source)
        engine = options.get("engine")
        choose_engine(engine)
        weights = None if given("weights") is None else GivenWeights.read(given("weights"))
        recorded = {
            **_recorded(change, reading, range_in_steps),
            "minimize": "yes" if minimize else "no",
            "engine": engine or "array",
        }
        known = cost, change, reading, minimize, scope, source, engine, range_in_steps
        return cls(*known, weights, recorded)

    def calibrate(self, row: Row, mechanism: str, k: int = 1, rows: int = 1) -> Calibration:
        """The noise of a row of the table: for k of the candidates, in each of some rows."""
        return self.weighted(_calibrated(row, mechanism, self.cost, self.range_in_steps, k, rows))

    def weighted(self, plan: Calibration) -> Calibration:
        """The same under a name that tells of weights, if there are any.

        Raises:
            ParameterError: the mechanism takes no weights, or none such.
        """
        return plan if self.weights is None else self.weights.named(plan)


@lru_cache(maxsize=256)
def _recorded(change: Sensitivity, reading: Reading, range_in_steps: Fraction) -> dict[str, str]:
    """What is said of the scores, with the range that the noise covers."""
    covered = exact_text(range_in_steps * reading.step)
    return {**change.as_record, **reading.as_record, "effective_range": covered}
