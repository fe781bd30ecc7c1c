"""The scalar tier: the same rankings as `safeselect.engine`, one Python integer at a time.

It is the specification of the array engine, with the same interface: a `draw` sees no score, and a
`combine` draws no bit.

- Exponential noise is its floor on the grid, a geometric variable, and a uniformly random ranking
  of all candidates, which decides ties.  The parts of the noise below the grid are independent and
  identically distributed, so only their order matters, and that order is uniform.
- Laplace and Gumbel noise is drawn to a finite depth and combined.  Where that does not determine
  the outcome, every candidate's noise is refined by further digits and combined again.

Reveals: running time and the number of random bits depend on the noise and, for Laplace and
Gumbel noise, on the scores.  For audit and tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from safeselect.engine import Ranking
from safeselect.engine.arrays import GridScores
from safeselect.engine.draws import Weights
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.spec.samplers import LazyGumbel, LazyLaplace, geometric, permutation

_STEP = Fraction(1)
_CONTINUOUS: dict[str, type[LazyLaplace] | type[LazyGumbel]] = {
    "laplace": LazyLaplace,
    "gumbel": LazyGumbel,
}
_DIGITS = 8  # by which undecided noise is refined; each round makes a tie 2**-8 times as likely


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """Exponential noise: floors in grid steps, and a random ranking of the parts below the grid."""

    floors: tuple[int, ...]
    ranks: tuple[int, ...]


def draw_exponential(count: int, noise_rate: NoiseRate, bits: Bits) -> ExponentialNoise:
    """Noise for `count` candidates.  Bits: `count` geometric variables and one permutation."""
    floors = tuple(geometric(bits, noise_rate) for _ in range(count))
    return ExponentialNoise(floors, tuple(permutation(bits, count)))


def combine_exponential(
    scores: Sequence[int], noise: ExponentialNoise, k: int, *, gaps: bool = False, unit: int = 1
) -> Ranking:
    """Return the k largest of score + noise, in order, with gaps in units of `unit` steps.

    Gaps: the floor of the difference of two continuous noisy scores whose floors are a >= b is
    a - b if the upper one's part below the grid is the larger one, else a - b - 1.  Flooring that
    again to whole units is the floor of the difference in units.
    """
    noisy = [score + floor for score, floor in zip(scores, noise.floors, strict=True)]
    order = sorted(range(len(noisy)), key=lambda i: (noisy[i], noise.ranks[i]), reverse=True)
    if not gaps:
        return Ranking(tuple(order[:k]), None)
    floors = tuple(
        (noisy[upper] - noisy[lower] - (noise.ranks[upper] < noise.ranks[lower])) // unit
        for upper, lower in pairwise(order[: k + 1])
    )
    return Ranking(tuple(order[:k]), floors)


def combine_continuous(
    scores: Sequence[int],
    floors: Sequence[int],
    level: int,
    k: int,
    *,
    gaps: bool = False,
    unit: Fraction = _STEP,
    width: int = 1,
) -> Ranking | None:
    """Return the k largest of score + noise, or None if the digits so far do not determine them.

    Each noise lies strictly between floor and floor + width, in units of 2**-level steps, with
    probability 1.  The digits determine the result if they separate the k first from one another
    and from all others and, with gaps, if the floor of each gap in units is the same for all noise
    with these digits.
    """
    noisy = [(score << level) + floor for score, floor in zip(scores, floors, strict=True)]
    order = sorted(range(len(noisy)), key=noisy.__getitem__, reverse=True)
    gap_floors = []
    whole, parts = unit.numerator << level, unit.denominator
    for upper, lower in pairwise(order[: k + 1]):
        difference = noisy[upper] - noisy[lower]
        # The gap lies strictly between difference - width and difference + width.
        least = (difference - width) * parts // whole
        most = ((difference + width) * parts - 1) // whole
        if difference < width or (gaps and least != most):
            return None
        gap_floors.append(least)
    return Ranking(tuple(order[:k]), tuple(gap_floors) if gaps else None)


def noisy_top_k(
    noise: str,
    scores_on_grid: GridScores,
    k: int,
    noise_rate: NoiseRate,
    bits: Bits,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
    weights: Weights | None = None,
) -> Ranking:
    """Return the k largest of score + noise drawn once; see `engine.rankings.noisy_top_k`.

    Exponential noise with k = 1 is permute-and-flip (Ding et al. 2021); Gumbel noise is the
    exponential mechanism, peeled k times (Durfee and Rogers 2019).
    """
    if noise == "exponential":
        return _exponential_top(scores_on_grid, k, noise_rate, bits, gaps, gap_unit)
    drawn = [_CONTINUOUS[noise](bits, noise_rate) for _ in scores_on_grid]
    scores = scores_on_grid.tolist()
    for _ in rounds(_DIGITS):
        level = drawn[0].level
        floors, width = [each.floor for each in drawn], 1
        if weights is not None:
            floors, width = _weighted(floors, level, noise_rate, weights), 3
        ranking = combine_continuous(
            scores, floors, level, k, gaps=gaps, unit=gap_unit, width=width
        )
        if ranking is not None:
            return ranking
        for each in drawn:
            each.refine(bits, _DIGITS)
    raise exhausted()


def _weighted(
    floors: Sequence[int], level: int, noise_rate: NoiseRate, weights: Weights
) -> list[int]:
    """Floors of noise + ln(weight) / nats, from the weights' ratios alone.

    The floor of a logarithm's enclosure lies less than two units below the logarithm.
    """
    precision, least = level + 128, []
    for ratio in weights.ratios:
        log = Interval.of(ratio, precision).log() / noise_rate.nats(precision)
        least.append(log.scaled(level)[0])
    return [
        floor + least[place] for floor, place in zip(floors, weights.which.tolist(), strict=True)
    ]


def _exponential_top(
    scores_on_grid: GridScores,
    k: int,
    noise_rate: NoiseRate,
    bits: Bits,
    gaps: bool,
    gap_unit: Fraction,
) -> Ranking:
    """Use the lattice of b-ths of a step: a unit of a/b steps and the scores lie on it."""
    finer = gap_unit.denominator
    noise = draw_exponential(
        len(scores_on_grid), NoiseRate(noise_rate.rate / finer, noise_rate.base), bits
    )
    scores = [finer * score for score in scores_on_grid.tolist()]
    return combine_exponential(scores, noise, k, gaps=gaps, unit=gap_unit.numerator)


def peeled_top_k(
    noise: str, scores_on_grid: GridScores, k: int, noise_rate: NoiseRate, bits: Bits
) -> Ranking:
    """Run k rounds, each with its own noise, on the candidates that remain."""
    remaining, chosen = list(range(len(scores_on_grid))), []
    for _ in range(k):
        winner = noisy_top_k(noise, scores_on_grid[remaining], 1, noise_rate, bits).indices[0]
        chosen.append(remaining.pop(winner))
    return Ranking(tuple(chosen), None)


def noisy_max_rows(
    noise: str,
    scores_on_grid: GridScores,
    noise_rate: NoiseRate,
    bits: Bits,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Return the winner of every row."""
    winners = (
        noisy_top_k(noise, row, 1, noise_rate, bits, weights=weights).indices[0]
        for row in scores_on_grid
    )
    return np.fromiter(winners, np.int64, len(scores_on_grid))
