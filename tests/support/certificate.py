"""Privacy of small instances, exhaustively: the worst log-ratio over all neighbours and outcomes.

A law takes a score vector and returns an array of probabilities, one for each outcome; for two
neighbours the arrays have the same shape.  An outcome that one of them excludes is a ratio without
a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import product
from math import inf
from typing import Any

import numpy as np

Scores = tuple[int, ...]
ScoreLaw = Callable[[Scores], Any]

ROUNDING = 1e-9
"""What the laws of the tests may be wrong by, relatively."""


def neighbours(
    n: int, top: int = 3, *, monotonic: bool = False, range_: int | None = None
) -> Iterator[tuple[Scores, Scores]]:
    """All pairs of vectors with scores 0 .. top that one unit of privacy may turn into each other.

    Changes of at most 1 each; with `monotonic` all upwards (pairs have no direction); with
    `range_` of any size, but by at most `range_` more for one score than for another.
    """
    for q in product(range(top + 1), repeat=n):
        for other in product(range(top + 1), repeat=n):
            change = [b - a for a, b in zip(q, other, strict=True)]
            if range_ is not None:
                allowed = max(change) - min(change) <= range_
            elif monotonic:
                allowed = min(change) >= 0 and max(change) <= 1
            else:
                allowed = max(map(abs, change)) <= 1
            if allowed and q != other:
                yield q, other


def worst(law: ScoreLaw, pairs: Iterable[tuple[Scores, Scores]]) -> float:
    """The largest |ln(P(outcome) / P'(outcome))|, infinite where one excludes what the other does
    not.
    """
    found = 0.0
    for q, other in pairs:
        p, r = law(q), law(other)
        if ((p > 0) != (r > 0)).any():
            return inf
        possible = p > 0
        found = max(found, float(np.max(np.abs(np.log(p[possible] / r[possible])))))
    return found


def hockey_stick(law: ScoreLaw, pairs: Iterable[tuple[Scores, Scores]], s: float) -> float:
    """The largest sum over outcomes of (P - e**s P')+, in both directions.

    All that the arrays leave out counts as one outcome more.
    """
    found = 0.0
    for pair in pairs:
        for q, other in (pair, pair[::-1]):
            p, r = law(q), law(other)
            excess = np.maximum(p - np.exp(s) * r, 0).sum()
            left_out = (1 - p.sum()) - np.exp(s) * (1 - r.sum())
            found = max(found, float(excess + max(left_out, 0)))
    return found


def symmetric(law: ScoreLaw, places: int) -> ScoreLaw:
    """The same law for a mechanism that treats all candidates alike and sees differences only.

    It is computed for one vector of each kind: sorted, and with least score 0.

    Args:
        places: how many leading axes of an outcome name candidates.
    """
    of_sorted = lru_cache(maxsize=None)(law)

    @cache
    def full(scores: Scores) -> Any:
        order = sorted(range(len(scores)), key=scores.__getitem__)
        canonical = of_sorted(tuple(scores[i] - scores[order[0]] for i in order))
        rank = np.argsort(order)
        return canonical[np.ix_(*[rank] * places)] if places else canonical

    return full
