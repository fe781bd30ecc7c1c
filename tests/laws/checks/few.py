"""The laws of releases from three candidates, enumerated, and of equal ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cache
from typing import Any

from checks.cells import Enclosure, ranking_law


@cache
def law_of_few(
    noise: str, scores: tuple[int, ...], rate: Fraction, k: int, anew: bool
) -> Enclosure:
    """The law of the k first of some candidates, k being 1 or 2."""
    if not anew or k == 1:
        return ranking_law(noise, scores, rate, k=k, fineness=7)
    law: dict[Hashable, tuple[Fraction, Fraction]] = {}
    first = law_of_few(noise, scores, rate, 1, False)
    for one in range(len(scores)):
        low, high = first[(one,)]
        rest = [i for i in range(len(scores)) if i != one]
        second = law_of_few(noise, tuple(scores[i] for i in rest), rate, 1, False)
        for place, other in enumerate(rest):
            least, most = second[(place,)]
            law[one, other] = low * least, high * most
    return law


def cut_off(law: Enclosure, threshold: int) -> Enclosure:
    """The law of what comes before the threshold."""

    def before(places: tuple[int, ...]) -> Hashable:
        return places[: places.index(threshold)] if threshold in places else places

    return _merged(law, before)


def sorted_law(law: Enclosure) -> Enclosure:
    """The law of the set of those who come first."""
    return _merged(law, lambda places: tuple(sorted(places)))


def _merged(law: Enclosure, outcome: Callable[[Any], Hashable]) -> Enclosure:
    merged: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for places, (low, high) in law.items():
        known = merged.get(outcome(places), (Fraction(0), Fraction(0)))
        merged[outcome(places)] = known[0] + low, known[1] + high
    return merged


def uniform(outcomes: Iterable[Hashable], size: int) -> Enclosure:
    """Each of these outcomes has the probability 1 / size."""
    return dict.fromkeys(outcomes, (Fraction(1, size), Fraction(1, size)))
