"""Combining measurements with free gaps for candidates that the noise itself chose.

A linear combination is best for candidates fixed beforehand.  Winners are not: where they lead by
little, a gap is the noise that made them win, and it may be as wrong as it is large.  Here gaps are
used as far as the released numbers support them.

Given the noisy score T of the best loser, winner i's *height* above T is max(q_i - T, 0) + noise
for exponential noise, independently; for Laplace noise the same below T.  So a winner above T has a
height that is right, and one below T has a height that is noise alone: seldom a large one.  The
measurements are fresh.  Given the selection, the heights are a fixed guess, towards which the
measurements are shrunk (James and Stein 1961; Baranchik 1970).

All arithmetic is rational: exact input gives exact output, no weight is ever rounded.  Nothing is
drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.estimates.shrunk import Shrunk, mean_of
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import MAX_BITS, Number, integer, rational, read_choice

_Noise = Literal["exponential", "laplace"]
_Public = tuple[Fraction, Fraction, Fraction]
"""The ratio of the variances, the rate of a measurement, and that of the selection."""
# Variance of a noise of rate 1.
_VARIANCES = {"exponential": 1, "laplace": 2}


def estimate_fixed_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    variance_ratio: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return linear estimates of the k winners' scores, in order, computed as if the winners were
    fixed in advance.

    For candidates that are fixed in advance, these are the best linear unbiased estimates. But the
    noise also determined which candidates won, and in which order. If winners lead by little
    compared with the noise, this selection bias can more than double the mean squared error. Then
    use `estimate_from_gaps`, which detects this bias.

    Method: each winner's score has two estimates: its own measurement, and the mean of all k
        measurements, each moved by the gaps in between.  The result averages the two with the
        weights variance_ratio : 1 (Ding et al. 2023, Theorem 4).  O(k).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurements: k private, unbiased measurements of the winners' scores, best first, with
            equal variance. Negate them if the winners were chosen with `minimize=True`.
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
    best = mean_of([own + down for own, down in zip(measured, below, strict=True)])
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
    """Return an estimate of a value for which a session answered "above", computed from a
    measurement, the threshold and the gap of this answer.

    It is the average of the measurement and threshold + gap, weighted by inverse variances.

    Over all runs, reported or not, threshold + gap is an unbiased estimate of the value.  Among
    reported values, those near or below the threshold are overestimated.  Answers of one session
    share the threshold's noise, so their errors are correlated.

    Method: the weights are variance_ratio : 1 (Ding et al. 2023).
    Exactness: rational in, rational out.  A wrong variance_ratio costs accuracy, never bias.

    Args:
        measurement: a private, unbiased measurement of a value for which the session answered
            "above".
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
        >>> from safeselect.estimates import estimate_from_threshold
        >>> estimate_from_threshold(108, 12, threshold=100, variance_ratio=1)
        Fraction(110, 1)
    """
    own = read_released(measurement, "measurement")
    place = rational(threshold, "threshold", signed=True)
    ratio = rational(variance_ratio, "variance_ratio")
    return _average(own, place + centred(read_gap(gap), gap_grid), ratio)


def variance_ratio(*rates: Number, noise: _Noise, measured_rate: Number) -> Fraction:
    """Return the variance of the noise in a selection, or in a gap of a session, divided by the
    variance of the noise in a Laplace measurement.

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
        raise ParameterError("pass one rate, or one rate for each of the two noise terms of a gap")
    read_choice(noise, "noise", tuple(_VARIANCES))
    own = rational(measured_rate, "measured_rate")
    relative = sum(((own / rational(rate, "rates")) ** 2 for rate in rates), Fraction(0))
    return _VARIANCES[noise] * relative / _VARIANCES["laplace"]


def error_ratio(k: object, variance_ratio: Number) -> Fraction:
    """Return the variance of a linear estimate from gaps, divided by the variance of a measurement
    alone.

    It is (1 + k lambda) / (k + k lambda), where lambda = variance_ratio (Ding et al. 2023,
    Corollary 1).

    Example:
        >>> from safeselect.estimates import error_ratio
        >>> error_ratio(10, "0.5")
        Fraction(2, 5)
    """
    count = integer(k, "k", minimum=1, maximum=2**63 - 1)
    ratio = rational(variance_ratio, "variance_ratio")
    return (1 + count * ratio) / (count + count * ratio)


