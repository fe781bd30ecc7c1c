"""Combining measurements with free gaps: the best linear unbiased estimates, exactly.

All arithmetic is rational: exact input gives exact output, and no weight is ever rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.estimates._released import read_choice, read_gap, read_released, read_released_list
from safeselect.exact.parameters import Number, integer, rational

# Variance of a noise of rate 1.
_VARIANCES = {"exponential": 1, "laplace": 2}


def estimate_fixed_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    variance_ratio: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return the best linear unbiased estimates of the k winners' scores, in the winners' order.

    They are unbiased and best for candidates fixed beforehand.  The noise also decided which
    candidates won, and in which order.  Where winners lead by little, compared with the noise, that
    selection bias can more than double the mean squared error: use `estimate_from_gaps`, which
    notices it.

    Method: each winner's score has two estimates: its own measurement, and the mean of all k
        measurements, each moved by the gaps in between.  The result averages the two with the
        weights variance_ratio : 1 (Ding et al. 2023, Theorem 4).  O(k).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurements: k private, unbiased measurements of equal variance, of the scores of the
            winners, best first.  Negate them if the winners were chosen with `minimize=True`.
        gaps: the k gaps that `top_k_with_gaps` released, or the first k - 1 of them.  The k-th is
            not used: it leads to a candidate that was not measured.
        variance_ratio: positive; the variance of the selection's noise on one score divided by
            that of a measurement: see `variance_ratio`.
        gap_grid: the grid that the gaps were rounded down to.  With it, half a step is added to
            each gap, which minimizes the largest rounding error.  Estimate i of k is then off by
            at most gap_grid (i(i-1) + (k-i)(k-i+1)) / (4k (1 + variance_ratio)).  Without it, the
            gaps are used unchanged, and the first estimate may be off by twice as much.

    Raises:
        ParameterError: there are not k or k - 1 gaps for k measurements, or a number is wrong.

    Example:
        >>> from safeselect.estimates import estimate_fixed_from_gaps
        >>> estimate_fixed_from_gaps([100, 90], [20], variance_ratio=1)
        (Fraction(205, 2), Fraction(175, 2))
    """
    measured, between = read_winners(measurements, gaps, gap_grid)
    ratio = rational(variance_ratio, "variance_ratio")
    # How far each winner lies below the first, by the gaps.
    below = list(accumulate(between[: len(measured) - 1], initial=Fraction(0)))
    best = _mean([own + down for own, down in zip(measured, below, strict=True)])
    return tuple(
        _average(own, best - down, ratio) for own, down in zip(measured, below, strict=True)
    )


def estimate_from_threshold(
    measurement: Number,
    gap: Number,
    *,
    threshold: Number,
    variance_ratio: Number,
    gap_grid: Number | None = None,
) -> Fraction:
    """Return the inverse-variance average of a measurement and threshold + gap.

    Over all runs, reported or not, threshold + gap is an unbiased estimate of the value.  Among
    reported values, those near or below the threshold are overestimated.  Answers of one session
    share the threshold's noise, so their errors are correlated.

    Method: the weights are variance_ratio : 1 (Ding et al. 2023).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurement: a private, unbiased measurement of a value that was answered "above".
        gap: the gap of that answer; its noise has mean 0, as in `SparseVector`.
        threshold: the public threshold.
        variance_ratio: positive; the variance of the gap's noise (that of the threshold and that of
            the value together) divided by the measurement's: see `variance_ratio`.
        gap_grid: the grid that the gap was rounded down to.  With it, half a step is added, and
            the rounding error is at most gap_grid / (2 (1 + variance_ratio)).  Without it, the
            rounding error is less than twice that.

    Raises:
        ParameterError: a number is wrong.

    Example:
        >>> from safeselect import estimate_from_threshold
        >>> estimate_from_threshold(108, 12, threshold=100, variance_ratio=1)
        Fraction(110, 1)
    """
    own = read_released(measurement, "measurement")
    place = rational(threshold, "threshold", signed=True)
    ratio = rational(variance_ratio, "variance_ratio")
    return _average(own, place + centred(read_gap(gap), gap_grid), ratio)


