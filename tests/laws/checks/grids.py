"""Quantiles of made-up values against their law over the grid, by both ways to count ties."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import exp
from typing import Any

from checks.finding import Check
from checks.others import Chances, follow, independent

from safeselect.mechanisms.quantiles import quantile, quantiles

_VALUES = (1, 1, 1, 4, 4, 7)
_LAST = 8
_GRID = {"lowest": 0, "step": 1}
_SHARE = Fraction(2, 3)
_SEVERAL = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_FEW = (0,) * 12 + (1,) * 16 + (2,) * 12
_COSTS = (Fraction(8), Fraction(1, 2))
"""At the first, other scores would give other points; at the second, another rate other chances."""
_TIES = ("below", "interval")
_FINE = {"below": 1, "interval": 16}
"""How many places of its point a value has, where there are several quantiles."""
_NEIGHBOURS = ("add_remove", "replace_one")


def grids() -> Iterator[Check]:
    """One quantile and several, for each way to count ties."""
    for ties, several in product(_TIES, (False, True)):
        name = f"quantile{'s' * several}{'_below' * (ties == 'below')}/1"
        yield Check(f"{name}: few", "few", partial(_few, ties, several))
        yield Check(f"{name}: pairs", "joint", partial(_pairs, ties, several))


def _release(ties: str, several: bool, **more: Any) -> Any:
    given: dict[str, Any] = {**_GRID, "highest": _LAST, "epsilon": 1, "ties": ties, **more}
    if several:
        return quantiles(_FEW, quantiles=_SEVERAL, **given)
    return quantile(_VALUES, quantile=_SHARE, **given)


def _few(ties: str, several: bool, every: int) -> None:
    count = 3000 if every == 1 else 50
    for neighbours, epsilon in product(_NEIGHBOURS, _COSTS):
        found = _found(ties, several, neighbours, count, epsilon)
        follow(found, _law(ties, several, neighbours, epsilon))


def _pairs(ties: str, several: bool, every: int) -> None:
    count = 2000 if every == 1 else 50
    middle = 1 if several else 0
    law: dict[Hashable, float] = {}
    for points, chance in _law(ties, several, "add_remove", Fraction(1)).items():
        point = points[middle]  # type: ignore[index]
        law[point] = law.get(point, 0.0) + chance
    found = [
        points[middle] for points in _found(ties, several, "add_remove", 2 * count, Fraction(1))
    ]
    independent(found, law)


def _found(ties: str, several: bool, neighbours: str, count: int, epsilon: Fraction) -> list[Any]:
    last = 2 if several else _LAST
    given: dict[str, Any] = {"neighbours": neighbours, "highest": last, "epsilon": epsilon}
    releases = (_release(ties, several, **given) for _ in range(count))
    return [release.values for release in releases]


@cache
def _law(ties: str, several: bool, neighbours: str, epsilon: Fraction) -> Chances:
    """The law of the values, by the published range and the score over points."""
    replaced = neighbours == "replace_one"
    if not several:
        spread = 2.0 if replaced else 2.0 * max(_SHARE, 1 - _SHARE)
        one = _chances(_shares(_VALUES, 1), 0, _LAST, float(_SHARE), float(epsilon) / spread, ties)
        return {(point,): chance for point, chance in enumerate(one)}
    cost = float(epsilon) * (0.25 if replaced else 0.5)  # of a level, or half of it
    return _of_three(_FEW, 2, cost, ties, _FINE[ties])


def _of_three(
    values: Sequence[int], last: int, cost: float, ties: str, fine: int
) -> dict[Hashable, float]:
    """The joint law of quartiles: the median splits the shares, and each side has its own."""
    low, middle, high = (float(each) for each in _SEVERAL)
    shares, end = _shares(values, fine), (last + 1) * fine - 1
    law: dict[Hashable, float] = {}

    def rate(share: float) -> float:
        return cost / (2 * max(share, 1 - share) * fine)

    whole = _chances(shares, 0, end, middle, rate(middle), ties)
    for cut, chance in enumerate(whole):
        below, above = ([x for x in shares if x < cut], [x for x in shares if x >= cut])
        one, two = low / middle, (high - middle) / (1 - middle)
        lower = _chances(below, 0, cut, one, rate(one), ties)
        upper = _chances(above, cut, end, two, rate(two), ties)
        for p, q in product(range(cut + 1), range(cut, end + 1)):
            key = p // fine, cut // fine, q // fine
            law[key] = law.get(key, 0.0) + chance * lower[p] * upper[q - cut]
    return law


def _shares(values: Sequence[int], fine: int) -> list[int]:
    return sorted(value * fine + place for value in values for place in range(fine))


def _chances(
    shares: Sequence[int], first: int, last: int, share: float, rate: float, ties: str
) -> list[float]:
    """The exponential mechanism over the points first .. last, by its definition."""
    wanted, away = share * len(shares), []
    for point in range(first, last + 1):
        low, high = bisect_left(shares, point), bisect_right(shares, point)
        away.append(abs(low - wanted) if ties == "below" else max(low - wanted, wanted - high))
    heavy = [exp(-rate * each) for each in away]
    total = sum(heavy)
    return [each / total for each in heavy]
