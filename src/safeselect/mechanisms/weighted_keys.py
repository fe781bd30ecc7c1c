"""Keys by weights: for people who hold many keys.

A user counts in each of its m keys with the weight floor(sqrt(V / m)), so that the squares of its
weights add up to V at most, however many keys it has.  A key is kept if the sum of its weights plus
discrete Gaussian noise reaches a threshold.  The threshold hides the keys that one user alone
holds, up to the release's own delta, and the noise hides a user's part in all others.

Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin (2020) for weights of a bounded norm;
`docs/mathematics.md`, Theorem 19.4, for integers and the own delta.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import isqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.gaussian import DiscreteGaussian, draw_symmetric
from safeselect.errors import ParameterError
from safeselect.exact.interval import Interval, above_zero
from safeselect.exact.parameters import exact_text, integer
from safeselect.mechanisms.unknown import read_total, rho_within
from safeselect.promises.guarantees import ApproximateDP, ZeroConcentratedDP
from safeselect.randomness.bits import Bits
from safeselect.release.call import Charge

KeyNoise = Literal["table", "gaussian"]
"""How keys are decided: by the table of `select_partitions`, or by weights with Gaussian noise."""

SIGMA_SQUARED = 2**26
"""Of the noise of every release: the unit of the weights follows from the cost instead."""

_NOISE = DiscreteGaussian(Fraction(SIGMA_SQUARED))
_MOST_SQUARED = 2**50  # so that an engine finds weights in doubles
_MOST_KEYS = 2**20
_PLACES = 64  # binary places of a tail beyond those of the smallest own delta of one key


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """The public parameters of keys by weights.

    Attributes:
        total: what the release costs.
        max_partitions: in how many keys one user counts at most.
        squared: V, the most that the squares of one user's weights add up to.
        threshold: a key is kept if its weights and its noise add up to this or more.
        own_delta: the probability, rounded up, that a key passes which one user alone holds.
    """

    total: ApproximateDP
    max_partitions: int
    squared: int
    threshold: int
    own_delta: Fraction
    pre_threshold = 1
    with_counts = False

    @classmethod
    def read(cls, epsilon: object, delta: object, max_partitions: object) -> WeightedTerms:
        """Read the parameters, and find the weights and the threshold.

        Raises:
            ParameterError: one of them is missing or wrong, or a weight would be 0.
        """
        most = integer(max_partitions, "max_partitions", minimum=1, maximum=_MOST_KEYS)
        return _planned(read_total(epsilon, delta), most)

    def draw(self, size: int, bits: Bits) -> NDArray[np.int64]:
        """Draw the noise of so many keys."""
        return draw_symmetric(size, _NOISE, bits, tabled=_NOISE.sigma_squared)

    def decided(
        self, sums: NDArray[np.int64], noise: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which keys are kept at these sums of weights and this noise; and their noisy sums."""
        noisy = sums + noise
        return noisy >= self.threshold, noisy

    def needed(self, chance: Fraction) -> int:
        """The least sum of weights with which a key is kept with this probability, 1/2 or more."""
        # P(Z >= -more) = 1 - P(Z >= more + 1).
        return self.threshold + bisect_left(
            range(self.threshold), True, key=lambda more: _tail(more + 1, 2 * _PLACES) <= 1 - chance
        )

    def charge(self, name: str) -> Charge:
        """What a ledger is told about a selection of this name."""
        shared = ZeroConcentratedDP(Fraction(self.squared, 2 * SIGMA_SQUARED))
        lone = ApproximateDP(Fraction(0), self.own_delta)
        parameters = {
            "max_partitions": str(self.max_partitions),
            "sensitivity_l2_squared": str(self.squared),
            "sigma_squared": exact_text(_NOISE.sigma_squared),
            "threshold": str(self.threshold),
        }
        return Charge(f"{name}_gaussian/1", self.total, ((shared, 1), (lone, 1)), parameters)


def weights(squared: int, most: int) -> Iterator[tuple[int, int]]:
    """Each weight of a user with up to `most` keys, and the most keys that have this weight."""
    keys = 0
    while keys < most:
        weight = isqrt(squared // (keys + 1))
        keys = min(most, squared // weight**2)
        yield weight, keys


@lru_cache(maxsize=64)
def _planned(total: ApproximateDP, most: int) -> WeightedTerms:
    """The largest weights that half of delta allows, and the least threshold for the other half."""
    part = total.delta / 2
    squared = min(_MOST_SQUARED, int(2 * SIGMA_SQUARED * rho_within(total.epsilon, part)))
    if squared < most:
        raise ParameterError(
            f"max_partitions must be at most {squared} with noise='gaussian' at this cost; use a "
            "larger epsilon or a smaller max_partitions"
            if squared
            else "epsilon is too small for noise='gaussian'; use a larger epsilon"
        )
    places = _PLACES * (2 + (most / part).__ceil__().bit_length() // _PLACES)
    every = [*weights(squared, most)]

    def own_delta(threshold: int) -> Fraction:
        return max(_passed(threshold - weight, keys, places) for weight, keys in every)

    def hides(threshold: int) -> bool:
        return all(_passed(threshold - weight, keys, places) <= part for weight, keys in every)

    least = isqrt(squared) + 1
    high = next(least << power for power in count() if hides(least << power))
    found = bisect_left(range(high), True, lo=least, key=hides)
    return WeightedTerms(total, most, squared, found, own_delta(found))


def _passed(noise: int, keys: int, places: int) -> Fraction:
    """The probability that one of so many keys has so much noise or more; rounded up."""
    stays = 1 - _tail(noise, places)
    return above_zero(lambda bits: -(Interval.of(stays, bits).log() * keys).expm1())


def _tail(noise: int, places: int) -> Fraction:
    """P(Z >= noise) for noise >= 1, rounded up to so many binary places."""
    return Fraction(_NOISE.threshold(noise, places)[1], 2 << places)
