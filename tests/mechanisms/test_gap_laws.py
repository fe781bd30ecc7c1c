"""The laws of gaps in the scalar tier, on shipped code, against reference values of 30 digits.

1. An independent integral over the real line (`real_law`) gives the reference values.
2. Exponential noise: the combine step, enumerated over the lattice, gives them too.
3. Laplace and Gumbel noise: what is decided by a few digits stays below the law and comes close.
4. A finer unit is a finer lattice; a coarser one is a coarser floor.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil, lcm
from pathlib import Path

import numpy as np
import pytest
from gap_laws import decided_law, lattice_law, real_law

pytestmark = pytest.mark.claim("C1")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "gap_laws.json").read_text())
NOISY_MAX = VECTORS["e3_noisy_max_gap_joint_survival"]["cases"]
WITH_GAP = VECTORS["e_em_gap_conditional"]["cases"]
TOP2 = VECTORS["e4_noisy_top2_with_gap_exponential"]["cases"]
HALF = Fraction(1, 2)


def on_grid(case: dict) -> tuple[list[int], Fraction, int]:
    """Scores as integers on their smallest common grid, the rate a step, and steps a score unit."""
    scores = [Fraction(score) for score in case["scores"]]
    size = lcm(*(score.denominator for score in scores))
    return [int(score * size) for score in scores], Fraction(case["rate"]) / size, size


def noisy_max(case: dict, noise: str) -> dict[tuple[int, int], float]:
    """P(winner, gap >= g) by g in halves of a score unit: multiples of one unit for a law."""
    result = {}
    for key, text in case["joint_survival"].items():
        kind, winner, least = key.split(",")
        if kind == noise:
            halves = Fraction(least.removeprefix("gap>=")) * 2
            result[int(winner.removeprefix("winner=")), int(halves)] = float(text)
    assert len(result) == 5 * len(case["scores"])
    return result


def gumbel(case: dict) -> dict[tuple[int, int], float]:
    """P(winner, gap >= g) by g in quarters of the noise's scale, which is the unit of these."""
    return {
        (int(winner), int(Fraction(least) * 4)): float(entry["P_select"]) * float(text)
        for winner, entry in case["winners"].items()
        for least, text in entry["cond_survival"].items()
    }


def agrees(law: np.ndarray, survival: dict[tuple[int, int], float], room: float) -> bool:
    """Whether P(winner, gap >= g) is met, to 12 digits, from below with this room."""
    return all(
        -1e-12 * exact - 1e-15 <= exact - law[winner, least:].sum() <= room + 1e-12 * exact
        for (winner, least), exact in survival.items()
    )


# ------------------------------------------------------------------------------ 1. the integral


@pytest.mark.parametrize("case", NOISY_MAX.values(), ids=NOISY_MAX)
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_the_integral_gives_the_gaps_of_noisy_max(case, noise):
    scores, rate, size = on_grid(case)
    unit = Fraction(size, 2)
    law = real_law(noise, scores, 1, rate, unit=unit, size=ceil(40 / rate / unit))
    assert agrees(law, noisy_max(case, noise[:3]), 1e-13)


@pytest.mark.parametrize("case", WITH_GAP.values(), ids=WITH_GAP)
def test_the_integral_gives_the_gaps_of_the_exponential_mechanism(case):
    scores, rate, _ = on_grid(case)
    law = real_law("gumbel", scores, 1, rate, unit=1 / rate / 4, size=160)
    assert agrees(law, gumbel(case), 1e-13)
    means = [(law[i] * (np.arange(160) + 0.5)).sum() / law[i].sum() / 4 for i in range(len(scores))]
    for winner, entry in case["winners"].items():  # the midpoint rule over quarters
        assert means[int(winner)] == pytest.approx(float(entry["mean_gap"]), abs=0.01)


# --------------------------------------------------------------------- 2. exponential noise, all


@pytest.mark.parametrize("case", NOISY_MAX.values(), ids=NOISY_MAX)
@pytest.mark.claim("C1")
def test_permute_and_flip_with_gap(case):
    scores, rate, size = on_grid(case)
    finer = 2 // size if size < 2 else 1  # halves of a score unit lie on the lattice
    scores, rate, unit = [finer * s for s in scores], rate / finer, finer * size // 2
    law = lattice_law(scores, 1, rate, unit=unit, size=ceil(40 / rate / unit))
    assert agrees(law, noisy_max(case, "exp"), 1e-15)


def top2_agrees(law: np.ndarray) -> bool:
    for key, text in TOP2.items():
        order, *least = key.split(";")
        a, b = map(int, order.removeprefix("order=").split(","))
        x, y = (int(part.split(">=")[1]) for part in least)
        if abs(law[a, b, x:, y:].sum() / float(text) - 1) > 1e-12:
            return False
    return True


@pytest.mark.claim("C1")
def test_top_2_with_gaps():
    assert top2_agrees(lattice_law([0, 1, 2], 2, Fraction(1), size=40))
    assert not top2_agrees(lattice_law([0, 1, 2], 2, HALF, size=40))


# ----------------------------------------------------------------- 3. Laplace and Gumbel, bounds


@pytest.mark.parametrize(("name", "level", "size"), [("v1@rate=1", 5, 40), ("v5@rate=3", 2, 9)])
@pytest.mark.claim("C1")
def test_noisy_max_with_gap_laplace(name, level, size):
    scores, rate, steps = on_grid(NOISY_MAX[name])

    def law(rate):
        unit = Fraction(steps, 2)
        return decided_law("laplace", scores, 1, rate, unit=unit, level=level, size=size)

    survival = noisy_max(NOISY_MAX[name], "lap")
    assert agrees(law(rate), survival, 0.08)
    # The same bounds exclude noise of twice or half the scale.
    assert not agrees(law(rate * 2), survival, 0.08)
    assert not agrees(law(rate / 2), survival, 0.08)


@pytest.mark.parametrize(("name", "level", "size"), [("v1@rate=1", 6, 80), ("v4@rate=1/10", 2, 24)])
@pytest.mark.claim("C1")
def test_exponential_mechanism_with_gap(name, level, size):
    scores, rate, _ = on_grid(WITH_GAP[name])
    unit = 1 / rate / 4
    law = decided_law("gumbel", scores, 1, rate, unit=unit, level=level, size=size)
    assert agrees(law, gumbel(WITH_GAP[name]), 0.09)
    wrong = decided_law("gumbel", scores, 1, rate * 2, unit=unit, level=level, size=size)
    assert not agrees(wrong, gumbel(WITH_GAP[name]), 0.09)
