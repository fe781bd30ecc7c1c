"""What all mechanisms do before and after the noise: read, calibrate, draw, wipe, report.

The order never changes: public parameters are read first, then the scores; only when all of it is
accepted is the source touched, then the ledger charged, and only then is a bit drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

import numpy as np

from safeselect._exact import describe, integer, rational
from safeselect.accounting.record import exact
from safeselect.errors import ParameterError
from safeselect.guarantees import (
    Guarantee,
)
from safeselect.lattice import Ranking
from safeselect.mechanisms._account import Account, read_ledger, source_name, unit_of
from safeselect.mechanisms._engines import Engine, choose_engine
from safeselect.mechanisms._results import Release, Selection
from safeselect.mechanisms._scores import Candidates, read_candidates, read_matrix
from safeselect.mechanisms._totals import Total, exactly_one
from safeselect.mechanisms.counts import check_known
from safeselect.samplers._bits import Bits
from safeselect.samplers.decay import Decay
from safeselect.sources import Source, resolve

__all__ = ["CANDIDATES", "Call", "Change", "Total", "exactly_one"]

_Result = TypeVar("_Result", bound=Release)

Parts = tuple[tuple[Guarantee, int], ...]
_EXAMPLE = "for counts of people write sensitivity=1, monotonic=True"
CANDIDATES = "the number of candidates"
_NOTHING: Mapping[str, str] = MappingProxyType({})


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
        if (sensitivity is None) == (range_ is None):
            exactly_one({"sensitivity": sensitivity, "range_": range_}, _EXAMPLE)
        if not isinstance(monotonic, (bool, np.bool_)):
            raise ParameterError(f"monotonic must be True or False, got {describe(monotonic)}")
        if monotonic and range_ is not None:
            raise ParameterError("monotonic=True goes with sensitivity=; range_= already covers it")
        return cls(
            None if sensitivity is None else rational(sensitivity, "sensitivity"),
            None if range_ is None else rational(range_, "range_"),
            bool(monotonic),
        )

    def told(self, grid: Fraction) -> dict[str, str]:
        """As parameters for records, with the grid of the scores."""
        values = {"sensitivity": self.sensitivity, "range": self.range_, "grid": grid}
        given = {name: exact(value) for name, value in values.items() if value is not None}
        return {**given, "monotonic": "yes" if self.monotonic else "no"}

    def range_in_steps(self, grid: Fraction, *, exact: bool) -> Fraction:
        """The range of the change of the scores on the grid, in steps; rounded up.

        Two scores move apart by at most 2 * sensitivity, or by sensitivity where all move the same
        way.  Rounding scores down to the grid may stretch each change to the next whole step, and
        a range by one step more (`docs/mathematics.md`, section 6).
        """
        if self.sensitivity is not None:
            each = self.sensitivity if grid == 1 else self.sensitivity / grid
            each = each if exact else Fraction(-(-each // 1))
            return each if self.monotonic else 2 * each
        if self.range_ is None:
            raise ParameterError("give exactly one of sensitivity and range_; got none")
        steps = self.range_ / grid
        return steps if exact else Fraction(-(-steps // 1) + 1)


@lru_cache(maxsize=256)
def _decay(epsilon: Fraction, range_in_steps: Fraction) -> Decay:
    return Decay(epsilon / range_in_steps)


class Call:
    """One call of a mechanism: its candidates, its engine and, inside `with`, its random bits.

        with call.release(guarantee, "name/1"):
            ...
            return call.released(result)

    On entering, the ledger is charged before the first bit.  On leaving, the private copy of the
    scores and the unused random bits are overwritten; a call that released nothing says so in the
    ledger.
    """

    __slots__ = (
        *("_account", "_bits", "_change", "_scope", "_source", "_told"),
        *("candidates", "engine", "range_in_steps"),
    )

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
        ledger: object = None,
        rows: bool = False,
        threshold: Fraction | None = None,
    ) -> None:
        change = Change.read(sensitivity=sensitivity, range_=range_, monotonic=monotonic)
        self._scope = read_ledger(ledger, monotonic=change.monotonic)
        unit = unit_of(self._scope)
        for each in scores if rows and isinstance(scores, (list, tuple)) else (scores,):
            check_known(each, sensitivity=change.sensitivity, range_=change.range_, unit=unit)
        self._account: Account | None = None
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
        self._change = change
        self._told = {
            "minimize": "yes" if minimize else "no",
            "engine": "array" if engine is None else str(engine),
        }

    def release(
        self,
        guarantee: Guarantee,
        mechanism: str,
        *,
        parts: Parts | None = None,
        k: int = 1,
        more: Mapping[str, str] = _NOTHING,
    ) -> Self:
        """Say what will be released, for `with`.

        Args:
            guarantee: what it costs as a whole.
            mechanism: name of the mechanism and version of its law.
            parts: what its draws cost, each with how many there are; the whole by default.
            k: how many candidates are chosen (in each row).
            more: further public parameters, for the record.
        """
        if self._scope is not None:
            shape = [str(length) for length in self.candidates.steps.shape]
            told = {**self._change.told(self.candidates.grid), **self._told, **more}
            told |= {"candidates": shape[-1], "k": str(k)}
            told |= {"rows": shape[0]} if len(shape) > 1 else {}
            parts = ((guarantee, 1),) if parts is None else parts
            self._account = Account(self._scope, mechanism, guarantee, parts, told)
        return self

    def released(self, result: _Result) -> _Result:
        """The result with its receipt, once its record is written; without a ledger as it is."""
        return result if self._account is None else self._account.released(result)

    def __enter__(self) -> Self:
        try:
            if self._account is None and self._scope is not None:
                raise ParameterError("a call with a ledger says what it releases")
            self._bits = Bits(self._source)
            if self._account is not None:
                self._account.charge(self._source, self._bits)
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        self.candidates.steps.fill(0)
        if self._bits is not None:
            self._bits.close()
        if self._account is not None:
            self._account.end(error)

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
        return integer(k, "k", minimum=1, maximum=self.size, limit=CANDIDATES)

    def decay(self, epsilon: Fraction) -> Decay:
        """The decay per grid step of noise that costs epsilon over the range of the change."""
        return _decay(epsilon, self.range_in_steps)

    def label(self, index: int) -> object:
        """The label of a candidate."""
        return self.candidates.label(index)

    def positions(self, indices: tuple[int, ...]) -> tuple[int, ...] | None:
        """These positions, if positions among the candidates may be released."""
        return indices if self.candidates.positions else None

    def selection(
        self,
        ranking: Ranking,
        guarantee: Guarantee,
        mechanism: str,
        *,
        base: Fraction | None = None,
        gap: Fraction | None = None,
    ) -> Selection:
        """The result of a call that chose one candidate, released."""
        (index,) = ranking.indices
        place = index if self.candidates.positions else None
        return self.released(
            Selection(self.label(index), place, guarantee, mechanism, self.source_name, base, gap)
        )
