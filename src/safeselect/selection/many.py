"""Many independent selections in one call, for those who select in loops.

The rows are fixed in advance: a row must not depend on what was selected from another.  Where it
does, as in boosting or in synthetic data, call the single mechanism once a round.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from safeselect.accounting.calibration import Family
from safeselect.errors import ParameterError
from safeselect.exact import describe
from safeselect.exact.decay import Decay
from safeselect.promises import BoundedRange, LaplaceDominated
from safeselect.scores.candidates import read_matrix
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total
from safeselect.selection._results import Selections
from safeselect.selection.exponential import dyadic_decay
from safeselect.selection.top_k import rank_top

__all__ = ["ManyMechanism", "select_many", "top_k_many"]

ManyMechanism = Literal["exponential", "exponential_base2", "permute_and_flip"]
_MECHANISMS: tuple[str, ...] = get_args(ManyMechanism)


def select_many(
    scores: object,
    *,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    mechanism: ManyMechanism | None = None,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selections:
    """Choose one candidate in each row of a matrix of scores, independently.

    Guarantee: that of the whole batch.  `epsilon` is its total, split evenly: LaplaceDominated
        (epsilon), or with `delta` or `rho` calibrated as m draws, ApproximateDP(epsilon, delta) or
        ZeroConcentratedDP(rho).  `parts` holds the guarantees of the draws.
    Neighbours: one unit of privacy may change every row; `sensitivity` or `range_` bounds the
        change within each row, as for `permute_and_flip`.
    Method, exactness: row by row those of the mechanism named.

    Args:
        scores: shape (m, n): m rows, fixed in advance, of scores of the same n candidates.
        mechanism: "permute_and_flip" (the default for epsilon alone), "exponential" (the default
            with delta or rho) or "exponential_base2".
        epsilon, delta, rho: total cost of the batch.
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels, source,
            ledger, engine: as for `permute_and_flip`; labels are those of the n candidates.

    Returns:
        Selections: winners of shape (m,).

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.
    """
    total = Total.read(epsilon=epsilon, rho=rho, delta=delta)
    name = _choose(mechanism, total)
    call = Call(
        scores,
        sensitivity=sensitivity,
        range_=range_,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
        labels=labels,
        source=source,
        ledger=ledger,
        engine=engine,
        take=read_matrix,
    )
    batch = _Batch(total, name, call, draws_each=1)
    with batch.release("select_many"):
        pick = (
            call.engine.exponential_many if name == "permute_and_flip" else call.engine.gumbel_many
        )
        return batch.result(pick(call.steps, batch.decay, call.bits))


def top_k_many(
    scores: object,
    *,
    k: int,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    mechanism: ManyMechanism | None = None,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selections:
    """Choose the k best candidates in each row of a matrix of scores, in order, independently.

    Guarantee: as for `select_many`, of m k draws.
    Method, exactness: row by row those of `top_k` with the mechanism named.

    Args:
        k: how many in each row, from 1 to n.
        scores, epsilon, delta, rho, sensitivity, range_, monotonic, mechanism, minimize, grid,
            on_grid, score_error, labels, source, ledger, engine: as for `select_many`.

    Returns:
        Selections: winners of shape (m, k).

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.
    """
    total = Total.read(epsilon=epsilon, rho=rho, delta=delta)
    name = _choose(mechanism, total)
    call = Call(
        scores,
        sensitivity=sensitivity,
        range_=range_,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
        labels=labels,
        source=source,
        ledger=ledger,
        engine=engine,
        take=read_matrix,
    )
    count = call.read_k(k)
    batch = _Batch(total, name, call, draws_each=count)
    with batch.release("top_k_many"):
        rows = [
            rank_top(name, call.engine, row, count, batch.decay, call.bits).indices
            for row in call.steps
        ]
        return batch.result(np.array(rows, dtype=np.int64))


def _choose(mechanism: ManyMechanism | None, total: Total) -> ManyMechanism:
    if mechanism is not None and not (isinstance(mechanism, str) and mechanism in _MECHANISMS):
        raise ParameterError(
            f"mechanism must be one of {', '.join(_MECHANISMS)}; got {describe(mechanism)}"
        )
    return mechanism or ("permute_and_flip" if total.is_pure else "exponential")


class _Batch:
    """The calibration of a batch, and its result."""

    __slots__ = ("_call", "_draws", "_each", "_guarantee", "_k", "_mechanism", "_name", "decay")

    def __init__(self, total: Total, name: ManyMechanism, call: Call, *, draws_each: int) -> None:
        self._call, self._name, self._k = call, name, draws_each
        self._mechanism = ""
        self._draws = draws = call.rows * draws_each
        family: Family = LaplaceDominated if name == "permute_and_flip" else BoundedRange
        each = total.per_draw(family, draws)
        # Before the first bit: what is promised may be refused, for its size.
        self._guarantee = total.promise(family, each, draws)
        self._each = family(each)
        self.decay: Decay = (
            dyadic_decay(each / call.range_in_steps)
            if name == "exponential_base2"
            else call.decay(each)
        )

    def release(self, function: str) -> Call:
        """The call, ready for `with`."""
        self._mechanism = f"{function}_{self._name}/1"
        return self._call.release(
            self._guarantee, self._mechanism, parts=((self._each, self._draws),), k=self._k
        )

    def result(self, indices: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Selections:
        """What the call returns."""
        names, indexed = self._call.candidates.labels, self._call.candidates.positions
        if names is not None and not indexed:
            # Named anew in an order that follows from the winners, not from the data.
            first: dict[int, int] = {}
            again = [first.setdefault(place, len(first)) for place in indices.ravel().tolist()]
            indices = np.array(again, dtype=np.int64).reshape(indices.shape)
            names = tuple(names[place] for place in first)
        indices.flags.writeable = False
        return self._call.released(
            Selections(
                indices,
                names,
                indexed,
                self._guarantee,
                (self._each,) * self._draws,
                self._mechanism,
                self._call.source_name,
                self.decay.base,
            )
        )
