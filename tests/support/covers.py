"""Pairwise covers: few cases that have every two values of two different parameters together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise_cover(*values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases with a value of each parameter, so that all pairs of values are in one of them.

    Greedy: always the case with the most pairs that are not covered yet; always the same cases.
    """
    places = list(product(*map(range, map(len, values))))
    pairs = {case: {*combinations(enumerate(case), 2)} for case in places}
    left, chosen = set().union(*pairs.values()), []
    while left:
        best = max(places, key=lambda case: len(pairs[case] & left))
        left -= pairs[best]
        chosen.append(tuple(some[at] for some, at in zip(values, best, strict=True)))
    return chosen
