"""Both tiers combine noise as the proved program `combine` does (proofs/Combine.v).

Exhaustively for small widths, on the table of the extracted program's answers.  The table is
complete: the answer for k places is the beginning of the answer for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product

import proved
import pytest
from array_tier import Array
from effort import some
from proved_tables import read
from tiers import Noise

from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

# n, scores below, floors below: all noisy scores that arise are in the table.
WIDTHS = [(1, 3, 8), (2, 3, 8), (3, 3, 8), (4, 2, 4)]


@lru_cache(maxsize=1)
def answers() -> dict[tuple[int, ...], list[str]]:
    return {tuple(map(int, row[0])): row[1:] for row in read("combine")[1]}


def beginning(answer: str, k: int, gaps: bool) -> str:
    """The first k places, and the k first gaps."""
    order, _, floors = answer.partition(":")
    return f"{order[:k]}:{floors[:k]}" if gaps else order[:k]


def inputs(n: int, scores: int, floors: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    return product(product(range(scores), repeat=n), product(range(floors), repeat=n))


def mismatches(n: int, scores: int, floors: int) -> Iterator[tuple[object, ...]]:
    table, rankings = answers(), list(permutations(range(n)))
    for score, floor in some(inputs(n, scores, floors), 3):
        noisy = tuple(a + b for a, b in zip(score, floor, strict=True))
        for ranks, answer in zip(rankings, table[noisy], strict=True):
            for k in range(1, min(n, 3) + 1):
                gaps = k < n
                found = proved.combine_exponential(score, floor, ranks, k, gaps)
                if proved.told(found) != beginning(answer, k, gaps):
                    yield score, floor, ranks, k


@pytest.mark.slow("all inputs of small width")
@pytest.mark.parametrize(("n", "scores", "floors"), WIDTHS)
def test_the_scalar_tier_combines_as_proved(n: int, scores: int, floors: int) -> None:
    """A third of 546 072 comparisons.  With k places and k gaps; k = n has no last gap."""
    assert next(mismatches(n, scores, floors), None) is None


# The array engine finds noise by inversion; a cell and a rank within it are a range of its digits.
NOISE = Noise("exponential", NoiseRate(Fraction(1, 2)))


@pytest.mark.slow("all inputs of small width")
@pytest.mark.parametrize(
    ("n", "scores", "cells", "extra"), [(2, 3, 8, 0), (3, 2, 4, 0), (4, 2, 2, 0), (3, 2, 2, 22)]
)
def test_the_array_engine_ranks_as_proved(n: int, scores: int, cells: int, extra: int) -> None:
    """A third of 31 104 rankings.

    With `extra` candidates noise is worked out for all first, then for a few.
    Those have no chance: they are 2**62 steps behind.  What they cannot show is a last gap.
    """
    tier, table, rankings = Array(extra), answers(), list(permutations(range(n)))
    for score, cell in some(inputs(n, scores, cells), 3):
        noisy = tuple(a + b for a, b in zip(score, cell, strict=True))
        for ranks, answer in zip(rankings, table[noisy], strict=True):
            for k in range(1, min(n, 3) + 1):
                gaps = k < n
                found = tier.outcome(NOISE, score, cell, ranks, k, gaps)
                assert proved.told(found) == beginning(answer, k, gaps), (score, cell, ranks, k)
