"""Keys by weights against their law, which is worked out here from the published formulas alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import erfc, isqrt, prod, sqrt
from statistics import NormalDist

import numpy as np
from checks.cells import Enclosure
from checks.finding import Check
from checks.releases import gate

from safeselect.mechanisms.keys import release_keys
from safeselect.mechanisms.weighted_keys import WeightedTerms

_COST = 1, "1/100", 1  # epsilon, delta, and keys of a user
_SIGMA = 2**13
_NEAR = Fraction(1, 1000)  # the sum over integers is an integral here, and the cost a float


def weighted_keys() -> Iterator[Check]:
    """Three keys of a release; two keys of one and one key of two."""
    yield Check("select_partitions_gaussian/1: few", "few", lambda every: _seen(2000 // every))
    yield Check("select_partitions_gaussian/1: pairs", "joint", _pairs)


def _seen(count: int) -> list[tuple[bool, ...]]:
    """Which keys are kept in so many releases, compared with the law of all three."""
    sums = [_threshold() + round(step * _SIGMA) for step in (-1, 0, 0.5)]
    found = []
    for _ in range(count):
        kept = release_keys(
            WeightedTerms.read(*_COST), dict(enumerate(sums)), None, None, None
        ).labels
        found.append(tuple(str(key) in kept for key in range(3)))
    gate(Counter(found), count, _joint(sums))
    return found


def _pairs(every: int) -> None:
    count = 1500 // every
    found = _seen(2 * count)
    pairs = [(one[1], other[1]) for one, other in zip(found[::2], found[1::2], strict=True)]
    gate(Counter(pairs), count, _joint([_threshold()] * 2))


@cache
def _threshold() -> int:
    """One key of weight sqrt(V), V / (2 sigma**2) the zCDP that half of delta gives at epsilon."""
    part, excess = 1 / 200, np.geomspace(1e-2, 1e3, 40_000)
    order = 1 + excess
    rest = excess * np.log(excess / order) - np.log(order) - np.log(part)
    rho = float(((1 - rest / excess) / order).max())
    return isqrt(int(2 * _SIGMA**2 * rho)) + round(NormalDist().inv_cdf(1 - part) * _SIGMA)


def _joint(sums: list[int]) -> Enclosure:
    kept = [erfc((_threshold() - each) / _SIGMA / sqrt(2)) / 2 for each in sums]
    joint: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for shown in product((False, True), repeat=len(sums)):
        chance = Fraction(prod(k if s else 1 - k for k, s in zip(kept, shown, strict=True)))
        joint[shown] = max(chance - _NEAR, Fraction(0)), min(chance + _NEAR, Fraction(1))
    return joint
