"""The steps of every mechanism before and after the noise: read, charge, draw, wipe, report.

The order never changes.  First the call reads the public parameters, the class of the scores, their
number and their labels.  When it has accepted all of them, it charges the ledger.  Only then does
it read the scores, and only then does it draw a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np

from safeselect.engine import Ranking
from safeselect.engine.arrays import Indices
from safeselect.engine.draws import Weights
from safeselect.errors import LedgerError, ParameterError
from safeselect.exact.parameters import integer
from safeselect.promises.guarantees import Guarantee
from safeselect.randomness.bits import Bits
from safeselect.release.call import Charge, Pending, Result, is_replaced, once_charged
from safeselect.release.results import Statement
from safeselect.scores.candidates import Candidates, check_known, read_candidates
from safeselect.scores.floats import GridScores
from safeselect.selection._arguments import Arguments
from safeselect.selection._results import Selection, TopK, source_name
from safeselect.selection._table import Calibration, choose_engine

CANDIDATES = "the number of candidates"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Call:
    """One call of a mechanism: its candidates, its engine and, inside `with`, its random bits.

        with call.release(guarantee, "name/1"):
            ...
            return call.released(result)

    On entering, the ledger is charged, then the scores are read, then the first bit is drawn.  On
    leaving, the private copy of the scores and the unused random bits are overwritten; a call that
    released nothing says so in the ledger.

    Args:
        arguments: the public arguments.
        labels: what to call the candidates.
        take: how the class, the number and the labels of the scores are read.
        threshold: a public number that takes part as one more candidate, the last.
        unit: who is protected, where the scores say it.

    Attributes:
        arguments: the public arguments.
        candidates: the candidates, with their labels.
        size: their number, with the threshold, and without those of weight 0.
        rows: the number of rows of a matrix; 1 for a list of candidates.
        engine: the engine.
        added: the weights whose logarithms the engine adds, once `draws` is called; or None.
        bits: the random bits of this call; there is no such attribute before `with`.
        scores_on_grid: the scores; private, and like the bits for use inside `with` only.
    """

    __slots__ = (
        *(
            "_charge",
            "_parameters",
            "_pending",
            "_places",
            "_threshold",
            "_unit",
            "_utc",
            "_weights",
        ),
        *("added", "arguments", "bits", "candidates", "engine", "rows", "scores_on_grid", "size"),
    )
    bits: Bits
    scores_on_grid: GridScores

    def __init__(
        self,
        scores: object,
        arguments: Arguments,
        *,
        labels: object = None,
        take: Callable[..., Candidates] = read_candidates,
        threshold: Fraction | None = None,
        unit: str | None = None,
    ) -> None:
        self.arguments = arguments
        self._threshold = threshold
        self._charge: Charge | None = None
        self._pending: Pending | None = None
        self._utc: str | None = None
        self._parameters = _NOTHING
        self.engine = choose_engine(arguments.engine)
        self.candidates = take(scores, labels=labels)
        self.size = self.candidates.size + (threshold is not None)
        self._places: Indices | None = None
        self.added: Weights | None = None
        given = arguments.weights
        self._weights = None if given is None else given.of(self.candidates.labels, self.size)
        if self._weights is not None:
            self.size = sum(map(bool, self._weights.values))
        self.rows = len(self.candidates.rows)
        scope, declared = arguments.scope, (arguments.change, arguments.reading)
        self._unit = unit if scope is None else scope.unit
        replaced = is_replaced(scope)
        in_rows = self.candidates.is_matrix and isinstance(scores, (list, tuple))
        for each in cast("Iterable[object]", scores) if in_rows else (scores,):
            self._unit = check_known(each, *declared, self._unit, replaced) or self._unit

    def release(
        self,
        guarantee: Guarantee,
        mechanism: str,
        *,
        parts: tuple[tuple[Guarantee, int], ...] = (),
        k: int = 1,
        more: Mapping[str, str] = _NOTHING,
    ) -> Self:
        """State what will be released, for `with`.

        Args:
            guarantee: what it costs as a whole.
            mechanism: name of the mechanism and version of its law.
            parts: what its draws cost, each with how many there are; the whole by default.
            k: how many candidates are chosen (in each row).
            more: further public parameters, for the record.
        """
        counted = {"candidates": str(self.size), "k": str(k)}
        self._parameters = parameters = {**self.arguments.recorded, **more, **counted}
        if self.candidates.is_matrix:
            parameters["rows"] = str(self.rows)
        if self._weights is not None:
            parameters["weights"] = self._weights.digest()
        self._charge = Charge(mechanism, guarantee, parts or ((guarantee, 1),), parameters)
        return self

    def draws(self, plan: Calibration, more: Mapping[str, str] = _NOTHING) -> Self:
        """State that the draws of this plan will be released, for `with`."""
        if self._weights is not None:
            self._places, self.added = self._weights.used_by(plan.row)
        parts = ((plan.each, plan.draws),)
        return self.release(plan.guarantee, plan.mechanism, parts=parts, k=plan.k, more=more)

    def rank(self, plan: Calibration, gap_grid: Fraction | None = None) -> Ranking:
        """Rank the candidates, inside `with`; with gaps, if a step for them is given."""
        unit = None if gap_grid is None else gap_grid / self.arguments.reading.step
        found = plan.rank(self.engine, self.scores_on_grid, self.bits, unit, self.added)
        return Ranking(tuple(self.candidates_at(found.indices)), found.gaps)

    def candidates_at(self, places: Any) -> Any:
        """The candidates at these places of the scores: weights may remove or repeat some."""
        return places if self._places is None else np.take(self._places, places).tolist()

    def released(self, result: Result) -> Result:
        """The result, with its receipt once its record is written."""
        if self.arguments.scope is None:
            return result
        what, paid = (result.mechanism, result.guarantee), self._charge
        if not (paid and self._pending) or what != (paid.mechanism, paid.guarantee):
            raise LedgerError("a mechanism released what it had not charged")
        receipt = self._pending.released(result.to_json())
        self._pending = None
        # Every result is a frozen dataclass with this field; a protocol cannot express that.
        return replace(result, receipt=receipt)  # type: ignore[type-var]

    @property
    def statement(self) -> Statement:
        """What the result says of itself, once the call is charged."""
        scope = self.arguments.scope
        by = None if scope is None else scope.neighbours
        said = _stated(tuple(self._parameters.items()), self._unit, by)
        return said if self._utc is None else replace(said, utc=self._utc)

    def said(self, plan: Calibration) -> dict[str, Any]:
        """The fields that all results of a plan share."""
        return {
            "guarantee": plan.guarantee,
            "mechanism": plan.mechanism,
            "source": self.source_name,
            "statement": self.statement,
        }

    def choose(self, plan: Calibration) -> Selection[Any]:
        """One candidate: the whole release."""
        with self.draws(plan):
            return self.selection(plan, self.rank(plan))

    def choose_in_order(self, plan: Calibration) -> TopK[Any]:
        """Several candidates in order: the whole release."""
        with self.draws(plan):
            return self.top_k(plan, self.rank(plan))

    def selection(
        self, plan: Calibration, ranking: Ranking, gaps: tuple[Fraction | None, ...] = (None,)
    ) -> Selection[Any]:
        """The result of a call that chose one candidate, released."""
        (label,), (gap,) = self.labels(ranking.indices), gaps
        (index,), base = self.positions(ranking.indices) or (None,), plan.noise_rate.base
        said = plan.guarantee, plan.mechanism, self.source_name, self.statement
        return self.released(Selection(label, index, *said, base, gap))

    def top_k(
        self, plan: Calibration, ranking: Ranking, gaps: tuple[Fraction, ...] | None = None
    ) -> TopK[Any]:
        """The result of a call that chose k candidates in order, released."""
        return self.released(
            TopK(
                self.labels(ranking.indices),
                self.positions(ranking.indices),
                **self.said(plan),
                parts=(plan.each,) * plan.draws,
                base=plan.noise_rate.base,
                gaps=gaps,
            )
        )

    def __enter__(self) -> Self:
        try:
            if self.arguments.scope is None:
                # Nothing is asked of the source before the scores are known to be good.
                self.scores_on_grid = self._read()
                self.bits = Bits(self.arguments.source)
            elif self._charge is None:
                raise ParameterError("a call with a ledger says what it releases")
            else:
                self.bits = Bits(self.arguments.source)
                self._pending = self.arguments.scope.begin(self._charge, self.bits)
                self._utc = self._pending.utc
                self.scores_on_grid = once_charged(self._read)
        except BaseException as error:
            self.__exit__(None, error, None)
            raise
        return self

    def _read(self) -> GridScores:
        scores = self.candidates.scores_on_grid(
            self.arguments.reading,
            minimize=self.arguments.minimize,
            size=self.arguments.change.size,
            threshold=self._threshold,
        )
        if self._places is not None:
            every, scores = scores, np.take(scores, self._places, axis=-1)
            every.fill(0)
        return scores

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # Where entering failed, `steps` or `bits` may not exist.
        if hasattr(self, "scores_on_grid"):
            self.scores_on_grid.fill(0)
        if hasattr(self, "bits"):
            self.bits.close()
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.end(error)

    @property
    def source_name(self) -> str:
        """Where the random bytes come from, for results."""
        return source_name(self.bits.source)

    def read_k(self, k: object) -> int:
        """Read k, from 1 to the number of candidates.

        Raises:
            ParameterError: k is not an integer, or out of range.
        """
        return integer(k, "k", minimum=1, maximum=self.size, limit=CANDIDATES)

    def labels(self, indices: Iterable[int]) -> tuple[Any, ...]:
        """The labels of these candidates."""
        names = self.candidates.labels
        return tuple(indices if names is None else (names[index] for index in indices))

    def positions(self, indices: tuple[int, ...]) -> tuple[int, ...] | None:
        """These positions, if positions among the candidates may be released."""
        return indices if self.candidates.positions else None


@lru_cache(maxsize=256)  # all of it is public, and the same in each call with equal arguments
def _stated(parameters: tuple[tuple[str, str], ...], unit: str | None, by: str | None) -> Statement:
    return Statement.of(dict(parameters), unit=unit, neighbours=by, utc=None)
