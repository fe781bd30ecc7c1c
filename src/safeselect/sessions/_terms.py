"""Everything public about a session that compares with a noisy threshold.

All of it, the guarantee included, is fixed before the first bit is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm
from typing import get_args

import gmpy2

from safeselect.accounting.cost import read_epsilon
from safeselect.engine.single import SPARE, Kind
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import describe, integer, rational
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import LaplaceDominated, PureDP
from safeselect.promises.records import exact_text
from safeselect.scores.reading import Reading, flag

MAX_K = 2**20
"""The most answers above the threshold that a session may have."""

BELOW = -1
"""The result of `decide` for a value below the threshold; no gap is negative."""

_MOST_PARTS = 2**20  # the largest denominator of a fraction near an irrational number
SQRT2 = Fraction(isqrt(2 << 120), 1 << 60).limit_denominator(_MOST_PARTS)

_REACH = 2**64  # grid steps from the threshold; values farther away are cut
_MEAN_PLACES = 20  # binary places of the mean of geometric noise


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to be above: value + noise exceeds the noisy threshold by `margin` or more.

    Attributes:
        name: its name in answers, or None if there is only one branch.
        margin: at least 0, in score units.
        epsilon: the cost of an answer by this branch.
        noise_rate: the rate of its noise, per grid step.
        place, least, cell: integers, in units of 1 / `denominator` of a grid step: the threshold
            with its public recentring; the margin; one step of the gap grid.
    """

    name: str | None
    margin: Fraction
    epsilon: Fraction
    noise_rate: NoiseRate
    place: int
    least: int
    cell: int


@dataclass(frozen=True, slots=True)
class SessionParameters:
    """The public numbers of a session, after its budget is split.

    Attributes:
        epsilon: the total.
        start: the part of epsilon that the threshold's noise costs.
        noise_rate: the rate of the threshold's noise, per grid step.
        branches: the branches, in the order in which they are tried.
        reading, sensitivity: how values become steps, and how far they move.
        denominator: of all public numbers, in grid steps; in its units they are integers.
        middle: the threshold in grid steps, rounded down.
        digits: how many digits each noise by inversion starts with; see `_digits`.
        as_record: the parameters, for records.
    """

    mechanism: str
    noise: Kind
    epsilon: Fraction
    start: Fraction
    noise_rate: NoiseRate
    branches: tuple[Branch, ...]
    reading: Reading
    sensitivity: Fraction
    gap_grid: Fraction
    denominator: int
    middle: int
    digits: int
    as_record: Mapping[str, str]

    @property
    def guarantee(self) -> LaplaceDominated | PureDP:
        """The strongest guarantee that is proved: see `docs/mathematics.md`, section 12."""
        return PureDP(self.epsilon) if self.noise == "geometric" else LaplaceDominated(self.epsilon)

    def cut(self, value: int) -> int:
        """Move a value to within 2**64 steps of the threshold.

        The interval is public and does not depend on the data.  Cutting is monotone and
        1-Lipschitz, so it keeps the sensitivity and monotonicity.
        """
        return min(max(value, self.middle - _REACH), self.middle + _REACH)


