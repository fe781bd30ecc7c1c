"""One candidate of many: permute-and-flip, the exponential mechanism, report-noisy-max."""

from __future__ import annotations

from typing import Unpack

from safeselect.exact.parameters import Number
from safeselect.scores.candidates import Label
from safeselect.selection._arguments import Labels, Options, Scores, explicit
from safeselect.selection._results import Selection
from safeselect.selection._table import Noise
from safeselect.selection.prepared import (
    ExponentialMechanism,
    ExponentialMechanismBase2,
    PermuteAndFlip,
    ReportNoisyMax,
)


@explicit(Options)
def permute_and_flip(
    scores: Scores[Label], *, labels: Labels[Label] = None, **options: Unpack[Options]
) -> Selection[Label]:
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
        weights: public whole numbers, 2**24 in all at most: a candidate of weight w takes part as w
            equal candidates.  A list in the order of the scores, or label -> weight: a mapping, or
            a pandas column with its index.  With 0 a candidate takes no part; its score is read.

    Returns:
        Selection: the candidate's label and position, and what the release costs.

    Raises:
        ParameterError: a parameter is wrong.
        ScoreError: the scores cannot be read.
        SourceError: the source failed.
        BudgetError: the ledger refuses the charge, or cannot be used (`LedgerError`).

    Example:
        >>> permute_and_flip({"tea": 3, "milk": 900}, epsilon=1, sensitivity=1).label
        'milk'
    """
    return PermuteAndFlip(**options)(scores, labels=labels)


@explicit(Options)
def exponential_mechanism(
    scores: Scores[Label], *, labels: Labels[Label] = None, **options: Unpack[Options]
) -> Selection[Label]:
    """Choose candidate r with probability proportional to weight r * exp(rate * score r).

    rate = epsilon / R, R being `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP and about (epsilon**2 / 8)-zCDP (McSherry
        and Talwar 2007; Dong, Durfee and Rogers 2020).  For many selections under zCDP it is the
        better choice, for one pure-DP selection permute-and-flip is.
    Neighbours, Raises: as for `permute_and_flip`.
    Method: the largest of score + Gumbel noise, exactly: lattice floors of the noise from certified
        enclosures of its distribution function, refined until the winner is decided; with weights
        their enclosed logarithms are added.

    Args:
        weights: public weights of the candidates, a base measure: rationals, all 1 by default.  A
            list in the order of the scores, or label -> weight: a mapping, or a pandas column with
            its index.  With 0 a candidate takes no part; its score is still read.  They must not
            follow from the data, and change no guarantee.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`.

    Returns:
        Selection.

    Example:
        >>> exponential_mechanism([3, 900, 5], epsilon=1, sensitivity=1, monotonic=True).index
        1
    """
    return ExponentialMechanism(**options)(scores, labels=labels)


@explicit(Options)
def exponential_mechanism_base2(
    scores: Scores[Label],
    *,
    base: Number | None = None,
    labels: Labels[Label] = None,
    **options: Unpack[Options],
) -> Selection[Label]:
    """Choose candidate r with probability proportional to a rational power: base**(-score r / R).

    R is `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`; so `base` is how much
    less likely a candidate is whose score is lower by R.  Where scores and R are integers with
    R = 1 all weights are rational numbers; (x / 2**y)**z is Ilvento's mechanism with these x, y, z.
    With `epsilon` or `rho` the factor per grid step is the smallest x / 2**64 that is at least
    exp(-epsilon / R).  The range of the scores is not limited.

    Guarantee: BoundedRange(epsilon); with `base`, epsilon = -ln(base), rounded up to 64 bits.
    Neighbours, Raises: as for `permute_and_flip`.
    Method: as `exponential_mechanism`.  Source: Ilvento (2020); Dong, Durfee and Rogers (2020).

    Args:
        base: an exact rational between 0 and 1; instead of epsilon and rho.  The result keeps it.
        weights: as for `exponential_mechanism`; they multiply the powers.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`.

    Returns:
        Selection.

    Example:
        >>> exponential_mechanism_base2([3, 900], base="1/2", sensitivity=1, monotonic=True).base
        Fraction(1, 2)
    """
    return ExponentialMechanismBase2(base=base, **options)(scores, labels=labels)


@explicit(Options)
def report_noisy_max(
    scores: Scores[Label], *, noise: Noise, labels: Labels[Label] = None, **options: Unpack[Options]
) -> Selection[Label]:
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
        weights: with "gumbel", as for `exponential_mechanism`.
        scores, epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error,
            labels, source, ledger, engine: as for `permute_and_flip`.

    Returns:
        Selection.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> report_noisy_max([3, 900, 5], noise="gumbel", epsilon=1, sensitivity=1).index
        1
    """
    return ReportNoisyMax(noise=noise, **options)(scores, labels=labels)
