"""Free gaps: choose, and learn by how much the chosen ones won, at no further cost.

A gap is the distance between neighbours in the order of the noisy scores.  Released is the floor of
the *continuous* gap on a public grid, so ties cost nothing.  Proofs: `docs/mathematics.md`,
section 11.  The noisy scores themselves are never released: they would cost extra.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer
from safeselect.promises.guarantees import LaplaceDominated
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total
from safeselect.selection._gapped import Gapped, read_gap_grid
from safeselect.selection._results import Selection, TopK

__all__ = [
    "exponential_mechanism_with_gap",
    "permute_and_flip_with_gap",
    "report_noisy_max_with_gap",
    "top_k_with_gaps",
]


def permute_and_flip_with_gap(
    scores: object,
    *,
    epsilon: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    gap_grid: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Choose one candidate by permute-and-flip, and release its lead in score + exponential noise.

    P(r wins with a gap of g or more) is the probability that permute-and-flip chooses r when its
    score is lower by g.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for the winner and its gap together
        (Ding, Wang, Xiao, Zhang and Kifer 2023; for exponential noise `docs/mathematics.md`,
        Theorem 5).
    Neighbours: as for `permute_and_flip`.
    Exactness: the gap is the floor of the continuous gap, in whole steps of gap_grid.  Scores more
        than 2**64 - 1 grid steps behind the best count as so far behind.

    Args:
        gap_grid: public step of the gap in score units; by default that of the scores.  Coarser or
            finer ones cost the same.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`; at least two candidates.
            With `minimize` the gap is how much smaller the winner's noisy score is.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`; and ParameterError for
            one candidate alone, or where a step of the coarsest grid that holds both gap_grid and
            the scores is worth less than 2**-40 of the noise's scale.
    """
    total, step = Total.read(epsilon=epsilon, rho=rho), read_gap_grid(gap_grid)
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
    return _one(call, total, "exponential", step, "permute_and_flip_with_gap/1")


def exponential_mechanism_with_gap(
    scores: object,
    *,
    epsilon: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    gap_grid: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Choose by the exponential mechanism, and release the winner's lead in score + Gumbel noise.

    Candidate r wins with probability proportional to exp(rate * score r); given that, rate * gap
    follows the logistic law of location rate * score r - ln sum over j != r of
    exp(rate * score j), conditioned to be positive.  rate = epsilon / R, as for
    `exponential_mechanism`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for both together (Ding et al. 2023,
        Theorem 10).  Not BoundedRange: for epsilon up to 1 it costs about three to four times the
        rho of `exponential_mechanism`.
    Neighbours, Args, Raises: as for `permute_and_flip_with_gap`.
    """
    total, step = Total.read(epsilon=epsilon, rho=rho), read_gap_grid(gap_grid)
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
    return _one(call, total, "gumbel", step, "exponential_mechanism_with_gap/1")


def report_noisy_max_with_gap(
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
    gap_grid: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Report the candidate with the largest score + noise, and by how much it exceeds the next.

    Here "exponential" names the *noise*: that is `permute_and_flip_with_gap`; `noise="gumbel"` is
    `exponential_mechanism_with_gap`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for both together, with every noise
        (Ding et al. 2023).
    Neighbours, Raises: as for `permute_and_flip_with_gap`.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            gap_grid, labels, source, ledger, engine: as for `permute_and_flip_with_gap`.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace", "gumbel"):
        raise ParameterError(
            f"noise must be 'exponential', 'laplace' or 'gumbel', got {describe(noise)}"
        )
    total, step = Total.read(epsilon=epsilon, rho=rho), read_gap_grid(gap_grid)
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
    return _one(call, total, noise, step, f"report_noisy_max_with_gap_{noise}/1")


def top_k_with_gaps(
    scores: object,
    *,
    k: int,
    epsilon: object = None,
    rho: object = None,
    sensitivity: object = None,
    range_: object = None,
    monotonic: bool = False,
    noise: Literal["exponential", "laplace"] = "exponential",
    minimize: bool = False,
    grid: object = None,
    on_grid: bool = False,
    score_error: object = None,
    gap_grid: object = None,
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> TopK:
    """Choose the k candidates with the largest score + noise, in order, with the k gaps below them.

    The noise is drawn once, of scale k R / epsilon, R being `range_`, or `sensitivity` if
    monotonic, or twice the `sensitivity`.  Gap l is the distance from the l-th noisy score to the
    next; the last one leads to the best candidate that is not chosen.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for the order and all k gaps together
        (Ding et al. 2023; for exponential noise `docs/mathematics.md`, Theorem 5).
    Neighbours: as for `permute_and_flip`.

    Args:
        k: how many, from 1 to the number of candidates less one.
        epsilon, rho: total cost of this call.
        noise: "exponential", or "laplace", whose gaps have twice the variance.
        scores, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, gap_grid,
            labels, source, ledger, engine: as for `permute_and_flip_with_gap`.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip_with_gap`.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace"):
        raise ParameterError(
            f"noise must be 'exponential' or 'laplace', got {describe(noise)}; Gumbel noise is "
            "proved for one winner: exponential_mechanism_with_gap"
        )
    total, step = Total.read(epsilon=epsilon, rho=rho), read_gap_grid(gap_grid)
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
    _need_two(call)
    count = integer(k, "k", minimum=1, maximum=call.size - 1)
    guarantee = LaplaceDominated(total.per_draw(LaplaceDominated, 1))
    gapped = Gapped(call, count, noise, guarantee.epsilon / count, step)
    mechanism = f"top_k_with_gaps_{noise}/1"
    with call.release(guarantee, mechanism, k=count, more=gapped.told):
        ranking, gaps = gapped.rank()
        return call.released(
            TopK(
                labels=tuple(call.label(index) for index in ranking.indices),
                indices=call.positions(ranking.indices),
                guarantee=guarantee,
                parts=(guarantee,),
                mechanism=mechanism,
                source=call.source_name,
                gaps=gaps,
            )
        )


def _one(call: Call, total: Total, noise: str, step: Fraction | None, mechanism: str) -> Selection:
    """One winner and its gap."""
    _need_two(call)
    guarantee = LaplaceDominated(total.per_draw(LaplaceDominated, 1))
    gapped = Gapped(call, 1, noise, guarantee.epsilon, step)
    with call.release(guarantee, mechanism, more=gapped.told):
        ranking, gaps = gapped.rank()
        return call.selection(ranking, guarantee, mechanism, gap=gaps[0])


def _need_two(call: Call) -> None:
    if call.size < 2:
        raise ParameterError("a gap needs at least two candidates")