def threshold_error_ratio(variance_ratio: Number) -> Fraction:
    """Return the variance of an estimate from a threshold, divided by the variance of a measurement
    alone.

    It is rho / (1 + rho), where rho = variance_ratio.

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
        raise ParameterError(f"pass one gap per measurement ({k}) or one fewer; got {len(between)}")
    return measured, between


def _average(own: Fraction, other: Fraction, ratio: Fraction) -> Fraction:
    """Average two estimates whose independent parts have variances in the ratio 1 : ratio."""
    return (ratio * own + other) / (1 + ratio)


def estimate_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return estimates of the k winners' scores, computed from measurements and gaps.

    The estimates are robust against the bias of gaps.

    For all scores, the mean squared error, averaged over the winners, is not noticeably larger than
    that of the measurements alone. If the gaps are right, it is nearly as small as that of
    `estimate_fixed_from_gaps`. The error of a single winner may be larger.

    Method: if only the first winner is at least 5 nats above the best loser, its estimate is its
        measurement, and the others are estimated from their own gaps as follows. If two or more
        are, they form one group, and the others form another. In each group, the heights move the
        measurements towards the shape of the group, and the second group towards the first, each
        with the weight min(1 / (1 + variance_ratio), c v / s): s is the sum of squares by which
        measurements and heights disagree, v the variance of a measurement, and c grows with the
        degrees of freedom. No estimate moves by more than 5/2 scales of a measurement; for three,
        15/4. For two or three, each but the first moves towards the mean of those before it as the
        linear estimate does, but no further than min(5/2, (1 + h / 3)**3 / 24) scales, h being its
        height in nats: this adds less than 0.02 variances to the mean squared error of the
        winners, for all scores of the winners below the best loser. With one winner the result is
        its measurement.
    Exactness: rational in, rational out; O(k).
    Source: James and Stein (1961), Baranchik (1970); measured in `docs/measured.md`.

    Args:
        measurements: k private, unbiased measurements of the winners' scores, best first, with
            fresh Laplace noise of the same rate. Negate them if the winners were chosen with
            `minimize=True`.
        gaps: the k gaps that `top_k_with_gaps` released. With only the first k - 1 of them, the
            gain is smaller, because no winner is known to be far above the best loser.
        rate: rate of the selection's noise per score unit, the `noise_rate` of the result.
        noise: name of the selection's noise.
        measured_rate: rate of the noise of a measurement, per score unit.
        gap_grid: grid to which the gaps were rounded down; half a step is added to each gap.

    Raises:
        ParameterError: there are not k or k - 1 gaps for k measurements, or a number is wrong.

    Example:
        >>> from safeselect.estimates import estimate_from_gaps
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> [float(each) for each in estimate_from_gaps([195, 90], [90, 80], **public)]
        [190.0, 95.0]
        >>> lucky = estimate_from_gaps([195, 90], [12, 0], **public)  # the second may be so
        >>> [round(float(each), 2) for each in lucky]
        [194.58, 90.42]
    """
    return _read(measurements, gaps, gap_grid, _public(rate, noise, measured_rate)).estimates()


def error_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> Fraction:
    """Return an estimate of the mean squared error of `estimate_from_gaps`, averaged over the
    winners.

    Method: Stein's estimate of risk for each weight, no less than the error where all gaps are
        right.  In the simulation of `docs/measured.md` its mean was 0.9 to 1.5 times the true
        error.

    Args, raises: as for `estimate_from_gaps`.

    Example:
        >>> from safeselect.estimates import error_from_gaps
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> f"{float(error_from_gaps([195, 90], [90, 80], **public)):.1f}"  # 199.8 without gaps
        '133.2'
    """
    return _read(measurements, gaps, gap_grid, _public(rate, noise, measured_rate)).error()


