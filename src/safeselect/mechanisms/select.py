"""The functions that choose candidates, each one call: read, charge, draw, report.

First a function reads the public parameters, then the class of the scores, their number and their
labels.  When it has accepted all of them, the rest is one `Call`: charge, read, draw, commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast, get_args

import numpy as np

from safeselect import engine
from safeselect.accounting.cost import UNPRICED, PrivacyCost
from safeselect.engine import Ranking
from safeselect.engine.arrays import Indices
from safeselect.engine.draws import Weights
from safeselect.errors import ParameterError
from safeselect.exact.interval import MIN_RATE, Interval, NoiseRate, rounded_up
from safeselect.exact.parameters import Number, exact_text, integer, rational, read_choice
from safeselect.mechanisms.table import (
    MECHANISMS,
    Calibration,
    GapNoise,
    Mechanism,
    Noise,
    Ordered,
    Peeled,
    Planned,
    calibrate,
    one_draw,
)
from safeselect.promises.guarantees import BoundedRange
from safeselect.randomness.source import Source, resolve
from safeselect.release.call import Call, Charge, Scope, is_replaced, read_ledger, unit_of
from safeselect.release.results import Batch, Selection, TopK
from safeselect.scores.candidates import (
    Candidates,
    Factors,
    Label,
    Labels,
    Scores,
    Values,
    check_known,
    label_text,
    read_candidates,
    read_matrix,
)
from safeselect.scores.reading import GridScores, Reading, Sensitivity, exactly_one, flag

if TYPE_CHECKING:
    from safeselect.mechanisms.weights import GivenWeights, OrderedWeights

CANDIDATES = "the number of candidates"
Total = tuple[object, object, object]


def permute_and_flip(
    scores: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Use permute-and-flip to choose one candidate with a large score.

    Candidate r wins with probability p_r * integral over [0, 1] of prod_{j != r} (1 - p_j t) dt,
    where p_j = exp(-rate * (best score - score j)) and rate = epsilon / R. R is `range_`, or
    `sensitivity` if monotonic, or otherwise twice the `sensitivity`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP (McKenna and Sheldon 2020).
    Neighbours: the pairs for which you computed `sensitivity`. `monotonic=True` asserts add/remove
        neighbours between which all scores move in the same direction, as counts do.
    Method: choose the largest sum of score and exponential noise, which is the same mechanism
        (Ding, Kifer, Saghaian, Steinke, Wang, Xiao and Zhang 2021). On the grid of the scores this
        is geometric noise, with ties broken uniformly at random.
    Exactness: all computation uses integers; the law is exactly the one above.

    Args:
        scores: n scores, or a mapping from labels to scores; larger is better. Pass a list, an
            array, a pandas, polars or Arrow column, or a table with one column. Without `grid`
            every score must be an integer, of any type: 3, 3.0, True and Decimal(3) are integers.
        epsilon: total cost of this call, a positive rational; or pass `rho`.
        rho: total cost of this call in zCDP.
        sensitivity: largest change of any one score, in score units, if one unit of privacy (such
            as a person) is added, removed or changed; or pass `range_`.
        range_: largest difference between the changes of any two scores.
        monotonic: no score rises while another falls between neighbours; halves the noise.
        minimize: smaller scores are better.
        grid: public step for scores that are not integers: each score is read as the nearest
            multiple, halves up. A step of a thousandth of the sensitivity costs 0.2 % of accuracy.
            A step as large as the sensitivity doubles the noise, or triples it if monotonic.
        on_grid: asserts that the true scores are multiples of `grid`, and that each number lies
            less than half a step from its true score, as k/n computed in floats does. Rounding then
            changes nothing.
        score_error: with `grid`, the largest distance between a number and the score whose
            sensitivity you declare, in score units (default: half a step). It increases the noise.
            Pass 0 only if the numbers are exact, such as decimals computed without rounding.
        labels: names of the candidates.
        source: source of random bytes; the default is a cryptographic generator.
        ledger: `ledger.scope(...)`: the cost is charged there before the first bit is drawn, and
            the result has a receipt.
        weights: public integers, at most 2**24 in total: a candidate of weight w counts as w equal
            candidates. Pass a list in the order of the scores, a mapping from labels to weights, or
            a pandas column with its index. A candidate with weight 0 is excluded, but its score is
            read.

    Returns:
        Selection: the candidate's label and position, and the cost of the release.

    Raises:
        ParameterError: a parameter is wrong.
        ScoreError: the scores cannot be read.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> permute_and_flip({"tea": 3, "milk": 900}, epsilon=1, sensitivity=1).label
        'milk'
    """
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, weights, source, ledger)
    return asked.choose(asked.calibrate("permute_and_flip"), scores, labels)


