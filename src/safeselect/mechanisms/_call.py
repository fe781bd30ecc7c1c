"""What all mechanisms do before and after the noise: read, calibrate, draw, wipe, report.

The order never changes: public parameters are read first, then the scores; only when all of it is
accepted is the source touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import TracebackType
from typing import Self

import numpy as np

from safeselect._exact import describe, integer, rational
from safeselect.accounting import per_draw_epsilon
from safeselect.accounting.calibration import Family
from safeselect.errors import ParameterError
from safeselect.guarantees import (
    ApproximateDP,
    Guarantee,
    LaplaceDominated,
    ZeroConcentratedDP,
)
from safeselect.lattice import Ranking
from safeselect.mechanisms._engines import Engine, choose_engine
from safeselect.mechanisms._results import Selection
from safeselect.mechanisms._scores import Candidates, read_candidates, read_matrix
from safeselect.samplers._bits import Bits
from safeselect.samplers.decay import Decay
from safeselect.sources import Source, resolve

__all__ = ["Call", "Change", "Total", "exactly_one", "source_name"]


def exactly_one(given: Mapping[str, object]) -> None:
    """Refuse none, or more than one, of several alternative parameters."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " and ".join(given) if len(given) == 2 else ", ".join(given)
        got = " and ".join(named) if named else "none"
        raise ParameterError(f"give exactly one of {names}; got {got}")


@dataclass(frozen=True, slots=True)
class Total:
    """The total cost of a call: epsilon, epsilon with delta, or rho."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def read(cls, *, epsilon: object, rho: object, delta: object = None) -> Total:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of epsilon and rho, delta without epsilon, or a value
                that is not a positive number.
        """
        exactly_one({"epsilon": epsilon, "rho": rho})
        if delta is not None and epsilon is None:
            raise ParameterError("delta goes with epsilon; with rho there is none")
        return cls(
            None if epsilon is None else rational(epsilon, "epsilon"),
            None if delta is None else rational(delta, "delta", below=1),
            None if rho is None else rational(rho, "rho"),
        )

    def per_draw(self, family: Family, count: int) -> Fraction:
        """The largest epsilon of each of `count` draws of this family that the total allows."""
        return per_draw_epsilon(
            family,  # type: ignore[arg-type]  # mypy doubts that a class is hashable
            count,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
        )

    @property
    def is_pure(self) -> bool:
        """Whether it is epsilon alone."""
        return self.delta is None and self.rho is None

    def promise(self, family: Family, each: Fraction, draws: int) -> Guarantee:
        """What the whole call guarantees: the strongest kind that is proved."""
        if self.epsilon is not None and self.delta is not None:
            return ApproximateDP(self.epsilon, self.delta)
        if draws == 1:
            return family(each)
        if self.rho is not None:
            return ZeroConcentratedDP(self.rho)
        # Every draw moves by at most each * |t - s| along the line from one score vector to the
        # other, so all of them together by draws * each * |t - s|: the hypothesis of lemma L0.
        return LaplaceDominated(each * draws)


