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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Literal

from safeselect.errors import ParameterError
from safeselect.estimates._released import read_gap, read_released_list
from safeselect.estimates.combining import centred, variance_ratio
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, rational

__all__ = ["error_from_gaps", "estimate_from_answers", "estimate_from_gaps", "intervals_from_gaps"]

# Constants of the method, found by search over targets: `docs/gaps.md`, "How it is made".
_SAFE_NATS = 5  # a winner below T has a height of 5 nats with probability exp(-5)
_STEIN = Fraction(3, 2)  # times the degrees of freedom; 2 is the theorem's bound for normal noise
_MOST_LENT = 3  # how many degrees of freedom the lead of safe winners may lend the others
_FARTHEST = Fraction(5, 2)  # no estimate moves further from its measurement, in scales

_Noise = Literal["exponential", "laplace"]


def estimate_from_gaps(
    measurements: object,
    gaps: object,
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
        scales of a measurement.  With one winner, or up to three of which at most one is far above
        the best loser, the result is the measurements.
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
        >>> estimate_from_gaps([195, 90], [9, 1], **public)  # both may have won by luck
        (Fraction(195, 1), Fraction(90, 1))
    """
    released = _read(measurements, gaps, rate, noise, measured_rate, gap_grid)
    return released.estimates()


def error_from_gaps(
    measurements: object,
    gaps: object,
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
    measurements: object,
    gaps: object,
    *,
    rate: Number,
    noise: _Noise,
    measured_rate: Number,
    gap_grid: Number | None = None,
    alpha: Number = "0.05",
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return an interval (low, high) around each estimate; on average they cover 1 - alpha.

    Coverage is measured, not proved, and averaged over the winners: see the table of
    `docs/gaps.md`.  Among many winners those that the noise brought in, which stand last, are
    covered less.  Guaranteed for a single winner is its measurement +- ln(1 / alpha) /
    measured_rate, rounded up to a whole number.

    Method: half the width is that of the measurement's interval times (1 + r) / 2, r being the root
        of `error_from_gaps` over the measurement's variance, rounded up.

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
    measurements: object,
    gaps: object,
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
    found = _Released(
        tuple(measured[place] for place in order), tuple(high[place] for place in order), *public
    ).estimates()
    back = dict(zip(order, found, strict=True))
    return tuple(back[place] for place in range(len(found)))


@dataclass(frozen=True, slots=True)
class _Part:
    """A sum of squares, its degrees of freedom, and the weight with which gaps are believed."""

    squares: Fraction
    freedom: int
    weight: Fraction


@dataclass(frozen=True, slots=True)
class _Released:
    """Measurements and heights, highest first, with all public numbers.

    Attributes:
        safe_height: heights from which on a winner is surely above T; None if heights are known
            only up to a constant.
    """

    measured: tuple[Fraction, ...]
    heights: tuple[Fraction, ...]
    ratio: Fraction
    measured_rate: Fraction
    safe_height: Fraction | None

    @property
    def variance(self) -> Fraction:
        """A lower bound of the variance of a measurement on the grid of integers."""
        return max(Fraction(0), 2 / self.measured_rate**2 - Fraction(1, 6))

    @property
    def safe(self) -> int:
        """How many winners are surely above T: none, or two or more."""
        if self.safe_height is None:
            return 0
        count = sum(height >= self.safe_height for height in self.heights)
        return count if count > 1 else 0

    def estimates(self) -> tuple[Fraction, ...]:
        """Each measurement, moved towards its height as far as the measurements agree."""
        apart = [own - height for own, height in zip(self.measured, self.heights, strict=True)]
        j = self.safe
        first, rest, between, mean = self._means(apart)
        inner, outer, joint = self._parts(apart)
        limit = _FARTHEST / self.measured_rate
        moved = []
        for place, (own, each) in enumerate(zip(self.measured, apart, strict=True)):
            centre, weight = (first, inner.weight) if place < j else (rest, outer.weight)
            move = weight * (each - centre)
            if between:
                move += joint.weight * (centre - mean)
            moved.append(own - max(-limit, min(limit, move)))
        return tuple(moved)

    def error(self) -> Fraction:
        """Stein's estimate of the mean squared error."""
        apart = [own - height for own, height in zip(self.measured, self.heights, strict=True)]
        k, own = len(apart), self.variance
        inner, outer, joint = self._parts(apart)
        together = [_Part(joint.squares + outer.squares, outer.freedom + 1, joint.weight)]
        parts = together if joint.weight and joint.weight == outer.weight else [outer, joint]
        gain = sum((self._gain(part) for part in (inner, *parts)), Fraction(0))
        return own - min(gain, (k - 1) * own / (1 + self.ratio)) / k

    def shrinkage(self) -> Fraction:
        """The root of error over variance, rounded up to a multiple of 2**-32; 1 at most."""
        if not self.variance:
            return Fraction(1)
        share = min(Fraction(1), self.error() / self.variance)
        root = isqrt((share.numerator << 64) // share.denominator) + 1
        return min(Fraction(1), Fraction(root, 1 << 32))

    def _gain(self, part: _Part) -> Fraction:
        capped = part.weight == 1 / (1 + self.ratio)
        freedom = part.freedom if capped else max(0, part.freedom - 2)
        return part.weight * (2 * freedom * self.variance - part.weight * part.squares)

    def _means(
        self, apart: Sequence[Fraction]
    ) -> tuple[Fraction, Fraction, Fraction | None, Fraction]:
        """The means of the first group, of the rest, of all; and how far the two are apart."""
        j = self.safe
        first, rest = _mean(apart[:j]), _mean(apart[j:])
        between = first - rest if 0 < j < len(apart) else None
        return first, rest, between, _mean(apart)

    def _parts(self, apart: Sequence[Fraction]) -> tuple[_Part, _Part, _Part]:
        """Within the first group, within the rest, and between the two."""
        j, k = self.safe, len(apart)
        n = k - j
        first, rest, between, _ = self._means(apart)
        inner, outer = _squares(apart[:j], first), _squares(apart[j:], rest)
        across = Fraction(0) if between is None else Fraction(j * n, k) * between**2
        # The first group is above T, where the linear weight is right; the cap is for luck.
        within = self._weight(Fraction(2 * j + 2), inner) if j else Fraction(0)
        alone = self._weight(_STEIN * max(0, n - 3), outer)
        joint = Fraction(0)
        if between is not None:
            # What the first group gains for sure pays for what the others may lose.
            joint = self._weight(_STEIN * max(0, n - 2) + min(j - 1, _MOST_LENT), outer + across)
        return (
            _Part(inner, max(0, j - 1), within),
            _Part(outer, max(0, n - 1), max(alone, joint)),
            _Part(across, int(between is not None), joint),
        )

    def _weight(self, c: Fraction, squares: Fraction) -> Fraction:
        most = 1 / (1 + self.ratio)
        return min(most, c * self.variance / squares) if squares else most if c else Fraction(0)


def _read(
    measurements: object,
    gaps: object,
    rate: object,
    noise: _Noise,
    measured_rate: object,
    gap_grid: object,
) -> _Released:
    measured = read_released_list(measurements, "measurements")
    k = len(measured)
    if k < 1:
        raise ParameterError("measurements must not be empty")
    between = [centred(gap, gap_grid) for gap in read_released_list(gaps, "gaps")]
    if len(between) not in (k - 1, k):
        raise ParameterError(f"{k} measurements need {k - 1} or {k} gaps, got {len(between)}")
    ratio, own, safe = _public(rate, noise, measured_rate)
    if len(between) < k:
        between, safe = [*between, Fraction(0)], None
    heights = tuple(accumulate(reversed(between)))[::-1]
    return _Released(tuple(measured), heights, ratio, own, safe)


def _public(
    rate: object, noise: _Noise, measured_rate: object
) -> tuple[Fraction, Fraction, Fraction | None]:
    """The ratio of the variances, the rate of a measurement, and the height that is safe."""
    each, own = rational(rate, "rate"), rational(measured_rate, "measured_rate")
    return variance_ratio(each, noise=noise, measured_rate=own), own, _SAFE_NATS / each


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values) if values else Fraction(0)


def _squares(values: Sequence[Fraction], mean: Fraction) -> Fraction:
    return sum(((value - mean) ** 2 for value in values), Fraction(0))
