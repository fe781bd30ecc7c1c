"""Report-noisy-max: add noise to every score and report who is largest."""

from __future__ import annotations

from typing import Literal

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total
from safeselect.selection._results import Selection

__all__ = ["report_noisy_max"]


def report_noisy_max(
    scores: object,
    *,
    epsilon: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    noise: Literal["exponential", "laplace", "gumbel"],
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Report the candidate with the largest score + noise; the noisy value itself is not released.

    Here "exponential" names the *noise*, so `noise="exponential"` is permute-and-flip; the
    exponential *mechanism* is `noise="gumbel"`.

    The noise is continuous, independent and identical for all candidates, of scale R / epsilon, R
    being `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: LaplaceDominated(epsilon) with exponential and Laplace noise, BoundedRange(epsilon)
        with Gumbel noise (Ding et al. 2021; Dong, Durfee and Rogers 2020).
    Neighbours: as for `permute_and_flip`.
    Exactness: the continuous laws, by lazily refined digits; nothing continuous is represented.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace", "gumbel"):
        raise ParameterError(
            f"noise must be 'exponential', 'laplace' or 'gumbel', got {describe(noise)}"
        )
    total = Total.read(epsilon=epsilon, rho=rho)
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
    )
    family = BoundedRange if noise == "gumbel" else LaplaceDominated
    each = total.per_draw(family, 1)
    decay = call.decay(each)
    ways = {
        "exponential": call.engine.exponential_top,
        "laplace": call.engine.laplace_top,
        "gumbel": call.engine.gumbel_top,
    }
    guarantee, mechanism = family(each), f"report_noisy_max_{noise}/1"
    with call.release(guarantee, mechanism):
        ranking = ways[noise](call.steps, 1, decay, call.bits)
        return call.selection(ranking, guarantee, mechanism)