@dataclass(frozen=True, slots=True)
class SessionArguments:
    """The parameters that both kinds of session share, after reading and checking.

    Attributes:
        rise, spread: between neighbours every value moves within [-b, a] steps, or every value
            within [-a, b].  `rise` is a, the larger one; `spread` is a + b.  The threshold's noise
            must cover a, an answer's noise a + b.
        share: the threshold's share of epsilon.
    """

    epsilon: Fraction
    k: int
    sensitivity: Fraction
    monotonic: bool
    rise: Fraction
    spread: Fraction
    share: Fraction
    noise: Kind
    threshold: Fraction
    reading: Reading
    gap_grid: Fraction

    @classmethod
    def read(
        cls,
        *,
        threshold: object,
        k: object,
        epsilon: object,
        sensitivity: object,
        monotonic: object,
        noise: object,
        split: object,
        grid: object,
        on_grid: object,
        score_error: object,
        gap_grid: object,
    ) -> SessionArguments:
        """Read and check the parameters.

        Raises:
            ParameterError: one of them is wrong.
        """
        one_way = flag(monotonic, "monotonic")
        if not isinstance(noise, str) or noise not in get_args(Kind):
            names = ", ".join(map(repr, get_args(Kind)))
            raise ParameterError(f"noise must be one of {names}; got {describe(noise)}")
        count = integer(k, "k", minimum=1, maximum=MAX_K)
        reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
        change = rational(sensitivity, "sensitivity")
        rise, fall = reading.moves(change, monotonic=one_way)
        if noise == "geometric":
            # Geometric noise has whole steps only.
            rise, fall = Fraction(-(-rise // 1)), Fraction(-(-fall // 1))
        spread = rise + fall
        place = rational(threshold, "threshold", signed=True)
        return cls(
            epsilon=read_epsilon(epsilon),
            k=count,
            sensitivity=change,
            monotonic=one_way,
            rise=rise,
            spread=spread,
            share=optimal_share(spread / rise * count)
            if split is None
            else rational(split, "split", below=1),
            noise=noise,  # type: ignore[arg-type]  # one of the names, as checked above
            # Values are read to the nearest step, and so is the threshold.
            threshold=place if grid is None else reading.nearest(place) * reading.step,
            reading=reading,
            gap_grid=reading.step if gap_grid is None else rational(gap_grid, "gap_grid"),
        )

    @property
    def answer(self) -> Fraction:
        """The cost of each of the k answers."""
        return self.epsilon * (1 - self.share) / self.k

    def scale(self, epsilon: Fraction) -> Fraction:
        """(a + b) / epsilon in score units: the scale of noise that costs epsilon an answer."""
        return self.spread * self.reading.step / epsilon

    def terms(
        self, mechanism: str, *branches: tuple[str | None, Fraction, Fraction]
    ) -> SessionParameters:
        """Return the terms of a session with these branches: (name, margin, epsilon) each."""
        size = self.reading.step
        start = self.epsilon * self.share
        noise_rate = NoiseRate(start / self.rise)
        decays = [NoiseRate(epsilon / self.spread) for _, _, epsilon in branches]
        # The noise's mean is public, so it is subtracted again.
        places = [
            self.threshold / size + _mean(self.noise, each) - _mean(self.noise, noise_rate)
            for each in decays
        ]
        margins = [margin / size for _, margin, _ in branches]
        cell = self.gap_grid / size
        denominator = lcm(*(number.denominator for number in (*places, *margins, cell)))
        return SessionParameters(
            mechanism=f"{mechanism}_{self.noise}/1",
            noise=self.noise,
            epsilon=self.epsilon,
            start=start,
            noise_rate=noise_rate,
            branches=tuple(
                Branch(
                    name,
                    margin,
                    epsilon,
                    each,
                    place=int(place * denominator),
                    least=int(least * denominator),
                    cell=int(cell * denominator),
                )
                for (name, margin, epsilon), each, place, least in zip(
                    branches, decays, places, margins, strict=True
                )
            ),
            reading=self.reading,
            sensitivity=self.sensitivity,
            gap_grid=self.gap_grid,
            denominator=denominator,
            middle=self.threshold // size,
            digits=_digits(min(noise_rate.rate, *(each.rate for each in decays)), cell),
            as_record=self.as_record
            | {f"{name}_margin": exact_text(least) for name, least, _ in branches if name},
        )

    @property
    def as_record(self) -> dict[str, str]:
        """The parameters as text for records."""
        values = {
            "sensitivity": self.sensitivity,
            "effective_range": self.spread * self.reading.step,
            "threshold": self.threshold,
            "split": self.share,
            "gap_grid": self.gap_grid,
        }
        return {
            **{name: exact_text(value) for name, value in values.items()},
            **self.reading.as_record,
            "k": str(self.k),
            "monotonic": "yes" if self.monotonic else "no",
        }


def optimal_share(ratio: Fraction) -> Fraction:
    """1 / (1 + (c k)**(2/3)) for c k = ratio, as a fraction of denominator at most 2**20.

    c is (a + b) / a, in the terms of `Setting`: 1 for integers that are monotonic, 2 for others.
    It minimizes the variance of the gap (`docs/mathematics.md`, section 12).  Any other share is
    equally private.
    """
    root, _ = gmpy2.iroot((ratio.numerator**2 << 180) // ratio.denominator**2, 3)
    return Fraction(1 << 60, (1 << 60) + int(root)).limit_denominator(_MOST_PARTS)


def compare(low: int, high: int, least: int, cell: int) -> int | None:
    """Return the one answer for all numbers in low .. high: BELOW or a gap in cells; else None.

    Above means at least `least`; the gap is rounded down to whole cells.
    """
    if high < least:
        return BELOW
    if low < least:
        return None
    cells = low // cell
    return cells if cells == high // cell else None


def _mean(noise: Kind, noise_rate: NoiseRate) -> Fraction:
    """Return the mean of the noise in grid steps; that of geometric noise is rounded down."""
    if noise == "laplace":
        return Fraction(0)
    if noise == "exponential":
        return 1 / noise_rate.rate
    power = -Interval.of(noise_rate.rate, 128)
    mean = power.exp() / -power.expm1()
    return Fraction(mean.scaled(_MEAN_PLACES)[0], 1 << _MEAN_PLACES)


def _digits(rate: Fraction, cell: Fraction) -> int:
    """Return how many digits of V leave a comparison open with a probability below 2**-50.

    The bounds of a noise are a few units of 2**-scale nats apart; one unit is 2**-scale / rate
    steps.  A comparison is open if a multiple of a cell, or of a whole step, lies between them.
    """
    narrowest = rate * min(cell, Fraction(1))
    scale = 64 + (1 // narrowest).bit_length()
    return -(-(scale + SPARE) // 8) * 8