def intervals_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
    alpha: Number = "0.05",
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return intervals around the estimates from gaps; their coverage is measured, not proved.

    Each is a pair (low, high). Coverage is averaged over the winners: see `docs/measured.md`. At
    alpha=0.05 it was 94 to 99 %. It is largest if the gaps are right, and smallest if the noise
    chose many winners. At alpha=0.2 it fell to 77 % in that case, so do not use an alpha above
    0.05. Among many winners, the last ones, which the noise brought in, are covered less often. For
    a single winner, the interval measurement +- ln(1 / alpha) / measured_rate, rounded up to an
    integer, is guaranteed.

    Method: half the width is that of the measurement's interval times (1 + r) / 2, r being the root
        of `error_from_gaps` over the measurement's variance, rounded up.  With r alone, which is
        a quarter less where gaps are right, coverage was 94 % where the noise chose.

    Args:
        alpha: share of intervals that may miss, between 0 and 1.
        measurements, gaps, rate, noise, measured_rate, gap_grid: as for `estimate_from_gaps`.

    Raises:
        ParameterError: as for `estimate_from_gaps`.

    Example:
        >>> from safeselect.estimates import intervals_from_gaps
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> found = intervals_from_gaps([195, 90], [90, 80], **public)
        >>> [(round(low), round(high)) for low, high in found]
        [(163, 217), (68, 122)]
    """
    share = rational(alpha, "alpha", below=1)
    released = _read(measurements, gaps, gap_grid, _public(rate, noise, measured_rate))
    nats = rounded_up(lambda precision: -Interval.of(share, precision).log())
    halves = [nats / released.measured_rate * (1 + each) / 2 for each in released.shrinkage()]
    pairs = zip(released.estimates(), halves, strict=True)
    return tuple((each - half, each + half) for each, half in pairs)


def estimate_from_answers(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return estimates of the values for which a sparse vector session answered "above".

    The estimates are in the order of the answers.

    This function works like `estimate_from_gaps`: each gap is a height above the noisy threshold.
    All answers of the session share the noise of the threshold, so it cancels. Answers of different
    branches of an adaptive session have different rates, so call this function once for each
    branch.

    Args:
        measurements: fresh, unbiased measurements of the values, with Laplace noise of one rate.
        gaps: the gap of each answer.
        rate: rate of the noise of the values alone, the `value_rate` of the session.
        noise, measured_rate, gap_grid: as for `estimate_from_gaps`.

    Raises:
        ParameterError: there are not as many gaps as measurements, or a number is wrong.

    Example:
        >>> from safeselect.estimates import estimate_from_answers
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> [float(each) for each in estimate_from_answers([90, 195], [80, 170], **public)]
        [95.0, 190.0]
    """
    measured = read_released_list(measurements, "measurements")
    heights = [read_gap(gap) for gap in read_released_list(gaps, "gaps")]
    if not measured or len(measured) != len(heights):
        raise ParameterError("pass at least one measurement, and one gap for each measurement")
    high = [centred(each, gap_grid) for each in heights]
    order = sorted(range(len(high)), key=lambda place: -high[place])
    placed = tuple(measured[place] for place in order), tuple(high[place] for place in order)
    found = Shrunk(*placed, *_public(rate, noise, measured_rate), whole=True).estimates()
    back = dict(zip(order, found, strict=True))
    return tuple(back[place] for place in range(len(found)))


def _read(measurements: object, gaps: object, gap_grid: object, public: _Public) -> Shrunk:
    measured, between = read_winners(measurements, gaps, gap_grid)
    whole = len(between) == len(measured)
    heights = tuple(accumulate(reversed(between if whole else [*between, Fraction(0)])))[::-1]
    return Shrunk(tuple(measured), heights, *public, whole)


def _public(rate: object, noise: _Noise, measured_rate: object) -> _Public:
    each, own = rational(rate, "rate"), rational(measured_rate, "measured_rate")
    return variance_ratio(each, noise=noise, measured_rate=own), own, each


def read_released(value: object, name: str) -> Fraction:
    """Read a number as `rational` does.

    A message names its type only: a caller may pass the private count by mistake.

    Raises:
        ParameterError: not a finite number, or one of too many bits.
    """
    try:
        return rational(value, name, signed=True)
    except ParameterError:
        pass
    raise ParameterError(
        f"{name} must be a finite number whose numerator and denominator have at most {MAX_BITS} "
        f"bits each; the given value, of type {type(value).__name__}, is not such a number"
    )


def read_gap(value: object) -> Fraction:
    """Read a gap of an answer or a winner, which is never negative."""
    gap = read_released(value, "gap")
    if gap < 0:
        raise ParameterError("gap must not be negative")
    return gap


def read_released_list(values: object, name: str) -> list[Fraction]:
    """Read a list, tuple or array of numbers.

    Raises:
        ParameterError: the value is not an ordered list, or an element is not a number.
    """
    if (
        not isinstance(values, Iterable)
        or isinstance(values, (str, bytes, Set, Mapping))
        or getattr(values, "ndim", 1) != 1
    ):
        raise ParameterError(f"{name} must be a flat list of numbers, got {type(values).__name__}")
    return [read_released(value, f"{name}[{place}]") for place, value in enumerate(values)]
