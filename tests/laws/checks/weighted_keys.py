"""Keys by weights against their law, which is worked out here from the published formulas alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import erfc, isqrt, prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from checks.cells import Enclosure
from checks.finding import Check
from checks.releases import gate

from safeselect.mechanisms.keys import release_keys
from safeselect.mechanisms.weighted_keys import WeightedTerms

_COST: dict[str, Any] = {"epsilon": 1, "delta": "1/100", "max_partitions": 1}
_SIGMA = 2**13
_NEAR = Fraction(1, 1000)  # the sum over integers is an integral here, and the cost a float


def by_weights(sums: Any, **more: Any) -> Any:
    """A release of keys with these sums of weights."""
    rest = {name: more.pop(name, None) for name in ("source", "ledger")}
    terms = WeightedTerms.read(**{**_COST, **more})
    return release_keys(terms, sums, None, rest["source"], rest["ledger"])


def weighted_keys() -> Iterator[Check]:
    """Three keys of a release; two keys of one and one key of two."""
    yield Check("select_partitions_gaussian/1: few", "few", _few)
    yield Check("select_partitions_gaussian/1: pairs", "joint", _pairs)


def _few(every: int) -> None:
    count = 2000 // every
    sums = tuple(_threshold() + round(step * _SIGMA) for step in (-1, 0, 0.5))
    gate(Counter(_seen(sums) for _ in range(count)), count, _joint(sums))


def _pairs(every: int) -> None:
    count = 1500 // every
    sums = (_threshold(),) * 2
    found = [_seen(sums) for _ in range(2 * count)]
    gate(Counter(found), 2 * count, _joint(sums))
    pairs = [(one[0], other[0]) for one, other in zip(found[::2], found[1::2], strict=True)]
    gate(Counter(pairs), count, _joint(sums))


def _seen(sums: tuple[int, ...]) -> tuple[bool, ...]:
    found = by_weights(dict(enumerate(sums)))
    return tuple(str(key) in found.labels for key in range(len(sums)))


@cache
def _threshold() -> int:
    """One key of weight sqrt(V), V / (2 sigma**2) the zCDP that half of delta gives at epsilon."""
    part, excess = float(Fraction(_COST["delta"])) / 2, np.geomspace(1e-2, 1e3, 40_000)
    order = 1 + excess
    rest = excess * np.log(excess / order) - np.log(order) - np.log(part)
    rho = float(((_COST["epsilon"] - rest / excess) / order).max())
    return isqrt(int(2 * _SIGMA**2 * rho)) + round(NormalDist().inv_cdf(1 - part) * _SIGMA)


def _joint(sums: tuple[int, ...]) -> Enclosure:
    kept = [erfc((_threshold() - each) / _SIGMA / sqrt(2)) / 2 for each in sums]
    joint: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for shown in product((False, True), repeat=len(sums)):
        chance = Fraction(prod(k if s else 1 - k for k, s in zip(kept, shown, strict=True)))
        joint[shown] = max(chance - _NEAR, Fraction(0)), min(chance + _NEAR, Fraction(1))
    return joint
