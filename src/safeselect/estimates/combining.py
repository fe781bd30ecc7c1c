"""Combining measurements with free gaps: the best linear unbiased estimates, exactly.

All in rationals: what goes in exactly comes out exactly, and no weight is ever rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.estimates._released import (
    read_choice,
    read_gap,
    read_released,
    read_released_list,
)
from safeselect.exact.parameters import Number, integer, rational

__all__ = [
    "error_ratio",
    "estimate_from_gaps",
    "estimate_from_threshold",
    "threshold_error_ratio",
    "variance_ratio",
]

# Variance of a noise of rate 1.
_VARIANCES = {"exponential": 1, "laplace": 2}


def estimate_from_gaps(
    measurements: object, gaps: object, *, variance_ratio: Number, gap_grid: Number | None = None
) -> tuple[Fraction, ...]:
    """Return the best linear unbiased estimates of the k winners' scores, in the winners' order.

    Unbiased and best for candidates fixed beforehand.  That the noise had a say in who won and in
    which order is not undone, by this or any other linear estimate: where the leads of the winners
    are small against the noise, the best ones are overestimated a little.

    Method: each winner's score is estimated in two ways, by its own measurement, and by the mean
        of all k measurements, each moved by the gaps in between; then these two are averaged with
        the weights variance_ratio : 1 (Ding et al. 2023, Theorem 4).  O(k).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurements: k private, unbiased measurements of equal variance, of the scores of the
            winners, best first.  Negate them if the winners were chosen with `minimize=True`.
        gaps: what `top_k_with_gaps` released, k numbers, the last of which is not used because it
            leads to a candidate that was not measured; or k - 1.
        variance_ratio: positive; the variance of the selection's noise on one score divided by
            that of a measurement: see `variance_ratio`.
        gap_grid: the grid that the gaps were rounded down to.  With it half a step is added to
            each, which makes the largest error by that rounding as small as it can be: estimate i
            of k is then off by gap_grid (i(i-1) + (k-i)(k-i+1)) / (4k (1 + variance_ratio)) at
            most.  Without it the gaps are taken as they are, and the first estimate may be off by
            twice as much.

    Raises:
        ParameterError: there are not k or k - 1 gaps for k measurements, or a number is wrong.
    """
    measured = read_released_list(measurements, "measurements")
    k = len(measured)
    if k < 1:
        raise ParameterError("measurements must not be empty")
    between = [_centred(gap, gap_grid) for gap in read_released_list(gaps, "gaps")]
    if len(between) not in (k - 1, k):
        raise ParameterError(f"{k} measurements need {k - 1} or {k} gaps, got {len(between)}")
    ratio = rational(variance_ratio, "variance_ratio")
    # How far each winner lies below the first, by the gaps.
    below = list(accumulate(between[: k - 1], initial=Fraction(0)))
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

    threshold + gap is an unbiased estimate of a value whether or not it is reported; given that it
    is, values near or below the threshold are overestimated.  Answers of one session share the
    threshold's noise, so their estimates err together.

    Method: the weights are variance_ratio : 1 (Ding et al. 2023).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurement: a private, unbiased measurement of a value that was answered "above".
        gap: the gap of that answer, whose noise has mean 0, as that of `SparseVector` has.
        threshold: the public threshold.
        variance_ratio: positive; the variance of the gap's noise (that of the threshold and that of
            the value together) divided by the measurement's: see `variance_ratio`.
        gap_grid: the grid that the gap was rounded down to.  With it half a step is added: the
            estimate is then off by at most gap_grid / (2 (1 + variance_ratio)) for the rounding,
            without it by less than twice that.

    Raises:
        ParameterError: a number is wrong.
    """
    own = read_released(measurement, "measurement")
    place = rational(threshold, "threshold", signed=True)
    ratio = rational(variance_ratio, "variance_ratio")
    return _average(own, place + _centred(read_gap(gap), gap_grid), ratio)


def variance_ratio(
    *rates: Number, noise: Literal["exponential", "laplace"], measured_rate: Number
) -> Fraction:
    """Return the variance of the selection's noise divided by that of a Laplace measurement.

    With half of a total spent on the selection and half on the measurements of k counts, that is
    1/2 (exponential) or 1 (Laplace) if monotonic, and 2 or 4 if not, for `estimate_from_gaps`.

    Args:
        rates: for `estimate_from_gaps` the one rate of the noise of `top_k_with_gaps`.  For
            `estimate_from_threshold` two: split epsilon / sensitivity for the threshold, and
            (1 - split) epsilon / (c k sensitivity) for the values, c = 2, or 1 if monotonic.
        noise: the selection's noise.
        measured_rate: rate of the Laplace noise of a measurement: epsilon / (k sensitivity) if k
            scores are measured at a total of epsilon.

    Raises:
        ParameterError: no rate, or a wrong number or word.
    """
    if not rates:
        raise ParameterError("give one rate for each noise in a gap: one, or two")
    factor = _VARIANCES[read_choice(noise, "noise", tuple(_VARIANCES))]
    own = rational(measured_rate, "measured_rate")
    relative = [own / rational(rate, "rates") for rate in rates]
    return factor * sum((each * each for each in relative), Fraction(0)) / _VARIANCES["laplace"]


def error_ratio(k: object, variance_ratio: Number) -> Fraction:
    """Return the variance of an estimate from gaps over that of a measurement alone.

    (1 + k lambda) / (k + k lambda) for lambda = variance_ratio (Ding et al. 2023, Corollary 1).
    """
    count = integer(k, "k", minimum=1, maximum=2**63 - 1)
    ratio = rational(variance_ratio, "variance_ratio")
    return (1 + count * ratio) / (count + count * ratio)


def threshold_error_ratio(variance_ratio: Number) -> Fraction:
    """Return the variance of an estimate from a threshold over that of a measurement alone.

    rho / (1 + rho) for rho = variance_ratio.
    """
    ratio = rational(variance_ratio, "variance_ratio")
    return ratio / (1 + ratio)


def _centred(gap: Fraction, gap_grid: object) -> Fraction:
    """The middle of the cell that the gap lies in."""
    return gap if gap_grid is None else gap + rational(gap_grid, "gap_grid") / 2


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _average(own: Fraction, other: Fraction, ratio: Fraction) -> Fraction:
    """Weigh two estimates whose variances, as far as they are independent, are as 1 : ratio."""
    return (ratio * own + other) / (1 + ratio)
