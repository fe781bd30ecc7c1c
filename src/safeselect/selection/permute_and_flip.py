"""Permute-and-flip: the default way to choose one."""

from __future__ import annotations

from safeselect.promises.guarantees import LaplaceDominated
from safeselect.selection._account import Scope
from safeselect.selection._call import Call, Total
from safeselect.selection._results import Selection

__all__ = ["permute_and_flip"]


def permute_and_flip(
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
    labels: object = None,
    source: object = None,
    ledger: Scope | None = None,
    engine: str | None = None,
) -> Selection:
    """Choose one candidate with a large score by permute-and-flip.

    Candidate r wins with probability p_r * integral over [0, 1] of prod_{j != r} (1 - p_j t) dt,
    where p_j = exp(-rate * (best score - score j)) and rate = epsilon / R, R being `range_`, or
    `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP (McKenna and Sheldon 2020).
    Neighbours: whatever `sensitivity` was computed for; `monotonic=True` asserts add/remove
        neighbours for which all scores move the same way, as counts do.
    Method: the largest of score + exponential noise, which is the same mechanism (Ding, Kifer,
        Saghaian, Steinke, Wang, Xiao and Zhang 2021): geometric noise on the grid of the scores,
        ties broken uniformly at random.
    Exactness: integers throughout; the law is the one above, not an approximation of it.

    Args:
        scores: n scores, or a mapping label -> score; larger is better.  A list, an array, or a
            column of pandas, polars or Arrow, also as a table of one column.  Without `grid` every
            score must be an integer, of whatever type: 3, 3.0, True and Decimal(3) are integers.
        epsilon: total cost of this call; positive rational.  Or:
        rho: total cost of this call in zCDP.
        sensitivity: largest change of any one score, in score units, when one unit of privacy (a
            person, say) is added, removed or changed.  Or:
        range_: largest difference between the changes of any two scores.
        monotonic: all scores move the same way between neighbours; halves the noise.
        minimize: smaller scores are better.
        grid: public step of the scores, for those that are no integers: each is read as the nearest
            multiple, halves up.  A thousandth of the sensitivity costs 0.2 % of accuracy; a grid as
            coarse as the sensitivity makes the noise twice as wide.
        on_grid: the true scores are multiples of `grid`, and each number handed over lies less than
            half a step from its own, as k/n computed in floats does.  Then reading moves nothing.
        score_error: with `grid`: how far a number handed over may lie from the score whose
            sensitivity you declare, in score units; by default half a step.  It widens the noise.
            0 where the numbers are exact, as fractions and decimals are.
        labels: what to call the candidates.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: what the call costs is charged there before the first bit is
            drawn, and the result has a receipt.
        engine: "reference" for the scalar tier.

    Raises:
        ParameterError: a parameter is wrong.
        ScoreError: the scores cannot be read.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).
    """
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
    each = total.per_draw(LaplaceDominated, 1)
    decay = call.decay(each)
    guarantee, mechanism = LaplaceDominated(each), "permute_and_flip/1"
    with call.release(guarantee, mechanism):
        ranking = call.engine.exponential_top(call.steps, 1, decay, call.bits)
        return call.selection(ranking, guarantee, mechanism)
