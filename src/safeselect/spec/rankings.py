"""The mechanisms that choose candidates, as published, one value at a time.

Scores are integers, in grid steps.  rho is the factor of the noise rate: one grid step more makes a
candidate 1 / rho times as likely, and noise falls by rho a step.

Two ways to say each mechanism: by chances, as the papers introduce it (`permute_and_flip`,
`exponential_mechanism`), and as the largest of score + noise (`noisy_top_k`), which is what
`safeselect.engine` computes.  Tests compare the laws of both, and the engine with both.

- Exponential noise is its floor on the grid, a geometric variable, and a uniformly random ranking
  of all candidates, which decides ties.  The parts of the noise below the grid are independent and
  identically distributed, so only their order matters, and that order is uniform.
- Laplace and Gumbel noise is drawn to a finite depth and combined.  Where that does not determine
  the outcome, every candidate's noise is refined by further digits and combined again.

Reveals: running time and the number of random bits depend on the noise and on the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from operator import add

from safeselect.engine import Ranking
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.samplers import (
    LazyGumbel,
    LazyLaplace,
    bernoulli_enclosed,
    bernoulli_power,
    geometric,
    permutation,
)

_STEP = Fraction(1)
_CONTINUOUS: dict[str, type[LazyLaplace] | type[LazyGumbel]] = {
    "laplace": LazyLaplace,
    "gumbel": LazyGumbel,
}
_DIGITS = 8  # by which undecided noise is refined; each round makes a tie 2**-8 times as likely


def permute_and_flip(scores: Sequence[int], noise_rate: NoiseRate, bits: Bits) -> int:
    """Return the first candidate, in a random order, whose coin of chance rho**(best - score) is 1.

    Method: McKenna and Sheldon (2020), Algorithm 1.  The best candidate's coin is always 1.
    """
    best = max(scores)
    order = permutation(bits, len(scores))
    return next(i for i in order if bernoulli_power(bits, noise_rate, best - scores[i]))


def exponential_mechanism(
    scores: Sequence[int],
    noise_rate: NoiseRate,
    bits: Bits,
    weights: Sequence[Fraction] | None = None,
) -> int:
    """Return a candidate with probability proportional to its weight * rho**(best - score).

    Method: McSherry and Talwar (2007).  The candidates are asked in turn; each is taken with its
        share of all that were not asked before, a real number that is compared lazily.
    """
    best, heavy = max(scores), weights or [_STEP] * len(scores)

    def share(first: int, precision: int) -> Interval:
        chances = [
            noise_rate.power(best - score, 0, precision) * weight
            for score, weight in zip(scores[first:], heavy[first:], strict=True)
        ]
        return chances[0] / reduce(add, chances)

    return next(i for i in range(len(scores)) if bernoulli_enclosed(bits, partial(share, i)))


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
    scores: Sequence[int],
    k: int,
    noise_rate: NoiseRate,
    bits: Bits,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
    weights: Sequence[Fraction] | None = None,
) -> Ranking:
    """Return the k largest of score + noise drawn once, with gaps in units of `gap_unit` steps.

    Exponential noise with k = 1 is permute-and-flip (Ding et al. 2021); Gumbel noise is the
    exponential mechanism, peeled k times (Durfee and Rogers 2019).  A weight adds its logarithm to
    the Gumbel noise.
    """
    if noise == "exponential":
        # On the lattice of b-ths of a step, on which a unit of a/b steps and the scores lie.
        finer = gap_unit.denominator
        fine = NoiseRate(noise_rate.rate / finer, noise_rate.base)
        drawn = draw_exponential(len(scores), fine, bits)
        steps = [finer * score for score in scores]
        return combine_exponential(steps, drawn, k, gaps=gaps, unit=gap_unit.numerator)
    noises = [_CONTINUOUS[noise](bits, noise_rate) for _ in scores]
    for _ in rounds(_DIGITS):
        level = noises[0].level
        floors, width = [each.floor for each in noises], 1
        if weights is not None:
            logs = _weight_floors(weights, level, noise_rate)
            floors, width = list(map(add, floors, logs)), 3
        ranking = combine_continuous(
            scores, floors, level, k, gaps=gaps, unit=gap_unit, width=width
        )
        if ranking is not None:
            return ranking
        for each in noises:
            each.refine(bits, _DIGITS)
    raise exhausted()


def _weight_floors(weights: Sequence[Fraction], level: int, noise_rate: NoiseRate) -> list[int]:
    """The floor of an enclosure of ln(weight) / nats, in units of 2**-level: less than 2 below."""
    precision = level + 128
    nats = noise_rate.nats(precision)
    return [(Interval.of(each, precision).log() / nats).scaled(level)[0] for each in weights]


def peeled_top_k(
    noise: str, scores: Sequence[int], k: int, noise_rate: NoiseRate, bits: Bits
) -> Ranking:
    """Run k rounds, each with its own noise, on the candidates that remain."""
    remaining, chosen = list(range(len(scores))), []
    for _ in range(k):
        left = [scores[i] for i in remaining]
        winner = noisy_top_k(noise, left, 1, noise_rate, bits).indices[0]
        chosen.append(remaining.pop(winner))
    return Ranking(tuple(chosen), None)
