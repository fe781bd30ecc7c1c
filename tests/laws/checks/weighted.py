"""Releases with public weights: each mechanism that takes them, against its law."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import exp
from typing import Any

from checks.finding import Check, Refuted
from checks.others import Chances, follow, independent

_SCORES = (1, 0, 0)
_WEIGHTS = (1, 60, 3)  # so that the second wins mostly, and without weights the first


def weighted(cases: Mapping[str, Any]) -> Iterator[Check]:
    """The cases of a list that take weights, each with a name of its own."""
    for case in cases.values():
        measure = case.noise == "gumbel" and not case.gaps and "_by_group_" not in case.name
        copies = case.name in ("permute_and_flip/1", "select_many_permute_and_flip/1")
        if measure or copies:
            name = case.name.replace("/", "_weighted/")
            yield Check(f"{name}: few", "few", partial(_few, case))
            yield Check(f"{name}: pairs", "joint", partial(_pairs, case))


def _few(case: Any, every: int) -> None:
    count = 3000 if every == 1 else 40
    follow(_places(case, _SCORES, _WEIGHTS, count), _law(case, _SCORES, _WEIGHTS))
    if every == 1:
        without = (40, 0, 3)  # the second takes no part
        follow(_places(case, _SCORES, without, count), _law(case, _SCORES, without))


def _pairs(case: Any, every: int) -> None:
    count = 3000 if every == 1 else 25
    equals, weights = (7, 7, 7), (1, 2, 1)
    independent(_places(case, equals, weights, 2 * count), _law(case, equals, weights))


def _places(case: Any, scores: Any, weights: Any, count: int) -> list[tuple[int, ...]]:
    if case.shape == "rows":
        return [*case.places(case.run([list(scores)] * count, weights=list(weights)))]
    calls = (case.run(list(scores), weights=list(weights)) for _ in range(count))
    found = [place for call in calls for place in case.places(call)]
    if len(found) != count:
        raise Refuted("a release has no place, or several")
    return found


def _law(case: Any, scores: Sequence[int], weights: Sequence[int]) -> Chances:
    """The chances of the k first, by the published formulas, at one nat a unit."""
    if case.noise == "exponential":
        return _copies(scores, weights)
    heavy = [w * exp(s - max(scores)) for s, w in zip(scores, weights, strict=True)]
    law: dict[Hashable, float] = {}
    for places in permutations(range(len(scores)), case.k):
        chance, rest = 1.0, sum(heavy)
        for place in places:
            chance, rest = chance * heavy[place] / rest, rest - heavy[place]
        if all(weights[place] for place in places):
            law[places] = chance
    return law


def _copies(scores: Sequence[int], weights: Sequence[int]) -> Chances:
    """Permute-and-flip on the list with copies: an integral of a polynomial."""
    keep = [Fraction(exp(s - max(scores))) for s in scores]
    law: dict[Hashable, float] = {}
    for i, weight in enumerate(weights):
        if not weight:
            continue
        polynomial = [weight * keep[i]]  # exact: its terms cancel
        for j, other in enumerate(weights):
            for _ in range(other - (i == j)):
                shifted = [Fraction(0), *(-keep[j] * c for c in polynomial)]
                polynomial = [
                    a + b for a, b in zip([*polynomial, Fraction(0)], shifted, strict=True)
                ]
        law[(i,)] = float(sum(c / (power + 1) for power, c in enumerate(polynomial)))
    return law
