"""Many independent selections in one call, in place of a loop.

The rows are fixed in advance: a row must not depend on what was selected from another.  Where it
does, as in boosting or in synthetic data, call the single mechanism once a round.
"""

from __future__ import annotations

from typing import Any, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from safeselect.exact.parameters import Number, integer
from safeselect.scores.candidates import Label, read_matrix
from safeselect.selection._arguments import Arguments, Labels, Options, Values, explicit
from safeselect.selection._call import Call
from safeselect.selection._results import Selections
from safeselect.selection._table import TABLE, Calibration, Peeled, read_choice


class BatchOptions(Options, total=False):
    """The common arguments, and those of a batch."""

    delta: Number | None
    max_rows: int | None
    mechanism: Peeled | None


@explicit(BatchOptions)
def select_many(
    scores: Values, *, labels: Labels[Label] = None, **options: Unpack[BatchOptions]
) -> Selections[Label]:
    """Choose one candidate in each row of a matrix of scores, independently.

    Guarantee: that of the whole batch.  `epsilon` is its total, split evenly: LaplaceDominated
        (epsilon), or with `delta` or `rho` calibrated as m draws (`max_rows` of them if given),
        ApproximateDP(epsilon, delta) or ZeroConcentratedDP(rho).  `parts` holds the guarantees of
        the draws.
    Neighbours: one unit of privacy may change every row, or `max_rows` of them; `sensitivity` or
        `range_` bounds the change within each row, as for `permute_and_flip`.  A unit that leaves a
        row as it is learns nothing from it, so the cost is that of `max_rows` rows.
    Method, exactness: row by row those of the mechanism named.

    Args:
        scores: shape (m, n): m rows, fixed in advance, of scores of the same n candidates.
        max_rows: the most rows that one unit may change; all by default.  Whoever makes the rows
            must enforce it, by counting a user in so many groups only, say.
        mechanism: "permute_and_flip" (the default for epsilon alone), "exponential" (the default
            with delta or rho) or "exponential_base2".
        epsilon, delta, rho: total cost of the batch.
        weights: of the n candidates, in every row; as for the mechanism named.
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels, source,
            ledger, engine: as for `permute_and_flip`; labels are those of the n candidates.

    Returns:
        Selections: winners of shape (m,).

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> select_many([[3, 2000], [2000, 3]], epsilon=1, sensitivity=1, monotonic=True).indices
        array([1, 0])
    """
    call, plan, more = _open(scores, labels, "select_many", options)
    with call.draws(plan, more):
        taken = plan.row.noise, call.scores_on_grid, plan.noise_rate, call.bits, call.added
        return _released(call, plan, call.engine.noisy_max_rows(*taken))


@explicit(BatchOptions)
def top_k_many(
    scores: Values, *, k: int, labels: Labels[Label] = None, **options: Unpack[BatchOptions]
) -> Selections[Label]:
    """Choose the k best candidates in each row of a matrix of scores, in order, independently.

    Guarantee: as for `select_many`, of m k draws.
    Method, exactness: row by row those of `top_k` with the mechanism named.

    Args:
        k: how many in each row, from 1 to n.
        weights: of the n candidates, in every row; as for `top_k`.
        scores, epsilon, delta, rho, max_rows, sensitivity, range_, monotonic, mechanism, minimize,
            grid, on_grid, score_error, labels, source, ledger, engine: as for `select_many`.

    Returns:
        Selections: winners of shape (m, k).

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> top_k_many([[3, 900, 4000], [9000, 3, 4000]], k=2, epsilon=1, sensitivity=1).indices
        array([[2, 1],
               [0, 2]])
    """
    call, plan, more = _open(scores, labels, "top_k_many", options, k)
    with call.draws(plan, more):
        engine, bits, added = call.engine, call.bits, call.added
        rows = [plan.rank(engine, row, bits, weights=added).indices for row in call.scores_on_grid]
        return _released(call, plan, np.array(rows, dtype=np.int64))


def _open(
    scores: object, labels: object, kind: str, options: BatchOptions, k: object = 1
) -> tuple[Call, Calibration, dict[str, str]]:
    """The call, the noise of all its rows, and for the record how many rows one unit may change."""
    mechanism = options.get("mechanism")
    if mechanism is not None:
        read_choice(mechanism, "mechanism", get_args(Peeled))
    arguments = Arguments.read(options, delta=options.get("delta"))
    call = Call(scores, arguments, labels=labels, take=read_matrix)
    name = mechanism or ("permute_and_flip" if arguments.cost.is_pure else "exponential")
    rows, more, most = call.rows, {}, options.get("max_rows")
    if most is not None:
        rows = integer(most, "max_rows", minimum=1, maximum=rows, limit="the number of rows")
        more = {"max_rows": str(rows)}
    count = call.read_k(k)
    return call, arguments.calibrate(TABLE[name], f"{kind}_{name}/1", count, rows), more


def _released(call: Call, plan: Calibration, indices: NDArray[np.int64]) -> Selections[Any]:
    indices = np.array(call.candidates_at(indices), dtype=np.int64)
    names, winners = call.candidates.labels, indices
    if names is not None:
        # The names get a new order, which follows from the winners and not from the data.
        first: dict[int, int] = {}
        again = [first.setdefault(place, len(first)) for place in indices.ravel().tolist()]
        winners = np.array(again, dtype=np.int64).reshape(indices.shape)
        names = tuple(names[place] for place in first)
    indices.flags.writeable = winners.flags.writeable = False
    positions = indices if call.candidates.positions else None
    said, parts = call.said(plan), (plan.each,) * plan.draws
    return call.released(
        Selections(winners, names, positions, **said, parts=parts, base=plan.noise_rate.base)
    )