def variance_ratio(
    *rates: Number, noise: Literal["exponential", "laplace"], measured_rate: Number
) -> Fraction:
    """Return the variance of the selection's noise divided by that of a Laplace measurement.

    For `estimate_fixed_from_gaps`, with half of the cost spent on the selection and half on
    measuring k counts, it is 1/2 (exponential) or 1 (Laplace) if monotonic, and 2 or 4 if not.

    Args:
        rates: for `estimate_fixed_from_gaps` the one rate of the noise of `top_k_with_gaps`.  For
            `estimate_from_threshold` two: split epsilon / sensitivity for the threshold, and
            (1 - split) epsilon / (c k sensitivity) for the values, c = 2, or 1 if monotonic.
        noise: the selection's noise.
        measured_rate: rate of the Laplace noise of a measurement: epsilon / (k sensitivity) if k
            scores are measured at a total of epsilon.

    Raises:
        ParameterError: no rate, or a wrong number or word.

    Example:
        >>> from safeselect.estimates import variance_ratio
        >>> variance_ratio("0.1", noise="exponential", measured_rate="0.1")
        Fraction(1, 2)
    """
    if not rates:
        raise ParameterError("give one rate for each noise in a gap: one, or two")
    factor = _VARIANCES[read_choice(noise, "noise", tuple(_VARIANCES))]
    own = rational(measured_rate, "measured_rate")
    relative = [own / rational(rate, "rates") for rate in rates]
    return factor * sum((each * each for each in relative), Fraction(0)) / _VARIANCES["laplace"]


def error_ratio(k: object, variance_ratio: Number) -> Fraction:
    """Return the variance of a linear estimate from gaps over that of a measurement alone.

    (1 + k lambda) / (k + k lambda) for lambda = variance_ratio (Ding et al. 2023, Corollary 1).

    Example:
        >>> from safeselect.estimates import error_ratio
        >>> error_ratio(10, "0.5")
        Fraction(2, 5)
    """
    count = integer(k, "k", minimum=1, maximum=2**63 - 1)
    ratio = rational(variance_ratio, "variance_ratio")
    return (1 + count * ratio) / (count + count * ratio)


def threshold_error_ratio(variance_ratio: Number) -> Fraction:
    """Return the variance of an estimate from a threshold over that of a measurement alone.

    rho / (1 + rho) for rho = variance_ratio.

    Example:
        >>> from safeselect.estimates import threshold_error_ratio
        >>> threshold_error_ratio("0.5")
        Fraction(1, 3)
    """
    ratio = rational(variance_ratio, "variance_ratio")
    return ratio / (1 + ratio)


def centred(gap: Fraction, gap_grid: object) -> Fraction:
    """The middle of the grid cell in which the gap lies."""
    return gap if gap_grid is None else gap + rational(gap_grid, "gap_grid") / 2


def read_winners(
    measurements: object, gaps: object, gap_grid: object
) -> tuple[list[Fraction], list[Fraction]]:
    """Read the measurements of k winners, and their k or k - 1 gaps, centred.

    Raises:
        ParameterError: there are none, or another number of gaps, or one is no number.
    """
    measured = read_released_list(measurements, "measurements")
    k = len(measured)
    if k < 1:
        raise ParameterError("measurements must not be empty")
    between = [centred(gap, gap_grid) for gap in read_released_list(gaps, "gaps")]
    if len(between) not in (k - 1, k):
        raise ParameterError(f"{k} measurements need {k - 1} or {k} gaps, got {len(between)}")
    return measured, between


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _average(own: Fraction, other: Fraction, ratio: Fraction) -> Fraction:
    """Average two estimates whose independent parts have variances in the ratio 1 : ratio."""
    return (ratio * own + other) / (1 + ratio)