def exponential_mechanism(
    scores: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Use the exponential mechanism to choose one candidate with a large score.

    The probability of a candidate is proportional to weight * exp(rate * score), where rate =
    epsilon / R. R is `range_`, or `sensitivity` if monotonic, or otherwise twice the `sensitivity`.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP and about (epsilon**2 / 8)-zCDP (McSherry
        and Talwar 2007; Dong, Durfee and Rogers 2020). Use it for many selections under zCDP, and
        permute-and-flip for one pure-DP selection.
    Neighbours, Raises: as for `permute_and_flip`.
    Method: choose the largest sum of score and Gumbel noise. The noise is rounded down to the
        lattice with certified enclosures of its distribution function, which are refined until the
        winner is decided. With weights, enclosures of their logarithms are added.

    Args:
        weights: public rational weights of the candidates (default: all 1). Pass a list in the
            order of the scores, a mapping from labels to weights, or a pandas column with its
            index. A candidate with weight 0 is excluded, but its score is read. Weights must not
            depend on the data. They do not change the guarantee.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger: as for `permute_and_flip`.

    Returns:
        Selection.

    Example:
        >>> exponential_mechanism([3, 900, 5], epsilon=1, sensitivity=1, monotonic=True).index
        1
    """
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, weights, source, ledger)
    return asked.choose(asked.calibrate("exponential_mechanism"), scores, labels)


def exponential_mechanism_base2(
    scores: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    base: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Use an exponential mechanism with a rational base to choose one candidate with a large score.

    R is `range_`, or `sensitivity` if monotonic, or otherwise twice the `sensitivity`. A candidate
    whose score is lower by R has its probability multiplied by `base`. If scores are
    integers and R = 1, all weights are rational numbers; base = (x / 2**y)**z gives Ilvento's
    mechanism with these x, y, z. With `epsilon` or `rho`, the factor per grid step is the smallest
    x / 2**64 that is at least exp(-epsilon / R). The range of the scores is not limited.

    Guarantee: BoundedRange(epsilon); with `base`, epsilon = -ln(base), rounded up to 64 bits.
    Neighbours, Raises: as for `permute_and_flip`.
    Method: as for `exponential_mechanism`. Source: Ilvento (2020); Dong, Durfee and Rogers (2020).

    Args:
        base: an exact rational between 0 and 1, instead of epsilon and rho; the result's `base`
            returns it.
        weights: as for `exponential_mechanism`; they multiply the powers.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger: as for `permute_and_flip`.

    Returns:
        Selection.

    Example:
        >>> exponential_mechanism_base2([3, 900], base="1/2", sensitivity=1, monotonic=True).base
        Fraction(1, 2)
    """
    total, factor = read_base(epsilon, rho, base)
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read(total, scored, weights, source, ledger)
    return asked.choose(asked.calibrate_base2(factor), scores, labels)


def report_noisy_max(
    scores: Scores[Label],
    *,
    noise: Noise,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Report the candidate with the largest noisy score, without releasing that score.

    The value "exponential" names the *noise*: `noise="exponential"` is permute-and-flip. For the
    exponential *mechanism*, pass `noise="gumbel"`.

    The noise is continuous, independent and identically distributed for all candidates, with scale
    R / epsilon. R is `range_`, or `sensitivity` if monotonic, or otherwise twice the `sensitivity`.

    Guarantee: LaplaceDominated(epsilon) with exponential and Laplace noise, BoundedRange(epsilon)
        with Gumbel noise (Ding et al. 2021; Dong, Durfee and Rogers 2020).
    Neighbours: as for `permute_and_flip`.
    Exactness: the laws are exactly the continuous ones. Digits of the noise are drawn only as far
        as needed.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        weights: with "gumbel", as for `exponential_mechanism`.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger: as for `permute_and_flip`.

    Returns:
        Selection.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> report_noisy_max([3, 900, 5], noise="gumbel", epsilon=1, sensitivity=1).index
        1
    """
    read_choice(noise, "noise", get_args(Noise))
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, weights, source, ledger)
    return asked.choose(asked.calibrate(f"report_noisy_max_{noise}"), scores, labels)


def permute_and_flip_with_gap(
    scores: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Use permute-and-flip to choose one candidate, and release the gap between its noisy score and
    the next largest noisy score.

    The probability that r wins with a gap of at least g equals the probability that
    permute-and-flip chooses r if the score of r is lower by g.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for the winner and its gap together
        (Ding, Wang, Xiao, Zhang and Kifer 2023; for exponential noise `docs/mathematics.md`,
        Theorem 5).
    Neighbours: as for `permute_and_flip`.
    Exactness: the gap is the continuous gap, rounded down to a multiple of gap_grid. Scores more
        than 2**64 - 1 grid steps below the best are treated as 2**64 - 1 steps below it.

    Args:
        gap_grid: public step of the gap in score units (default: the step of the scores). It does
            not change the cost.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger: as for `permute_and_flip`; at least two candidates. With
            `minimize`, the gap is the next noisy score minus the winner's.

    Returns:
        Selection, with its gap.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`. ParameterError also for
            a single candidate, or if the coarsest common grid of gap_grid and the scores has a step
            below 2**-40 of the noise's scale.

    Example:
        >>> permute_and_flip_with_gap([3, 900], epsilon=1, sensitivity=1).gap > 700
        True
    """
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, None, source, ledger)
    return asked.on(scores, labels).choose_with_gap("permute_and_flip_with_gap", gap_grid)


def exponential_mechanism_with_gap(
    scores: Scores[Label],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Use the exponential mechanism to choose one candidate, and release the gap between its noisy
    score and the next largest noisy score.

    Candidate r wins with probability proportional to exp(rate * score r). Given the winner, rate *
    gap follows the logistic law with location rate * score r - ln(sum over j != r of exp(rate *
    score j)), conditioned to be positive. rate = epsilon / R, as for `exponential_mechanism`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for both together (Ding et al. 2023,
        Theorem 10).  Not BoundedRange: for epsilon up to 1 it costs about three to four times the
        rho of `exponential_mechanism`.
    Neighbours, Args, Raises: as for `permute_and_flip_with_gap`.

    Returns:
        Selection, with its gap.

    Example:
        >>> exponential_mechanism_with_gap([3, 900], epsilon=1, sensitivity=1).gap > 700
        True
    """
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, None, source, ledger)
    return asked.on(scores, labels).choose_with_gap("exponential_mechanism_with_gap", gap_grid)


def report_noisy_max_with_gap(
    scores: Scores[Label],
    *,
    noise: Noise,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Selection[Label]:
    """Report the candidate with the largest noisy score, and the gap between this score and the
    next largest noisy score.

    The value "exponential" names the *noise*: `noise="exponential"` is `permute_and_flip_with_gap`,
    and `noise="gumbel"` is `exponential_mechanism_with_gap`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for both together, with every noise
        (Ding et al. 2023).
    Neighbours, Raises: as for `permute_and_flip_with_gap`.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            gap_grid, labels, source, ledger: as for `permute_and_flip_with_gap`.

    Returns:
        Selection, with its gap.

    Example:
        >>> report_noisy_max_with_gap([3, 900], noise="laplace", epsilon=1, sensitivity=1).gap > 700
        True
    """
    read_choice(noise, "noise", get_args(Noise))
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, None, source, ledger)
    return asked.on(scores, labels).choose_with_gap(f"report_noisy_max_with_gap_{noise}", gap_grid)


def top_k(
    scores: Scores[Label],
    *,
    k: int,
    mechanism: Mechanism | Planned | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[Label]:
    """Choose k candidates with large scores.

    The result is in order, best first, except with "laplace".

    The value "exponential" of `mechanism` names the exponential *mechanism*. For exponential
    *noise*, pass "one_shot_exponential".

    - "one_shot_exponential": exponential noise of scale k R / epsilon, drawn once; the whole call
      satisfies LaplaceDominated(epsilon).
    - "exponential": k exponential mechanisms, each on the remaining candidates, which is the same
      as Gumbel noise, drawn once; each satisfies BoundedRange.
    - "exponential_base2": the same with rational weights.
    - "permute_and_flip": k calls of permute-and-flip, each on the remaining candidates; each
      satisfies LaplaceDominated.
    - "laplace": Laplace noise, drawn once; the result is an unordered set; requires `delta`.

    R is `range_`, or `sensitivity` if monotonic, or otherwise twice the `sensitivity`.

    Guarantee: with `epsilon` alone LaplaceDominated(epsilon) (BoundedRange for one draw of the
        exponential mechanism); with `delta` ApproximateDP(epsilon, delta); with `rho`
        ZeroConcentratedDP(rho). `parts` holds the guarantees of the draws, for `compose`.
    Neighbours: as for `permute_and_flip`.
    Method: the noisy scores of all candidates are computed coarsely, k times for "permute_and_flip"
        and once for the others. Up to 1.5 k of them are then computed exactly, which takes about
        600 bytes and at least 10 us each. For k close to n = 10**6 this is half a gigabyte.
    Source: Durfee and Rogers (2019) for one-shot Gumbel noise; Ding et al. (2023) for one-shot
        exponential noise; Qiao, Su and Zhang (2021), Theorem 2.2, for "laplace".

    Args:
        k: number of candidates to choose, from 1 to the number of candidates.
        epsilon: total cost of this call, a positive rational.
        delta: with epsilon, for an (epsilon, delta) total, which allows less noise.
        rho: total cost of this call in zCDP, instead of epsilon.
        mechanism: see above (default: "one_shot_exponential" for epsilon alone, "exponential" with
            delta or rho). It can also be a `StatedLaw`, a mechanism of your own, whose guarantee
            you state and the library does not prove.
        weights: with "exponential" and "exponential_base2", as for `exponential_mechanism`; a
            chosen candidate is removed with its whole weight.
        scores, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels,
            source, ledger: as for `permute_and_flip`.

    Returns:
        TopK; unordered for "laplace", whose order would not be private.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, epsilon=1, sensitivity=1).labels
        ('rum', 'milk')
    """
    if mechanism is not None and not isinstance(mechanism, Planned):
        read_choice(mechanism, "mechanism", MECHANISMS, " or write a StatedLaw")
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, delta, rho), scored, weights, source, ledger)
    here = asked.on(scores, labels)
    count = integer(k, "k", minimum=1, maximum=here.size, limit=CANDIDATES)
    if mechanism == "laplace":
        return _laplace_set(here, count)
    return asked.choose_in_order(asked.calibrate_in_order(mechanism, count), here)


def top_k_with_gaps(
    scores: Scores[Label],
    *,
    k: int,
    noise: GapNoise = "exponential",
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[Label]:
    """Choose the k candidates with the largest noisy scores, in order, and release the gap between
    each of these scores and the next largest noisy score.

    The noise is drawn once, with scale k R / epsilon. R is `range_`, or `sensitivity` if monotonic,
    or otherwise twice the `sensitivity`. Gap l is the l-th noisy score minus the next one. The last
    gap leads to the best candidate that is not chosen.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for the order and all k gaps together
        (Ding et al. 2023; for exponential noise `docs/mathematics.md`, Theorem 5).
    Neighbours: as for `permute_and_flip`.

    Args:
        k: number of candidates to choose, at least 1 and less than the number of candidates.
        epsilon, rho: total cost of this call; pass one.
        noise: "exponential" or "laplace"; Laplace noise doubles the variance of the gaps.
        scores, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, gap_grid,
            labels, source, ledger: as for `permute_and_flip_with_gap`.

    Returns:
        TopK, with its gaps.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip_with_gap`.

    Example:
        >>> top_k_with_gaps([3, 2000, 900], k=2, epsilon=1, sensitivity=1, monotonic=True).indices
        (1, 2)
    """
    more = "; for one winner with Gumbel noise, use exponential_mechanism_with_gap"
    read_choice(noise, "noise", get_args(GapNoise), more)
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, rho), scored, None, source, ledger)
    here = asked.on(scores, labels)
    return here.in_order(*here.with_gaps(f"top_k_with_gaps_{noise}", k, gap_grid))


def top_k_above(
    scores: Scores[Label],
    *,
    threshold: Number,
    k: int,
    epsilon: Number,
    sensitivity: Number,
    noise: GapNoise = "exponential",
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> TopK[Label]:
    """Choose up to k candidates whose noisy scores are above a noisy threshold, and release the gap
    between each of these scores and the larger of the next largest noisy score and the noisy
    threshold.

    The threshold counts as an additional score. All scores get independent, identically
    distributed, continuous noise of scale k R / epsilon. R is the `sensitivity` if monotonic, or
    otherwise twice the `sensitivity`. The list ends at the noisy threshold.

    Guarantee: LaplaceDominated(epsilon): the output is part of the first k of n + 1 candidates, of
        which the threshold is one, with their gaps (Ding et al. 2023; `docs/mathematics.md`,
        section 12).  An outcome that ends with the threshold in position j is at most e**spent
        times as likely on a neighbour, where spent is epsilon j / k. An accountant of ex-post
        losses may charge `spent`; every other accountant must charge epsilon.
    Neighbours: as for `permute_and_flip`. There is no `range_`, because the threshold does not move
        with the scores. A range of the scores would not cover it.

    Args:
        threshold: public rational of either sign, in score units; rounded to the nearest step.
        k: largest number of candidates to choose, from 1 to the number of candidates.
        epsilon: total cost of this call, a positive rational.
        noise: "exponential" or "laplace".
        minimize: smaller scores are better; choose those below the threshold.
        gap_grid: public step of the gaps, as for `top_k_with_gaps`.
        scores, sensitivity, monotonic, grid, on_grid, score_error, labels, source, ledger:
            as for `permute_and_flip`.

    Returns:
        TopK, with its gaps; `spent` is the part of epsilon that it used.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`.

    Example:
        >>> top_k_above([3, 900, 5], threshold=400, k=2, epsilon=1, sensitivity=1).indices
        (1,)
    """
    read_choice(noise, "noise", get_args(GapNoise))
    place = rational(threshold, "threshold", signed=True)
    size = rational(sensitivity, "sensitivity")
    scored = size, None, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, None, None), scored, None, source, ledger)
    here = asked.on(scores, labels, threshold=place)
    last = here.size - 1  # where the threshold stands
    count = integer(k, "k", minimum=1, maximum=last)
    plan = asked.calibrate(f"top_k_above_{noise}", count)
    step = read_gap_grid(asked.reading, plan, gap_grid)
    return here.in_order(plan, step, {"threshold": exact_text(place)}, last)


def select_many(
    scores: Values,
    *,
    k: int | None = None,
    mechanism: Peeled | None = None,
    max_rows: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    sensitivity: Number | None = None,
    range_: Number | None = None,
    monotonic: bool = False,
    minimize: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    labels: Labels[Label] = None,
    weights: Factors = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Batch[Label]:
    """Choose one candidate, or k candidates, for each row of a matrix of scores.

    The draws of different rows are independent.

    The rows are fixed in advance: no row depends on a selection from another row. If a row does, as
    in boosting or synthetic data, call the mechanism for a single row once per round.

    Guarantee: that of the whole batch.  `epsilon` is its total, split evenly: LaplaceDominated
        (epsilon), or with `delta` or `rho` calibrated as m k draws (of `max_rows` rows if given),
        ApproximateDP(epsilon, delta) or ZeroConcentratedDP(rho).  `parts` holds the guarantees of
        the draws.
    Neighbours: one unit of privacy may change every row, or at most `max_rows` rows. `sensitivity`
        or `range_` bounds the change within each row, as for `permute_and_flip`. A row that a unit
        does not change reveals nothing about this unit, so the cost is that of `max_rows` rows.
    Method, exactness: for each row, those of the chosen mechanism.

    Args:
        scores: shape (m, n): m rows, fixed in advance, with scores of the same n candidates.
        k: number of candidates in each row, best first, from 1 to n (default: one winner).
        max_rows: largest number of rows that one unit can change (default: all). Your code must
            enforce this limit, for example by counting each user in at most `max_rows` groups.
        mechanism: "permute_and_flip" (the default for epsilon alone), "exponential" (the default
            with delta or rho) or "exponential_base2".
        epsilon, delta, rho: total cost of the batch.
        weights: weights of the n candidates in every row, as for the chosen mechanism.
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels, source,
            ledger: as for `permute_and_flip`; `labels` names the n candidates.

    Returns:
        Batch: winners of shape (m,), or (m, k) if k is given.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> select_many([[3, 2000], [2000, 3]], epsilon=1, sensitivity=1, monotonic=True).indices
        array([1, 0])
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", get_args(Peeled))
    scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
    asked = Asked.read((epsilon, delta, rho), scored, weights, source, ledger)
    here = asked.on(scores, labels, read_matrix)
    name = mechanism or ("permute_and_flip" if asked.cost.is_pure else "exponential")
    rows, more = len(here.candidates.rows), {}
    if max_rows is not None:
        rows = integer(max_rows, "max_rows", minimum=1, maximum=rows, limit="the number of rows")
        more = {"max_rows": str(rows)}
    count = 1 if k is None else integer(k, "k", minimum=1, maximum=here.size, limit=CANDIDATES)
    plan = asked.calibrate(f"{'select' if k is None else 'top_k'}_many_{name}", count, rows)
    with here.call(plan, more=more) as call:
        added = here.used[1]
        if k is None:
            taken = plan.law.noise, call.values, plan.noise_rate, call.bits, added
            return here.batch(call, engine.noisy_max_rows(*taken))
        ranked = [plan.rank(row, call.bits, weights=added).indices for row in call.values]
        return here.batch(call, np.array(ranked, dtype=np.int64))


# ---------------------------------------------------------------------------- what they share


@lru_cache(maxsize=256)  # of public numbers alone
def _covered(
    size: Sensitivity, read: Reading, smaller: bool
) -> tuple[Reading, Fraction, dict[str, str]]:
    """The reading with its example, the range in steps that the noise covers, and what is said."""
    reading = replace(read, example=size.size / 1000)
    steps = size.range_in_steps(reading)
    said = {**size.as_record, **reading.as_record, "minimize": "yes" if smaller else "no"}
    return reading, steps, {**said, "effective_range": exact_text(steps * reading.step)}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Asked:
    """What is asked of any candidates: public, read and checked once, for one call or for many.

    Attributes:
        cost: what each call may cost in total.
        size: how far one unit of privacy, a person say, may move the scores, as declared.
        reading: how numbers become steps.
        minimize: smaller scores are better.
        range_in_steps: the range of the change of the scores, in steps of their grid.
        recorded: what is said of the scores, for records and for what a release says of itself.
        weights: the weights of the candidates, or None.
        source: the source that was given, guarded; None for the default, which each call asks for
            anew, because a source that failed is replaced.
        scope: the budget that each call charges, if any.
    """

    cost: PrivacyCost
    size: Sensitivity
    reading: Reading
    minimize: bool
    range_in_steps: Fraction
    recorded: Mapping[str, str]
    weights: GivenWeights | None
    source: Source | None
    scope: Scope | None

    @classmethod
    def read(
        cls,
        total: Total | None,
        scored: tuple[object, ...],
        weights: object,
        source: object,
        ledger: object,
    ) -> Self:
        """Read and check the arguments of these names.

        Args:
            total: epsilon, delta and rho; None where a base sets the noise instead.
            scored: sensitivity, range_, monotonic, minimize, grid, on_grid and score_error.

        Raises:
            ParameterError: one of them is wrong, or does not go with another.
        """
        cost = UNPRICED if total is None else PrivacyCost.read(*total)
        sensitivity, range_, monotonic, minimize, grid, on_grid, score_error = scored
        size = Sensitivity.read(sensitivity=sensitivity, range_=range_, monotonic=monotonic)
        read = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
        smaller = flag(minimize, "minimize")
        reading, range_in_steps, recorded = _covered(size, read, smaller)
        scope = read_ledger(ledger, monotonic=size.monotonic)
        given = None if source is None else resolve(source)
        heavy = None
        if weights is not None:
            from safeselect.mechanisms.weights import GivenWeights

            heavy = GivenWeights.read(weights)
        return cls(cost, size, reading, smaller, range_in_steps, recorded, heavy, given, scope)

    def calibrate(self, name: str, k: int = 1, rows: int = 1) -> Calibration:
        """The noise of this law: for k of the candidates, in each of some rows."""
        step = self.reading.step
        return self.weighted(calibrate(name, self.cost, self.range_in_steps, step, k, rows))

    def calibrate_in_order(self, mechanism: Ordered | Planned | None, k: int) -> Calibration:
        """The noise of `top_k`; where no mechanism is named, of the better one for the cost."""
        if isinstance(mechanism, Planned):
            step = self.reading.step
            return self.weighted(mechanism.planned(self.cost, self.range_in_steps, step, k))
        default = "one_shot_exponential" if self.cost.is_pure else "exponential"
        return self.calibrate(f"top_k_{mechanism or default}", k)

    def calibrate_base2(self, factor: Fraction | None) -> Calibration:
        """The noise of base 2, for a factor that was given, or for the cost."""
        name = "exponential_mechanism_base2"
        if factor is None:
            return self.calibrate(name)
        guarantee = BoundedRange(rounded_up(lambda bits: -Interval.of(factor, bits).log()))
        rate = NoiseRate(1 / self.range_in_steps, factor)
        return self.weighted(one_draw(name, 1, guarantee, rate, self.reading.step))

    def weighted(self, plan: Calibration) -> Calibration:
        """The same under a name that tells of weights, if there are any.

        Raises:
            ParameterError: the mechanism takes no weights, or none such.
        """
        return plan if self.weights is None else self.weights.named(plan)

    def on(
        self,
        scores: object,
        labels: object,
        take: Callable[..., Candidates] = read_candidates,
        threshold: Fraction | None = None,
    ) -> Here:
        """Read what is public of the candidates: the class of the scores, number and labels.

        Args:
            take: how they are read.
            threshold: a public number that takes part as one more candidate, the last.
        """
        candidates, weights, ordered = take(scores, labels=labels), self.weights, None
        size = candidates.size + (threshold is not None)
        if weights is not None:
            ordered = weights.of(candidates.labels, size)
            size = len(ordered)
        unit, replaced = unit_of(self.scope), is_replaced(self.scope)
        in_rows = candidates.is_matrix and isinstance(scores, (list, tuple))
        declared = self.size, self.reading
        for each in cast("Iterable[object]", scores) if in_rows else (scores,):
            unit = check_known(each, *declared, unit, replaced) or unit
        return Here(self, candidates, ordered, size, unit, threshold)

    def choose(self, plan: Calibration, scores: object, labels: object) -> Selection[Any]:
        """One candidate: the whole release."""
        return self.on(scores, labels).choose(plan)

    def choose_in_order(self, plan: Calibration, here: Here) -> TopK[Any]:
        """Several candidates in order: the whole release."""
        integer(plan.k, "k", minimum=1, maximum=here.size, limit=CANDIDATES)
        return here.in_order(plan)


def read_base(epsilon: object, rho: object, base: object) -> tuple[Total | None, Fraction | None]:
    """Read what base 2 may cost: epsilon or rho, or the factor of its weights instead.

    Raises:
        ParameterError: not exactly one of them, or a wrong value.
    """
    exactly_one({"epsilon": epsilon, "rho": rho, "base": base}, "for example epsilon=1")
    if base is None:
        return (epsilon, None, rho), None
    return None, rational(base, "base", below=1)


def read_gap_grid(reading: Reading, plan: Calibration, gap_grid: object) -> Fraction:
    """The public step of the gaps in score units; by default that of the scores.

    Raises:
        ParameterError: it is no positive number, or too fine for the noise.
    """
    step = reading.step if gap_grid is None else rational(gap_grid, "gap_grid")
    if plan.noise_rate.rate < MIN_RATE * (step / reading.step).denominator:
        raise ParameterError(
            "gap_grid is too fine for this noise, or its ratio to grid has a large denominator; "
            "use a larger gap_grid, such as a multiple of grid"
        )
    return step


def in_scores(ranking: Ranking, step: Fraction) -> tuple[Fraction, ...]:
    """The gaps of a ranking in score units."""
    above, below = step.numerator, step.denominator
    # Built from two integers: the same work for all values.  A product of fractions is not.
    return tuple(Fraction(gap * above, below) for gap in ranking.gaps or ())


@dataclass(slots=True, repr=False, eq=False)
class Here:
    """One call on certain candidates, of which everything here is public.

    Attributes:
        asked: what is asked of them.
        candidates: the candidates, with their labels.
        weights: their weights in their order, or None.
        size: their number, with the threshold, and without those of weight 0.
        unit: who is protected, where the ledger or the scores say it.
        threshold: a number that takes part as one more candidate, the last; or None.
        used: once `call` is called: which candidates take part, each as often as it has copies, or
            None for all; and the weights whose logarithms the engine adds.
    """

    asked: Asked
    candidates: Candidates
    weights: OrderedWeights | None
    size: int
    unit: str | None
    threshold: Fraction | None
    used: tuple[Indices | None, Weights | None] = (None, None)

    def with_gaps(self, name: str, k: object, gap_grid: object) -> tuple[Calibration, Fraction]:
        """The noise of this law, and the public step of its gaps in score units."""
        if self.size < 2:
            raise ParameterError("a gap requires at least two candidates")
        count = integer(k, "k", minimum=1, maximum=self.size - 1)
        plan = self.asked.calibrate(name, count)
        return plan, read_gap_grid(self.asked.reading, plan, gap_grid)

    def choose_with_gap(self, name: str, gap_grid: object) -> Selection[Any]:
        """The release of one candidate and its gap, by this law."""
        return self.choose(*self.with_gaps(name, 1, gap_grid))

    def call(
        self, plan: Calibration, step: Fraction | None = None, more: Mapping[str, str] | None = None
    ) -> Call[GridScores]:
        """The transaction of this plan, with the step of its gaps and more for the record."""
        asked, gaps = self.asked, {} if step is None else {"gap_grid": exact_text(step)}
        counted = {"candidates": str(self.size), "k": str(plan.k)}
        parameters = {**asked.recorded, **plan.stated, **gaps, **(more or {}), **counted}
        if self.candidates.is_matrix:
            parameters["rows"] = str(len(self.candidates.rows))
        if self.weights is not None:
            parameters["weights"] = self.weights.digest
            self.used = self.weights.used_by(plan.law)
        parts = ((plan.each, plan.draws),)
        charge = Charge(plan.mechanism, plan.guarantee, parts, parameters)
        places, _ = self.used

        def read() -> GridScores:
            steps = self.candidates.scores_on_grid(
                asked.reading, minimize=asked.minimize, threshold=self.threshold
            )
            if places is None:
                return steps
            taken: GridScores = np.take(steps, places, axis=-1)
            steps.fill(0)
            return taken

        return Call(charge, read, source=asked.source, scope=asked.scope, unit=self.unit)

    def rank(
        self, plan: Calibration, call: Call[GridScores], step: Fraction | None = None
    ) -> Ranking:
        """Rank the candidates, by their places in the scores; with gaps, if a step is given."""
        unit = None if step is None else step / self.asked.reading.step
        places, added = self.used
        found = plan.rank(call.values, call.bits, unit, added)
        if places is None:
            return found
        return Ranking(tuple(np.take(places, found.indices).tolist()), found.gaps)

    def choose(self, plan: Calibration, step: Fraction | None = None) -> Selection[Any]:
        """The release of one candidate; with its gap, if a step is given."""
        with self.call(plan, step) as call:
            ranking = self.rank(plan, call, step)
            (label,), places = self.named(ranking.indices)
            (index,) = places or (None,)
            gap = None if step is None else in_scores(ranking, step)[0]
            return call.commit(Selection(**call.header, label=label, index=index, gap=gap))

    def in_order(
        self,
        plan: Calibration,
        step: Fraction | None = None,
        more: Mapping[str, str] | None = None,
        last: int | None = None,
    ) -> TopK[Any]:
        """The release of several candidates in order, as far as the candidate `last`, if given."""
        with self.call(plan, step, more) as call:
            ranking = self.rank(plan, call, step)
            end = (*ranking.indices, last).index(last)
            labels, places = self.named(ranking.indices[:end])
            gaps = None if step is None else in_scores(ranking, step)[:end]
            return call.commit(TopK(**call.header, labels=labels, indices=places, gaps=gaps))

    def batch(self, call: Call[GridScores], found: Indices) -> Batch[Any]:
        """The result of a call on many rows, committed."""
        (places, _), names = self.used, self.candidates.labels
        indices = np.array(found if places is None else np.take(places, found), dtype=np.int64)
        winners = indices
        if names is not None:
            # The names get a new order, which follows from the winners and not from the data.
            first: dict[int, int] = {}
            again = [first.setdefault(place, len(first)) for place in indices.ravel().tolist()]
            winners = np.array(again, dtype=np.int64).reshape(indices.shape)
            names = tuple(names[place] for place in first)
        positions = indices if self.candidates.positions else None
        return call.commit(Batch(**call.header, winners=winners, names=names, indices=positions))

    def named(self, indices: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
        """The labels of these candidates, and their positions if these may be released."""
        names = self.candidates.labels
        labels = indices if names is None else tuple(names[index] for index in indices)
        return labels, indices if self.candidates.positions else None


def calibrate_unordered(asked: Asked, size: int, k: int) -> Calibration:
    """The noise of a set of k of so many candidates (Qiao, Su and Zhang 2021, Theorem 2.2).

    Raises:
        ParameterError: the mechanism is not proved to keep this cost.
    """
    guarantee, rate = asked.cost.unordered(size, k, asked.range_in_steps)
    return one_draw("top_k_laplace", k, guarantee, NoiseRate(rate), asked.reading.step)


def _laplace_set(here: Here, k: int) -> TopK[Any]:
    plan = here.asked.weighted(calibrate_unordered(here.asked, here.size, k))  # refuses weights
    with here.call(plan) as call:
        # Sorted, so that the order of the noise is lost: by position, or, where an order of the
        # positions may follow from the data, by the labels' texts.
        chosen = tuple(sorted(here.rank(plan, call).indices))
        labels, indices = here.named(chosen)
        if indices is None:
            labels = tuple(sorted(labels, key=lambda label: (label_text(label), repr(type(label)))))
        return call.commit(TopK(**call.header, labels=labels, indices=indices, ordered=False))
