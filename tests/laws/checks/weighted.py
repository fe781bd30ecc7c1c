"""Releases with public weights: each mechanism that takes them, against its law."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from math import exp, log
from typing import Any

from checks.finding import Refuted
from checks.others import Chances, Look, OneShotCase, OtherCase, follow, independent, loss

_SCORES = (1, 0, 0)
_WEIGHTS = (1, 60, 3)  # so that the second wins mostly, and without weights the first
_EQUAL = 200


def weighted(cases: Mapping[str, OneShotCase]) -> Iterator[OtherCase]:
    """The cases of a list that take weights, each with a name of its own."""
    for case in cases.values():
        measure = case.noise == "gumbel" and not case.gaps and "_by_group_" not in case.name
        copies = case.name in ("permute_and_flip/1", "select_many_permute_and_flip/1")
        if measure or copies:
            yield OtherCase(
                case.name.replace("/", "_weighted/"),
                case.noise,
                partial(_release, case),
                partial(_fingerprint, case),
                Fraction(case.cost["epsilon"]),
                tuple(_looks(case)),
                rules_in_full=True,
            )


def _looks(case: OneShotCase) -> Iterator[Look]:
    yield Look("releases", "few", "C1", "few candidates", partial(_few, case))
    yield Look("releases", "pairs", "C1", "joint", partial(_pairs, case))
    yield Look("privacy", "neighbours", "C2", "privacy", partial(_neighbours, case))
    for aspect, n in (("thousands", 3000), ("hundreds of thousands", 150_000)):
        yield Look("releases", f"{n} candidates", "C1", aspect, partial(_many, case, n), True)


def _release(case: OneShotCase, **more: Any) -> Any:
    scores: Any = [3, 5, 4]
    return case.run([scores] * 3 if case.shape == "rows" else scores, weights=[1, 2, 1], **more)


def _fingerprint(case: OneShotCase, **more: Any) -> Hashable:
    weights = [1, 2] * (_EQUAL // 2)
    rows = case.shape == "rows"
    scores: Any = [[7] * _EQUAL] * 5 if rows else [7] * _EQUAL
    calls = (case.run(scores, weights=weights, **more) for _ in range(1 if rows else 5))
    return tuple(place for call in calls for place in case.places(call))


def _few(case: OneShotCase, every: int) -> str:
    count = 3000 if every == 1 else 40
    follow(_places(case, _SCORES, _WEIGHTS, count), _law(case, _SCORES, _WEIGHTS))
    if every == 1:
        without = (40, 0, 3)  # the second takes no part
        follow(_places(case, _SCORES, without, count), _law(case, _SCORES, without))
    return f"{count} releases from 3 candidates follow the law with weights"


def _pairs(case: OneShotCase, every: int) -> str:
    count = 3000 if every == 1 else 25
    equals, weights = (7, 7, 7), (1, 2, 1)
    independent(_places(case, equals, weights, 2 * count), _law(case, equals, weights))
    return f"{count} pairs are independent"


def _many(case: OneShotCase, n: int, every: int) -> str:
    """Of many equal candidates each weight wins as often as it weighs, in each part of the list."""
    count = (60 if n < 10_000 else 20) if every == 1 else 20
    weights = [1 if i % 100 else 1000 for i in range(n)]
    part, total = -(-n // 4), sum(weights)
    chances: dict[Hashable, float] = {}
    for i, weight in enumerate(weights):
        chances[weight, i // part] = chances.get((weight, i // part), 0.0) + weight / total
    found = _places(case, [7] * n, weights, count)
    follow([(weights[first], first // part) for first, *_ in found], chances)
    return f"{count} releases of {n} equal candidates with two weights follow their law"


def _neighbours(case: OneShotCase, every: int) -> str:
    """The law at the documented rate, on all neighbours of small scores."""
    claim, weights = float(case.cost["epsilon"]), (1, 3, 2)
    worst, pairs = 0.0, 0
    for scores in product(range(3 if every == 1 else 2), repeat=3):
        one = _law(case, scores, weights)
        for moved in product((0, 1), repeat=3):
            other = _law(case, [s + m for s, m in zip(scores, moved, strict=True)], weights)
            worst = max(worst, *(abs(log(one[place] / other[place])) for place in one))
            pairs += 1
    return loss(worst, claim, pairs)


def _places(case: OneShotCase, scores: Any, weights: Any, count: int) -> list[tuple[int, ...]]:
    if case.shape == "rows":
        return [*case.places(case.run([list(scores)] * count, weights=list(weights)))]
    calls = (case.run(list(scores), weights=list(weights)) for _ in range(count))
    found = [place for call in calls for place in case.places(call)]
    if len(found) != count:
        raise Refuted("a release has no place, or several")
    return found


def _law(case: OneShotCase, scores: Sequence[int], weights: Sequence[int]) -> Chances:
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
