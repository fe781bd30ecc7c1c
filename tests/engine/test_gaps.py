"""Gaps of the array engine: their laws by cells of digits, units, extremes.

Each test of a law cuts the digits of V into ever smaller cells and asks the shipped
`certified_order` about each: what it decides is a lower bound of the law, and what is left over
bounds the rest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
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

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "gap_laws.json").read_text("utf-8"))
NOISY_MAX = VECTORS["e3_noisy_max_gap_joint_survival"]["cases"]["v1@rate=1"]["joint_survival"]
WITH_GAP = VECTORS["e_em_gap_conditional"]["cases"]["v1@rate=1"]["winners"]
each_law = pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE, GUMBEL], ids=lambda law: law.name)
TOP2 = VECTORS["e4_noisy_top2_with_gap_exponential"]["cases"]
ONE = NoiseRate(Fraction(1))
Outcome = tuple[tuple[int, ...], tuple[int, ...]]
Mutant = Callable[[Ranking], Ranking]


def bounds(
    law: Law,
    scores: list[int],
    k: int,
    noise_rate: NoiseRate,
    unit: Fraction,
    looks: int,
    mutant: Mutant | None = None,
) -> tuple[Counter[Outcome], float]:
    """Lower bounds for every outcome, from V of which nothing is known at first."""
    public = plan(law, k, noise_rate, True, unit)
    everyone = list(range(len(scores)))

    def outcome(cells: tuple[Known, ...]) -> Outcome | None:
        result = certified_order(everyone, scores, list(cells), None, public, public.precision)
        if result is None:
            return None
        result = result if mutant is None else mutant(result)
        return result.indices, result.gaps or ()

    def halves(cells: tuple[Known, ...]) -> Iterator[tuple[float, tuple[Known, ...]]]:
        """One more digit for the candidate whose noise is known least."""
        noise = [enclose(law, v, bits, 64) for v, bits in cells]
        widest = max(everyone, key=lambda i: noise[i][1] - noise[i][0])
        v, bits = cells[widest]
        for digit in (0, 1):
            part = (2 * v + digit, bits + 1)
            yield 0.5, (*cells[:widest], part, *cells[widest + 1 :])

    return brackets(((0, 0),) * len(scores), halves, outcome, looks)


def survival(lower: Counter[Outcome], indices: tuple[int, ...], least: tuple[int, ...]) -> float:
    """The lower bound of P(these indices, gaps of at least these)."""
    return sum(
        mass
        for (who, gaps), mass in lower.items()
        if who == indices and all(g >= x for g, x in zip(gaps, least, strict=True))
    )


def holds(found: tuple[Counter[Outcome], float], exact: dict[Outcome, float]) -> bool:
    lower, unfinished = found
    return all(
        -1e-12 <= chance - survival(lower, *outcome) <= unfinished + 1e-12
        for outcome, chance in exact.items()
    )


def published(law: Law, unit: int) -> dict[Outcome, float]:
    """P(winner, gap >= g) for scores 0 and 1 at rate 1, g = 0 and one unit."""
    result: dict[Outcome, float] = {}
    for winner, least in product(range(2), (0, unit)):
        outcome = (winner,), (least // unit,)
        if law is GUMBEL:
            entry = WITH_GAP[str(winner)]
            chance = float(entry["P_select"]) * float(entry["cond_survival"][str(least)])
        else:
            chance = float(NOISY_MAX[f"{law.name[:3]},winner={winner},gap>={least}"])
        result[outcome] = chance
    return result


def one_more(ranking: Ranking) -> Ranking:
    return Ranking(ranking.indices, tuple(gap + 1 for gap in ranking.gaps or ()))


@each_law
@pytest.mark.claim("C1")
def test_one_gap(law: Law) -> None:
    for unit, looks, left in ((1, 12_000, 0.3), (3, 6_000, 0.1)):
        exact = published(law, unit)
        found = bounds(law, [0, 1], 1, ONE, Fraction(unit), looks)
        assert found[1] < left
        assert holds(found, exact)
    # Finer or coarser noise is excluded, and so is a gap that is off by one.
    for rate, mutant in ((2, None), (Fraction(1, 2), None), (1, one_more)):
        wrong = bounds(law, [0, 1], 1, NoiseRate(Fraction(rate)), Fraction(3), 6_000, mutant)
        assert not holds(wrong, exact)


def last_first(ranking: Ranking) -> Ranking:
    return Ranking(ranking.indices[::-1], ranking.gaps)


@pytest.mark.slow("exhaustive enumeration")
def test_top_2_with_gaps() -> None:
    """Scores 0, 1, 2 at rate 1: orders by the published numbers, gaps by the integral."""
    law = real_law("exponential", [0, 1, 2], 2, Fraction(1), unit=Fraction(3), size=14)
    exact: dict[Outcome, float] = {}
    for a, b in permutations(range(3), 2):
        order = float(TOP2[f"order={a},{b};g1>=0;g2>=0"])
        assert abs(law[a, b].sum() - order) < 1e-12
        exact[(a, b), (0, 0)] = order
        exact |= {((a, b), (x, y)): law[a, b, x:, y:].sum() for x, y in ((1, 0), (0, 1), (1, 1))}
    found = bounds(EXPONENTIAL, [0, 1, 2], 2, ONE, Fraction(3), 20_000)
    assert found[1] < 0.6
    assert holds(found, exact)
    for mutant in (one_more, last_first):
        wrong = bounds(EXPONENTIAL, [0, 1, 2], 2, ONE, Fraction(3), 20_000, mutant)
        assert not holds(wrong, exact)


@each_law
@pytest.mark.parametrize("unit", [Fraction(4), Fraction(10, 3), Fraction(6, 7)])
@pytest.mark.claim("C1")
def test_any_unit(law: Law, unit: Fraction) -> None:
    """Outcome by outcome, units coarser, finer and in no simple ratio to the grid."""
    rate = Fraction(2, 3)
    exact = real_law(law.name, [3, 1], 1, rate, unit=unit, size=4)
    lower, unfinished = bounds(law, [3, 1], 1, NoiseRate(rate), unit, 8_000)
    for who, gap in product(range(2), range(4)):
        chance = exact[who, gap]
        assert lower[(who,), (gap,)] <= chance + 1e-12
        assert chance <= lower[(who,), (gap,)] + unfinished + 1e-12
    assert unfinished < 0.6


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
