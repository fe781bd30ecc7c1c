"""The table of the one-shot mechanisms, and what it says of a call's noise and of its guarantee.

    name                   noise        a draw promises   drawn               weights
    permute_and_flip       exponential  LaplaceDominated  anew for each of k  real
    exponential            Gumbel       BoundedRange      once                real
    exponential_base2      Gumbel       BoundedRange      once                rational
    one_shot_exponential   exponential  LaplaceDominated  once, k times wide  real
    laplace                Laplace      LaplaceDominated  once, k times wide  real

Gumbel noise drawn once is k exponential mechanisms, each on the candidates that remain (Durfee and
Rogers 2019): k draws.  Noise that is k times as wide is one draw in all (Ding et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from safeselect.accounting.calibration import Family
from safeselect.accounting.cost import PrivacyCost
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import describe
from safeselect.exact.rate import Decay
from safeselect.noise import Ranking
from safeselect.noise.arrays import Steps
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Guarantee,
    LaplaceDominated,
    PureDP,
)
from safeselect.randomness.bits import Bits
from safeselect.selection._engines import Engine

__all__ = [
    "MECHANISMS",
    "PEELED",
    "TABLE",
    "Calibration",
    "Mechanism",
    "Noise",
    "Peeled",
    "Row",
    "dyadic_decay",
    "one_draw",
    "read_choice",
    "unordered",
]

Noise = Literal["exponential", "laplace", "gumbel"]
Peeled = Literal["exponential", "exponential_base2", "permute_and_flip"]
Mechanism = Literal[
    "exponential", "exponential_base2", "permute_and_flip", "laplace", "one_shot_exponential"
]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
PEELED: tuple[Peeled, ...] = get_args(Peeled)
"""Those whose k draws are each on the candidates that remain."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism: the k candidates with the largest score + noise, best first.

    Attributes:
        noise: the law of the noise.
        promise: what one draw guarantees.
        anew: noise is drawn anew for each of the k, for the candidates that remain.
        wide: one draw in all, of noise that is k times as wide.
        rational: the weights are rational powers; see `dyadic_decay`.
    """

    noise: Noise
    promise: Family
    anew: bool = False
    wide: bool = False
    rational: bool = False

    def calibrate(
        self, mechanism: str, cost: PrivacyCost, range_in_steps: Fraction, k: int = 1, rows: int = 1
    ) -> Calibration:
        """The least noise that keeps the cost, for the k best in each of some rows.

        Raises:
            ParameterError: the cost allows no draw of a size that can be drawn.
        """
        draws = rows * (1 if self.wide else k)
        each = cost.per_draw(self.promise, draws)
        rate = each / (k * range_in_steps) if self.wide else each / range_in_steps
        decay = dyadic_decay(rate) if self.rational else _decay(rate)
        guarantee = cost.guarantee(self.promise, each, draws)
        return Calibration(mechanism, self, k, guarantee, self.promise(each), draws, decay)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A row of the table with its numbers, all of them public.

    Attributes:
        mechanism: name of the mechanism and version of its law.
        row: how it ranks.
        k: how many are chosen (in each row of scores).
        guarantee: what all draws cost together.
        each: what one draw costs.
        draws: how many there are.
        decay: of the noise, for each grid step.
    """

    mechanism: str
    row: Row
    k: int
    guarantee: Guarantee
    each: BoundedRange | LaplaceDominated | PureDP | ApproximateDP
    draws: int
    decay: Decay

    def rank(
        self, engine: Engine, scores: Steps, bits: Bits, *, gap_unit: Fraction | None = None
    ) -> Ranking:
        """Rank the k first by their noisy scores; with gaps, if a unit for them is given."""
        if self.row.anew:
            return engine.peeled_top_k(self.row.noise, scores, self.k, self.decay, bits)
        if gap_unit is None:
            return engine.noisy_top_k(self.row.noise, scores, self.k, self.decay, bits)
        return engine.noisy_top_k(
            self.row.noise, scores, self.k, self.decay, bits, gaps=True, gap_unit=gap_unit
        )


TABLE: dict[str, Row] = {
    "permute_and_flip": Row("exponential", LaplaceDominated, anew=True),
    "exponential": Row("gumbel", BoundedRange),
    "exponential_base2": Row("gumbel", BoundedRange, rational=True),
    "one_shot_exponential": Row("exponential", LaplaceDominated, wide=True),
    "laplace": Row("laplace", LaplaceDominated, wide=True),
}


def one_draw(noise: Noise) -> Row:
    """The row of one draw of this noise, released with its gaps: one draw for all k.

    With gaps even Gumbel noise is LaplaceDominated, and not BoundedRange (Ding et al. 2023).
    """
    return Row(noise, LaplaceDominated, wide=True)


def read_choice(value: object, name: str, choices: tuple[str, ...], more: str = "") -> None:
    """Check an argument that is one of some words.

    Raises:
        ParameterError: it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = (f"'{choice}'" for choice in choices)
        raise ParameterError(
            f"{name} must be {', '.join(others)} or {last}, got {describe(value)}{more}"
        )


@lru_cache(maxsize=256)
def _decay(rate: Fraction) -> Decay:
    return Decay(rate)


@lru_cache(maxsize=256)
def dyadic_decay(rate: Fraction) -> Decay:
    """The decay x / 2**64 per step with the smallest x such that it is at least exp(-rate).

    At least: a factor nearer to 1 means more noise, so rounding up is towards privacy.

    Raises:
        ParameterError: the rate is outside the permitted range (where exp(-rate) < 1 - 2**-41).
    """
    Decay(rate)
    precision = 128
    while True:
        factor = (-Interval.of(rate, precision)).exp()
        low, high = factor.scaled(64)
        # exp of a rational is never a multiple of 2**-64, so some precision tells which lie below.
        if high == low + 1:
            return Decay(Fraction(1), Fraction(high, 2**64))
        precision *= 2


def unordered(cost: PrivacyCost, size: int, k: int, range_in_steps: Fraction) -> Calibration:
    """The row "laplace" where the k best are released as a set.

    Raises:
        ParameterError: the mechanism is not proved to keep this cost.
    """
    guarantee, rate = cost.unordered(size, k, range_in_steps)
    row = TABLE["laplace"]
    return Calibration("top_k_laplace/1", row, k, guarantee, guarantee, 1, Decay(rate))