@dataclass(frozen=True, slots=True)
class Change:
    """How far one unit of privacy, a person say, may move the scores.

    Either `sensitivity`, the largest change of any one score, or `range_`, the largest difference
    between the changes of two scores.
    """

    sensitivity: Fraction | None
    range_: Fraction | None
    monotonic: bool

    @classmethod
    def read(cls, *, sensitivity: object, range_: object, monotonic: object) -> Change:
        """Read and check the parameters.

        Raises:
            ParameterError: not exactly one of the two, monotonic with range_, or a wrong value.
        """
        exactly_one({"sensitivity": sensitivity, "range_": range_})
        if not isinstance(monotonic, (bool, np.bool_)):
            raise ParameterError(f"monotonic must be True or False, got {describe(monotonic)}")
        if monotonic and range_ is not None:
            raise ParameterError("monotonic=True goes with sensitivity=; range_= already covers it")
        return cls(
            None if sensitivity is None else rational(sensitivity, "sensitivity"),
            None if range_ is None else rational(range_, "range_"),
            bool(monotonic),
        )

    def range_in_steps(self, grid: Fraction, *, exact: bool) -> Fraction:
        """The range of the change of the scores on the grid, in steps; rounded up.

        Two scores move apart by at most 2 * sensitivity, or by sensitivity where all move the same
        way.  Rounding scores down to the grid may stretch each change to the next whole step, and
        a range by one step more (`docs/mathematics.md`, section 6).
        """
        if self.sensitivity is not None:
            each = self.sensitivity / grid
            return (1 if self.monotonic else 2) * (each if exact else Fraction(-(-each // 1)))
        if self.range_ is None:
            raise ParameterError("give exactly one of sensitivity and range_; got none")
        steps = self.range_ / grid
        return steps if exact else Fraction(-(-steps // 1) + 1)


@lru_cache(maxsize=256)
def _decay(epsilon: Fraction, range_in_steps: Fraction) -> Decay:
    return Decay(epsilon / range_in_steps)


def source_name(source: Source) -> str:
    """What results say about a source; says so loudly where its bytes are predictable."""
    return source.name if source.production else f"{source.name} (NOT PRIVATE)"


class Call:
    """One call of a mechanism: its candidates, its engine and, inside `with`, its random bits.

    On leaving, the private copy of the scores and the unused random bits are overwritten.
    """

    __slots__ = ("_bits", "_source", "candidates", "engine", "range_in_steps")

    def __init__(
        self,
        scores: object,
        *,
        sensitivity: object,
        range_: object,
        monotonic: object,
        minimize: object,
        grid: object,
        labels: object,
        source: object,
        engine: object,
        rows: bool = False,
        threshold: Fraction | None = None,
    ) -> None:
        change = Change.read(sensitivity=sensitivity, range_=range_, monotonic=monotonic)
        self._source: Source = resolve(source)
        self.engine: Engine = choose_engine(engine)
        self._bits: Bits | None = None
        self.candidates: Candidates = (
            read_matrix(scores, grid=grid, labels=labels, minimize=minimize)
            if rows
            else read_candidates(
                scores, grid=grid, labels=labels, minimize=minimize, threshold=threshold
            )
        )
        self.range_in_steps = change.range_in_steps(
            self.candidates.grid, exact=self.candidates.exact
        )

    def __enter__(self) -> Self:
        try:
            self._bits = Bits(self._source)
        except BaseException:
            self.candidates.steps.fill(0)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.candidates.steps.fill(0)
        if self._bits is not None:
            self._bits.close()

    @property
    def bits(self) -> Bits:
        """The random bits of this call."""
        if self._bits is None:
            raise ParameterError("a call has random bits only inside its with block")
        return self._bits

    @property
    def size(self) -> int:
        """The number of candidates."""
        return int(self.candidates.steps.shape[-1])

    @property
    def source_name(self) -> str:
        """Where the random bytes come from."""
        return source_name(self._source)

    def read_k(self, k: object) -> int:
        """Read k, from 1 to the number of candidates.

        Raises:
            ParameterError: k is not an integer, or out of range.
        """
        return integer(k, "k", minimum=1, maximum=self.size)

    def decay(self, epsilon: Fraction) -> Decay:
        """The decay per grid step of noise that costs epsilon over the range of the change."""
        return _decay(epsilon, self.range_in_steps)

    def label(self, index: int) -> Hashable:
        """The label of a candidate."""
        return self.candidates.label(index)

    def selection(
        self,
        ranking: Ranking,
        guarantee: Guarantee,
        mechanism: str,
        *,
        base: Fraction | None = None,
        gap: Fraction | None = None,
    ) -> Selection:
        """The result of a call that chose one candidate."""
        index, source = ranking.indices[0], self.source_name
        return Selection(self.label(index), index, guarantee, mechanism, source, base, gap)
