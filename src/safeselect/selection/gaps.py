"""Free gaps: choose, and learn by how much the chosen ones won, at no further cost.

A gap is the distance between neighbours in the order of the noisy scores.  A call releases the
floor of the *continuous* gap on a public grid, so ties cost nothing.  Proofs:
`docs/mathematics.md`, section 11.  The noisy scores themselves are never released: they would cost
extra.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeVar, Unpack, get_args

from safeselect.engine import Ranking
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, integer, rational
from safeselect.exact.rate import MIN_RATE
from safeselect.promises.records import exact_text
from safeselect.scores.candidates import Label
from safeselect.scores.reading import Reading
from safeselect.selection._arguments import Arguments, Labels, Options, Scores, explicit
from safeselect.selection._call import Call
from safeselect.selection._results import Selection, TopK
from safeselect.selection._table import Calibration, Noise, one_draw, read_choice

Chosen = TypeVar("Chosen", Selection[Any], TopK[Any])
GapNoise = Literal["exponential", "laplace"]


class GapOptions(Options, total=False):
    """The common arguments, and the public step of the gaps."""

    gap_grid: Number | None


@explicit(GapOptions)
def permute_and_flip_with_gap(
    scores: Scores[Label], *, labels: Labels[Label] = None, **options: Unpack[GapOptions]
) -> Selection[Label]:
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
        weights: refused, because there is no law here for a gap with weights.

    Returns:
        Selection, with its gap.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`; and ParameterError for
            one candidate alone, or where a step of the coarsest grid that holds both gap_grid and
            the scores is worth less than 2**-40 of the noise's scale.

    Example:
        >>> permute_and_flip_with_gap([3, 900], epsilon=1, sensitivity=1).gap > 700
        True
    """
    return _one(scores, labels, "exponential", "permute_and_flip_with_gap/1", options)


@explicit(GapOptions)
def exponential_mechanism_with_gap(
    scores: Scores[Label], *, labels: Labels[Label] = None, **options: Unpack[GapOptions]
) -> Selection[Label]:
    """Choose by the exponential mechanism, and release the winner's lead in score + Gumbel noise.

    Candidate r wins with probability proportional to exp(rate * score r); given that, rate * gap
    follows the logistic law of location rate * score r - ln sum over j != r of
    exp(rate * score j), conditioned to be positive.  rate = epsilon / R, as for
    `exponential_mechanism`.

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
    return _one(scores, labels, "gumbel", "exponential_mechanism_with_gap/1", options)


@explicit(GapOptions)
def report_noisy_max_with_gap(
    scores: Scores[Label],
    *,
    noise: Noise,
    labels: Labels[Label] = None,
    **options: Unpack[GapOptions],
) -> Selection[Label]:
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

    Returns:
        Selection, with its gap.

    Example:
        >>> report_noisy_max_with_gap([3, 900], noise="laplace", epsilon=1, sensitivity=1).gap > 700
        True
    """
    read_choice(noise, "noise", get_args(Noise))
    return _one(scores, labels, noise, f"report_noisy_max_with_gap_{noise}/1", options)


@explicit(GapOptions)
def top_k_with_gaps(
    scores: Scores[Label],
    *,
    k: int,
    noise: GapNoise = "exponential",
    labels: Labels[Label] = None,
    **options: Unpack[GapOptions],
) -> TopK[Label]:
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

    Returns:
        TopK, with its gaps.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip_with_gap`.

    Example:
        >>> top_k_with_gaps([3, 2000, 900], k=2, epsilon=1, sensitivity=1, monotonic=True).indices
        (1, 2)
    """
    more = "; Gumbel noise is proved for one winner: exponential_mechanism_with_gap"
    read_choice(noise, "noise", get_args(GapNoise), more)
    return _with_gaps(scores, labels, noise, f"top_k_with_gaps_{noise}/1", options, k, Call.top_k)


def read_gap_grid(reading: Reading, plan: Calibration, gap_grid: object) -> Fraction:
    """The public step of the gaps in score units; by default that of the scores.

    Raises:
        ParameterError: it is no positive number, or too fine for the noise.
    """
    of_scores = reading.step
    step = of_scores if gap_grid is None else rational(gap_grid, "gap_grid")
    if plan.noise_rate.rate < MIN_RATE * (step / of_scores).denominator:
        raise ParameterError(
            "gap_grid is too fine for this noise, or in no simple ratio to grid: a step of the "
            "coarsest grid that holds both must be worth 2**-40 of the noise's scale or more"
        )
    return step


def in_scores(ranking: Ranking, step: Fraction) -> tuple[Fraction, ...]:
    """The gaps of a ranking in score units."""
    above, below = step.numerator, step.denominator
    # Built from two integers: the same work for all values.  A product of fractions is not.
    return tuple(Fraction(gap * above, below) for gap in ranking.gaps or ())


def _one(
    scores: object, labels: object, noise: Noise, mechanism: str, options: GapOptions
) -> Selection[Any]:
    """One winner and its gap."""
    return _with_gaps(scores, labels, noise, mechanism, options, 1, Call.selection)


def _with_gaps(
    scores: object,
    labels: object,
    noise: Noise,
    mechanism: str,
    options: GapOptions,
    k: object,
    result: Callable[[Call, Calibration, Ranking, tuple[Fraction, ...]], Chosen],
) -> Chosen:
    """The whole release of k winners, with the gaps below them."""
    call = Call(scores, Arguments.read(options), labels=labels)
    if call.size < 2:
        raise ParameterError("a gap needs at least two candidates")
    count = integer(k, "k", minimum=1, maximum=call.size - 1)
    plan = call.arguments.calibrate(one_draw(noise), mechanism, count)
    step = read_gap_grid(call.arguments.reading, plan, options.get("gap_grid"))
    with call.draws(plan, {"gap_grid": exact_text(step)}):
        ranking = call.rank(plan, step)
        return result(call, plan, ranking, in_scores(ranking, step))
