"""The table of the one-shot mechanisms: it fixes a call's noise and its guarantee.

    name                   noise        a draw promises   drawn               weights
    permute_and_flip       exponential  LaplaceDominated  anew for each of k  real
    exponential            Gumbel       BoundedRange      once                real
    exponential_base2      Gumbel       BoundedRange      once                rational
    one_shot_exponential   exponential  LaplaceDominated  once, k times wide  real
    laplace                Laplace      LaplaceDominated  once, k times wide  real

Gumbel noise drawn once is k exponential mechanisms, each on the candidates that remain (Durfee and
Rogers 2019): k draws.  Noise that is k times as wide is one draw in all (Ding et al. 2023).

Two engines can follow it, with the same laws.  The array engine (`safeselect.engine`) is the
default.  The scalar tier (`engine="reference"`) is for audit and tests: the published algorithms
one value at a time, slower, with early exits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from typing import Literal, Protocol, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from safeselect import engine as array_engine
from safeselect.accounting.cost import PrivacyCost
from safeselect.engine import Ranking
from safeselect.engine.arrays import GridScores
from safeselect.engine.draws import Weights
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval
from safeselect.exact.parameters import describe
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Family,
    Guarantee,
    LaplaceDominated,
    PureDP,
)
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import require_production

Tier = TypeVar("Tier")
Noise = Literal["exponential", "laplace", "gumbel"]
# Mechanisms that draw k times, each time from the candidates that remain.
Peeled = Literal["exponential", "exponential_base2", "permute_and_flip"]
Mechanism = Literal[
    "exponential", "exponential_base2", "permute_and_flip", "laplace", "one_shot_exponential"
]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)

_REFERENCE = "safeselect.spec.rankings"  # imported by name, and only when asked for


class Engine(Protocol):
    """Ways to rank n scores in grid steps by score + noise, the k best first.

    `noise` is "exponential", "laplace" or "gumbel".
    """

    def noisy_top_k(
        self,
        noise: str,
        scores_on_grid: GridScores,
        k: int,
        noise_rate: NoiseRate,
        bits: Bits,
        *,
        gaps: bool = False,
        gap_unit: Fraction = ...,
        weights: Weights | None = None,
    ) -> Ranking:
        """One draw of noise for each score."""

    def peeled_top_k(
        self, noise: str, scores_on_grid: GridScores, k: int, noise_rate: NoiseRate, bits: Bits
    ) -> Ranking:
        """k rounds: noise drawn anew for the scores that remain."""

    def noisy_max_rows(
        self,
        noise: str,
        scores_on_grid: GridScores,
        noise_rate: NoiseRate,
        bits: Bits,
        weights: Weights | None = None,
    ) -> NDArray[np.int64]:
        """One winner for each row of scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One mechanism: the k candidates with the largest score + noise, best first.

    Attributes:
        noise: the law of the noise.
        promise: what one draw guarantees.
        anew: noise is drawn anew for each of the k, for the candidates that remain.
        wide: one draw in all, of noise that is k times as wide.
        rational: the weights are rational powers; see `dyadic_rate`.
    """

    noise: Noise
    promise: Family
    anew: bool = False
    wide: bool = False
    rational: bool = False

    def calibrate(
        self, mechanism: str, cost: PrivacyCost, range_in_steps: Fraction, k: int, rows: int = 1
    ) -> Calibration:
        """The least noise that keeps the cost, for the k best in each of some rows.

        Raises:
            ParameterError: the cost allows no draw of a size that can be drawn.
        """
        draws = rows * (1 if self.wide else k)
        each = cost.per_draw(self.promise, draws)
        rate = each / (k * range_in_steps) if self.wide else each / range_in_steps
        noise_rate = dyadic_rate(rate) if self.rational else NoiseRate(rate)
        guarantee = cost.guarantee(self.promise, each, draws)
        return Calibration(mechanism, self, k, guarantee, self.promise(each), draws, noise_rate)


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
        noise_rate: the noise rate, for each grid step.
    """

    mechanism: str
    row: Row
    k: int
    guarantee: Guarantee
    each: BoundedRange | LaplaceDominated | PureDP | ApproximateDP
    draws: int
    noise_rate: NoiseRate

    def rank(
        self,
        engine: Engine,
        scores: GridScores,
        bits: Bits,
        gap_unit: Fraction | None = None,
        weights: Weights | None = None,
    ) -> Ranking:
        """Rank the k first by their noisy scores; with gaps, if a unit for them is given."""
        taken = self.row.noise, scores, self.k, self.noise_rate, bits
        if self.row.anew and self.k > 1:  # of one, the noise is drawn once either way
            return engine.peeled_top_k(*taken)
        if gap_unit is None:
            return engine.noisy_top_k(*taken, weights=weights)
        return engine.noisy_top_k(*taken, gaps=True, gap_unit=gap_unit)


TABLE: dict[str, Row] = {
    "permute_and_flip": Row("exponential", LaplaceDominated, anew=True),
    "exponential": Row("gumbel", BoundedRange),
    "exponential_base2": Row("gumbel", BoundedRange, rational=True),
    "one_shot_exponential": Row("exponential", LaplaceDominated, wide=True),
    "laplace": Row("laplace", LaplaceDominated, wide=True),
}


@cache
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
def dyadic_rate(rate: Fraction) -> NoiseRate:
    """The noise rate with rho = x / 2**64 per step, for the smallest x with rho >= exp(-rate).

    A factor nearer to 1 means more noise, so rounding rho up is towards privacy.

    Raises:
        ParameterError: the rate is outside the permitted range (where exp(-rate) < 1 - 2**-41).
    """
    NoiseRate(rate)
    precision = 128
    while True:
        factor = (-Interval.of(rate, precision)).exp()
        low, high = factor.scaled(64)
        # exp of a rational is never a multiple of 2**-64, so some precision tells which lie below.
        if high == low + 1:
            return NoiseRate(Fraction(1), Fraction(high, 2**64))
        precision *= 2


def choose_engine(name: object) -> Engine:
    """The engine of that name for rankings; see `named_engine`."""
    return named_engine(name, array_engine, _REFERENCE)


def named_engine(name: object, array: Tier, reference: str) -> Tier:
    """The functions of the array engine or of the scalar tier; None means the array engine.

    Args:
        name: what a caller gave as `engine`.
        array: the functions of the array engine.
        reference: the module that has the same functions in the scalar tier.

    Raises:
        ParameterError: another name, or "reference" where only production is allowed.
    """
    if name is None or (isinstance(name, str) and name == "array"):
        return array
    if not isinstance(name, str) or name != "reference":
        raise ParameterError(f"engine must be 'array' or 'reference', got {describe(name)}")
    if require_production():
        raise ParameterError(
            "engine='reference' is for audit and tests: its running time depends on the scores; "
            "SAFESELECT_REQUIRE_PRODUCTION forbids it"
        )
    return cast(Tier, import_module(reference))
