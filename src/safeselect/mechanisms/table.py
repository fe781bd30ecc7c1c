"""The laws of the one-shot mechanisms, one row each: a row fixes a call's noise and its guarantee.

A mechanism chooses the k candidates with the largest score + noise, best first.  Its noise is drawn

    "again"  anew for each of the k, for the candidates that remain: k draws;
    "each"   once; of Gumbel noise that is k exponential mechanisms, each on the candidates that
             remain (Durfee and Rogers 2019): k draws;
    "one"    once, k times as wide: one draw in all, which the gaps belong to (Ding et al. 2023).

With its gap even Gumbel noise is LaplaceDominated, and not BoundedRange (Ding et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from safeselect import engine
from safeselect.accounting.cost import PrivacyCost
from safeselect.engine import Ranking
from safeselect.engine.draws import Weights
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.exact.parameters import exact_text
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    Family,
    Guarantee,
    LaplaceDominated,
    PureDP,
)
from safeselect.randomness.bits import Bits
from safeselect.scores.reading import GridScores

Noise = Literal["exponential", "laplace", "gumbel"]
GapNoise = Literal["exponential", "laplace"]
Peeled = Literal["exponential", "exponential_base2", "permute_and_flip"]
Ordered = Peeled | Literal["one_shot_exponential"]
Mechanism = Ordered | Literal["laplace"]
MECHANISMS: tuple[Mechanism, ...] = (
    *("exponential", "exponential_base2", "permute_and_flip", "laplace"),
    "one_shot_exponential",
)
"""What `top_k` takes as `mechanism`."""

ORDERED = tuple(name for name in MECHANISMS if name != "laplace")
"""Those that put the k candidates in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """One mechanism.

    Attributes:
        noise: the law of the noise.
        promise: what one draw guarantees.
        drawn: how often the noise is drawn; see above.
        rational: the weights are rational powers; see `dyadic_rate`.
        chosen: instead of a noise, the function of a caller that ranks; see `StatedLaw`.
    """

    noise: Noise | Literal["stated"]
    promise: Family
    drawn: Literal["again", "each", "one"]
    rational: bool = False
    chosen: Callable[[GridScores, int, NoiseRate, Bits], Ranking] | None = None


