"""Gaps of the array engine: their laws by cells of digits, units, extremes.

Each test of a law cuts the digits of V into ever smaller cells and asks the shipped
`certified_order` about each: what it decides is a lower bound of the law, and what is left over
bounds the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from gap_laws import brackets, real_law
from lattice_oracle import Tape

from engine import TOPS
from safeselect.engine.draws import plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Known, Law, enclose
from safeselect.engine.rankings import Ranking, certified_order
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

Outcome = tuple[tuple[int, ...], tuple[int, ...]]


def bounds(
    law: Law, scores: list[int], k: int, noise_rate: NoiseRate, unit: Fraction, looks: int
) -> tuple[Counter[Outcome], float]:
    """Lower bounds for every outcome, from V of which nothing is known at first."""
    public = plan(law, k, noise_rate, True, unit)
    everyone = list(range(len(scores)))

    def outcome(cells: tuple[Known, ...]) -> Outcome | None:
        result = certified_order(everyone, scores, list(cells), None, public, public.precision)
        return None if result is None else (result.indices, result.gaps or ())

    def halves(cells: tuple[Known, ...]) -> Iterator[tuple[float, tuple[Known, ...]]]:
        """One more digit for the candidate whose noise is known least."""
        noise = [enclose(law, v, bits, 64) for v, bits in cells]
        widest = max(everyone, key=lambda i: noise[i][1] - noise[i][0])
        v, bits = cells[widest]
        for digit in (0, 1):
            part = (2 * v + digit, bits + 1)
            yield 0.5, (*cells[:widest], part, *cells[widest + 1 :])

    return brackets(((0, 0),) * len(scores), halves, outcome, looks)


LAW_CASES = [
    *(
        pytest.param(law, [3, 1], Fraction(2, 3), unit, 8_000)
        for law in (EXPONENTIAL, LAPLACE, GUMBEL)
        for unit in (Fraction(4), Fraction(10, 3), Fraction(6, 7))
    ),
    pytest.param(
        *(EXPONENTIAL, [0, 1, 2], Fraction(1), Fraction(3), 20_000),
        marks=pytest.mark.slow("exhaustive enumeration"),
    ),
]


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("law", "scores", "rate", "unit", "looks"), LAW_CASES)
def test_any_unit(law: Law, scores: list[int], rate: Fraction, unit: Fraction, looks: int) -> None:
    """Outcome by outcome, units coarser, finer and in no simple ratio to the grid."""
    k = len(scores) - 1
    exact = real_law(law.name, scores, k, rate, unit=unit, size=14 if k > 1 else 4)
    lower, unfinished = bounds(law, scores, k, NoiseRate(rate), unit, looks)
    assert unfinished < 0.6
    for who in permutations(range(len(scores)), k):
        for gaps in product(range(4 if k == 1 else 2), repeat=k):
            chance = exact[(*who, *gaps)]
            assert lower[who, gaps] <= chance + 1e-12
            assert chance <= lower[who, gaps] + unfinished + 1e-12


TOP = 2**64 - 1


@pytest.mark.parametrize("rank", TOPS.values())
@pytest.mark.parametrize("n", [3, 40, 5000])
@pytest.mark.parametrize("unit", [Fraction(1), Fraction(2**40), Fraction(1, 3)])
def test_extreme_scores(rank: Callable[..., Ranking], n: int, unit: Fraction) -> None:
    """The gaps of scores 2**64 - 1, 2**63 and 0, where the noise is nothing."""
    steps = np.zeros(n, dtype=np.uint64)
    steps[:2] = [TOP, 2**63]
    result = rank(steps, 2, NoiseRate(Fraction(2**19)), Tape(n), gaps=True, gap_unit=unit)
    assert result.indices == (0, 1)
    for gap, exact in zip(result.gaps or (), (TOP - 2**63, 2**63), strict=True):
        assert abs(gap - Fraction(exact) / unit) <= 1 + 1 / unit


@pytest.mark.parametrize("rank", TOPS.values())
def test_the_unit_changes_no_digit_and_no_order(rank: Callable[..., Ranking]) -> None:
    """One tape, several units: the same winners, and floors that fit together."""
    results: dict[Fraction, Any] = {}
    for unit in (Fraction(1, 6), Fraction(1, 2), Fraction(1), Fraction(3)):
        steps = np.arange(100, dtype=np.uint64)
        results[unit] = rank(steps, 3, NoiseRate(Fraction(1, 5)), Tape(4), gaps=True, gap_unit=unit)
    assert len({result.indices for result in results.values()}) == 1
    finest = results[Fraction(1, 6)].gaps
    for unit, result in results.items():
        assert result.gaps == tuple(gap // int(6 * unit) for gap in finest)
