"""The scalar tier by cells of noise; see `tiers`."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

import pytest
from exact_pmf import Choices, Law, choice_tree, combined, restarted
from sampler_laws import ChoiceCoin, digit_mass, exp_minus, scripted
from tiers import ONE, RANKS, Cells, Noise, Round, agreed, first_word

from safeselect.engine import Ranking
from safeselect.errors import SourceError
from safeselect.exact.interval import NoiseRate
from safeselect.samplers import (
    LazyGumbel,
    LazyLaplace,
    geometric_digits,
    geometric_exp,
    remainder_attempt,
)
from safeselect.spec import rankings as _reference

GEOMETRIC = sys.modules["safeselect.samplers"]
LAZY = sys.modules["safeselect.samplers"]


@lru_cache(maxsize=64)
def geometric_law(noise_rate: NoiseRate) -> Law:
    """The law of the sampler `geometric`: its loops run on exact choices."""
    with pytest.MonkeyPatch.context() as patch:
        if noise_rate.base is not None:
            coins = [
                ChoiceCoin(c.enclose(96).fractions())
                for c in GEOMETRIC._digit_coins(noise_rate, 64)
            ]
            patch.setattr(GEOMETRIC, "_digit_coins", lambda *_: coins)
            leaves = int(45 / noise_rate.nats(64).fractions()[0])
            return choice_tree(lambda c: geometric_digits(c, noise_rate), max_leaves=leaves)
        s, t = noise_rate.rate.numerator, noise_rate.rate.denominator
        patch.setattr(GEOMETRIC, "uniform_below", lambda choices, n: choices.below(n))
        patch.setattr(
            GEOMETRIC,
            "bernoulli_exp",
            lambda choices, a, b: ChoiceCoin(exp_minus(Fraction(a, b))).toss(choices),
        )
        remainder = restarted(choice_tree(lambda c: remainder_attempt(c, t), max_leaves=4 * t))
        quotient = choice_tree(lambda c: geometric_exp(c, 1, 1), max_leaves=45)
        return combined(remainder, quotient, lambda u, v: (u + t * v) // s)


@lru_cache(maxsize=64)
def laplace_law(noise_rate: NoiseRate, level: int) -> Law:
    """The law of the floor of `LazyLaplace`: its assembly of sign, integer part and digits."""
    integers = geometric_law(noise_rate)
    values, weights = list(integers.lower), [*integers.lower.values(), integers.unfinished]

    def integer_part(choices: Choices, *_: object, step: int) -> int:
        return values[choices.choose(weights)]  # an IndexError where the law is not known

    def run(choices: Choices) -> int | None:
        try:
            x = LazyLaplace(choices, noise_rate)
        except IndexError:
            return None
        x.refine(choices, level)
        return x.floor

    with pytest.MonkeyPatch.context() as patch:
        coins = [ChoiceCoin(digit_mass(noise_rate, 1, j + 1)) for j in range(level)]
        patch.setattr(LAZY, "geometric", integer_part)
        patch.setattr(LAZY, "_fraction_coin", lambda _, level, step: coins[level - 1])
        return choice_tree(run, max_leaves=4 * Noise("laplace", noise_rate, level).cells.stop)


@lru_cache(maxsize=1 << 14)
def gumbel_end(noise: Noise, place: int) -> int:
    """The first word of U with which `LazyGumbel` is not known to lie below this place."""
    return first_word(lambda word: gumbel_floor(noise, word) < place * noise.unit)


def gumbel_floor(noise: Noise, word: int) -> float:
    try:
        bits = scripted(word, 0)
        x = LazyGumbel(bits, noise.noise_rate, step=128)
        x.refine(bits, noise.level)
    except SourceError:
        return math.inf
    return x.floor


class Scalar:
    """The scalar tier."""

    def masses(self, noise: Noise) -> Mapping[int, int]:
        if noise.name == "gumbel":
            # U rises with the noise.  A little beyond an end, the floor is known to be as large.
            ends = [gumbel_end(noise, c) for c in range(noise.cells.start, noise.cells.stop + 1)]
            return {
                cell: max(high - low - 2, 0)
                for cell, low, high in zip(noise.cells, ends, ends[1:], strict=False)
            }
        law = geometric_law(noise.noise_rate)
        if noise.name == "laplace":
            law = laplace_law(noise.noise_rate, noise.level)
        found: dict[int, Fraction] = {}
        for floor, mass in law.lower.items():
            if isinstance(floor, int):
                found[floor // noise.unit] = found.get(floor // noise.unit, Fraction(0)) + mass
        return {cell: int(found.get(cell, Fraction(0)) * ONE) for cell in noise.cells}

    def outcome(
        self, noise: Noise, scores: Sequence[int], cells: Cells, ranks: Cells, k: int, gaps: bool
    ) -> Ranking | None:
        """As above; a corner is the first or the last of the floors that make up a cell."""
        steps = [score * noise.unit for score in scores]
        if ranks:
            parts = (rank * noise.unit // RANKS for rank in ranks)
            floors = tuple(c * noise.unit + part for c, part in zip(cells, parts, strict=True))
            drawn = _reference.ExponentialNoise(floors, ranks)
            return _reference.combine_exponential(steps, drawn, k, gaps=gaps)
        ends = [sorted({c * noise.unit, (c + 1) * noise.unit - 1}) for c in cells]
        return agreed(
            _reference.combine_continuous(steps, corner, noise.level, k, gaps=gaps)
            for corner in product(*ends)
        )

    def peeled(self, noise: Noise, scores: Sequence[int], rounds: Sequence[Round]) -> Ranking:
        drawn = iter(_reference.ExponentialNoise(*each) for each in rounds)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_reference, "draw_exponential", lambda *_: next(drawn))
            return _reference.peeled_top_k(
                "exponential", scores, len(rounds), noise.noise_rate, None
            )