LAWS: dict[str, Law] = {
    "permute_and_flip": Law("exponential", LaplaceDominated, "again"),
    "permute_and_flip_with_gap": Law("exponential", LaplaceDominated, "one"),
    "exponential_mechanism": Law("gumbel", BoundedRange, "each"),
    "exponential_mechanism_with_gap": Law("gumbel", LaplaceDominated, "one"),
    "exponential_mechanism_base2": Law("gumbel", BoundedRange, "each", rational=True),
    "report_noisy_max_exponential": Law("exponential", LaplaceDominated, "one"),
    "report_noisy_max_with_gap_exponential": Law("exponential", LaplaceDominated, "one"),
    "report_noisy_max_laplace": Law("laplace", LaplaceDominated, "one"),
    "report_noisy_max_with_gap_laplace": Law("laplace", LaplaceDominated, "one"),
    "report_noisy_max_gumbel": Law("gumbel", BoundedRange, "each"),
    "report_noisy_max_with_gap_gumbel": Law("gumbel", LaplaceDominated, "one"),
    "top_k_one_shot_exponential": Law("exponential", LaplaceDominated, "one"),
    "top_k_exponential": Law("gumbel", BoundedRange, "each"),
    "top_k_exponential_base2": Law("gumbel", BoundedRange, "each", rational=True),
    "top_k_permute_and_flip": Law("exponential", LaplaceDominated, "again"),
    "top_k_laplace": Law("laplace", LaplaceDominated, "one"),
    "top_k_with_gaps_exponential": Law("exponential", LaplaceDominated, "one"),
    "top_k_with_gaps_laplace": Law("laplace", LaplaceDominated, "one"),
    "top_k_above_exponential": Law("exponential", LaplaceDominated, "one"),
    "top_k_above_laplace": Law("laplace", LaplaceDominated, "one"),
    "select_many_permute_and_flip": Law("exponential", LaplaceDominated, "again"),
    "select_many_exponential": Law("gumbel", BoundedRange, "each"),
    "select_many_exponential_base2": Law("gumbel", BoundedRange, "each", rational=True),
    "top_k_many_permute_and_flip": Law("exponential", LaplaceDominated, "again"),
    "top_k_many_exponential": Law("gumbel", BoundedRange, "each"),
    "top_k_many_exponential_base2": Law("gumbel", BoundedRange, "each", rational=True),
}
"""All are in their first version: a release of the first is "permute_and_flip/1"."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A law with the numbers of a call, all of them public.

    Attributes:
        mechanism: name of the mechanism, with the version of its law.
        law: how it ranks.
        k: how many are chosen (in each row of scores).
        guarantee: what all draws cost together.
        each: what one draw costs.
        draws: how many there are.
        noise_rate: the noise rate, for each grid step.
        stated: the same for readers, as a parameter: "noise_rate", per score unit, or "factor".
    """

    mechanism: str
    law: Law
    k: int
    guarantee: Guarantee
    each: BoundedRange | LaplaceDominated | PureDP | ApproximateDP
    draws: int
    noise_rate: NoiseRate
    stated: Mapping[str, str]

    def rank(
        self,
        scores: GridScores,
        bits: Bits,
        gap_unit: Fraction | None = None,
        weights: Weights | None = None,
    ) -> Ranking:
        """Rank the k first by their noisy scores; with gaps, if a unit for them is given."""
        if self.law.chosen is not None:
            return self.law.chosen(scores, self.k, self.noise_rate, bits)
        taken = self.law.noise, scores, self.k, self.noise_rate, bits
        if self.law.drawn == "again" and self.k > 1:  # of one, the noise is drawn once either way
            return engine.peeled_top_k(*taken)
        if gap_unit is None:
            return engine.noisy_top_k(*taken, weights=weights)
        return engine.noisy_top_k(*taken, gaps=True, gap_unit=gap_unit)


class Planned:
    """A mechanism that is no row of this table and plans its own draw: a `StatedLaw`."""

    def planned(self, cost: PrivacyCost, range_: Fraction, step: Fraction, k: int) -> Calibration:
        """The noise of one call; the range is in steps of the grid."""
        raise NotImplementedError


@lru_cache(maxsize=256)  # of public numbers alone
def calibrate(
    name: str,
    cost: PrivacyCost,
    range_in_steps: Fraction,
    step: Fraction,
    k: int = 1,
    rows: int = 1,
) -> Calibration:
    """The least noise of this law that keeps the cost, for the k best in each of some rows.

    Args:
        range_in_steps: the range of the change of the scores, in steps of their grid.
        step: of the grid, in score units.

    Raises:
        ParameterError: the cost allows no draw of a size that can be drawn.
    """
    law = LAWS[name]
    wide = k if law.drawn == "one" else 1
    draws = rows * k // wide
    each = cost.per_draw(law.promise, draws)
    rate = each / (wide * range_in_steps)
    noise_rate = dyadic_rate(rate) if law.rational else NoiseRate(rate)
    guarantee = cost.guarantee(law.promise, each, draws)
    said = stated(noise_rate, step)
    return Calibration(f"{name}/1", law, k, guarantee, law.promise(each), draws, noise_rate, said)


def one_draw(
    name: str, k: int, cost: BoundedRange | ApproximateDP, noise_rate: NoiseRate, step: Fraction
) -> Calibration:
    """The noise of this law, drawn once at this rate, which costs so much."""
    said = stated(noise_rate, step)
    return Calibration(f"{name}/1", LAWS[name], k, cost, cost, 1, noise_rate, said)


def stated(noise_rate: NoiseRate, step: Fraction) -> dict[str, str]:
    """A noise rate per step of this size as a public parameter of a release."""
    if noise_rate.base is not None:
        return {"factor": exact_text(noise_rate.base)}
    return {"noise_rate": exact_text(noise_rate.rate / step)}


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
