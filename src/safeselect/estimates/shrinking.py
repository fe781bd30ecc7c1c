"""Combining measurements with free gaps for candidates that the noise itself chose.

A linear combination is best for candidates fixed beforehand.  Winners are not: where they lead by
little, a gap is the noise that made them win, and it may be as wrong as it is large.  Here gaps are
used as far as the released numbers support them.

Given the noisy score T of the best loser, winner i's *height* above T is max(q_i - T, 0) + noise
for exponential noise, independently; for Laplace noise the same below T.  So a winner above T has a
height that is right, and one below T has a height that is noise alone: seldom a large one.  The
measurements are fresh.  Given the selection, the heights are a fixed guess, towards which the
measurements are shrunk (James and Stein 1961; Baranchik 1970).

All arithmetic is rational, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.estimates._released import read_gap, read_released_list
from safeselect.estimates._shrunk import Shrunk
from safeselect.estimates.combining import centred, read_winners, variance_ratio
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, rational

_Noise = Literal["exponential", "laplace"]


def estimate_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return estimates of the k winners' scores, in the winners' order, that gaps cannot spoil.

    Averaged over the winners, the mean squared error is not noticeably above that of the
    measurements alone, whatever the scores are; where the gaps are right, it is nearly as small as
    that of `estimate_fixed_from_gaps`.  A single winner's may be larger.

    Method: the winners that are 5 nats or more above the best loser form one group, the others
        another.  In each group the heights move the measurements towards the group's shape, and the
        second group towards the first, each with the weight min(1 / (1 + variance_ratio), c v / s):
        s is the sum of squares by which measurements and heights disagree, v the variance of a
        measurement, and c grows with the degrees of freedom.  No estimate moves by more than 5/2
        scales of a measurement; of three winners, 15/4.  Of two or three winners, each but the
        first moves towards the mean of those before it as the linear estimate does, but no further
        than min(5/2, (1 + h / 3)**3 / 24) scales, h being its height in nats: that adds less than
        0.02 variances to the squared error, whatever the scores of the winners below the best loser
        are.  With one winner the result is its measurement.
    Exactness: rational in, rational out; O(k).
    Source: James and Stein (1961), Baranchik (1970); measured in `docs/gaps.md`.

    Args:
        measurements: k private, unbiased measurements with fresh Laplace noise of one rate, of the
            scores of the winners, best first.  Negate them if the winners were chosen with
            `minimize=True`.
        gaps: the k gaps that `top_k_with_gaps` released.  With the first k - 1 of them, no winner
            is known to be far above the best loser, which gains less.
        rate: of the selection's noise per score unit: `noise_rate` of the result.
        noise: the selection's noise.
        measured_rate: rate of the noise of a measurement, per score unit.
        gap_grid: the grid that the gaps were rounded down to; half a step is added to each gap.

    Raises:
        ParameterError: there are not k or k - 1 gaps for k measurements, or a number is wrong.

    Example:
        >>> from safeselect import estimate_from_gaps
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> [float(each) for each in estimate_from_gaps([195, 90], [90, 80], **public)]
        [190.0, 95.0]
        >>> lucky = estimate_from_gaps([195, 90], [12, 0], **public)  # the second may be so
        >>> [round(float(each), 2) for each in lucky]
        [194.58, 90.42]
    """
    released = _read(measurements, gaps, rate, noise, measured_rate, gap_grid)
    return released.estimates()


def error_from_gaps(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> Fraction:
    """Return an estimate of the mean squared error of `estimate_from_gaps`, averaged over winners.

    Method: Stein's estimate of risk for each weight, no less than the error where all gaps are
        right.  In the simulation of `docs/gaps.md` its mean was 0.9 to 1.5 times the true error.

    Args, raises: as for `estimate_from_gaps`.

    Example:
        >>> from safeselect.estimates import error_from_gaps
        >>> public = {"rate": "0.1", "noise": "exponential", "measured_rate": "0.1"}
        >>> f"{float(error_from_gaps([195, 90], [90, 80], **public)):.1f}"  # 199.8 without gaps
        '133.2'
    """
    return _read(measurements, gaps, rate, noise, measured_rate, gap_grid).error()


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
    """Return an interval (low, high) around each estimate, wide on purpose.

    Coverage is measured, not proved, and averaged over the winners: see `docs/gaps.md`.  At
    alpha=0.05 it was 95 to 99 %: most where gaps are right, least where the noise chose many
    winners.  At alpha=0.2 it fell to 77 % there, so use no alpha above 0.05.  Among many winners
    those that the noise brought in, which stand last, are covered less.  Guaranteed for a single
    winner is its measurement +- ln(1 / alpha) / measured_rate, rounded up to a whole number.

    Method: half the width is that of the measurement's interval times (1 + r) / 2, r being the root
        of `error_from_gaps` over the measurement's variance, rounded up.  Times r alone, where
        gaps are right a quarter less, it covered 94 % where the noise chose.

    Args:
        alpha: between 0 and 1; the share that may be missed.
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
    released = _read(measurements, gaps, rate, noise, measured_rate, gap_grid)
    own = rational(measured_rate, "measured_rate")
    nats = rounded_up(lambda precision: -Interval.of(share, precision).log())
    half = nats / own * (1 + released.shrinkage()) / 2
    return tuple((each - half, each + half) for each in released.estimates())


def estimate_from_answers(
    measurements: Iterable[Number],
    gaps: Iterable[Number],
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
) -> tuple[Fraction, ...]:
    """Return estimates of the values that a sparse vector session answered "above", in their order.

    As `estimate_from_gaps`: each gap is a height above one noisy threshold, whose noise all answers
    of the session share, so that it cancels.  Answers of different branches of an adaptive session
    have different rates: call once for each branch.

    Args:
        measurements: fresh, unbiased measurements of the values, with Laplace noise of one rate.
        gaps: the gap of each answer.
        rate: of the values' noise alone: `value_rate` of the session.
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
        raise ParameterError("give as many gaps as measurements, one or more")
    high = [centred(each, gap_grid) for each in heights]
    order = sorted(range(len(high)), key=lambda place: -high[place])
    public = _public(rate, noise, measured_rate)
    found = Shrunk(
        tuple(measured[place] for place in order), tuple(high[place] for place in order), *public
    ).estimates()
    back = dict(zip(order, found, strict=True))
    return tuple(back[place] for place in range(len(found)))


def _read(
    measurements: object,
    gaps: object,
    rate: object,
    noise: _Noise,
    measured_rate: object,
    gap_grid: object,
) -> Shrunk:
    measured, between = read_winners(measurements, gaps, gap_grid)
    ratio, own, known = _public(rate, noise, measured_rate)
    if len(between) < len(measured):
        between, known = [*between, Fraction(0)], None
    heights = tuple(accumulate(reversed(between)))[::-1]
    return Shrunk(tuple(measured), heights, ratio, own, known)


def _public(
    rate: object, noise: _Noise, measured_rate: object
) -> tuple[Fraction, Fraction, Fraction | None]:
    """The ratio of the variances, the rate of a measurement, and that of the selection."""
    each, own = rational(rate, "rate"), rational(measured_rate, "measured_rate")
    return variance_ratio(each, noise=noise, measured_rate=own), own, each
