"""Gap releases as they are called, against published laws, with mutants that must fail.

False alarms: 1e-9 each (Chernoff).  Power: 4 000 draws find a shift of 0.075 in the probability of
an outcome with probability above 0.999.  Every mutant shifts one by more; 1 500 draws show most.
The random bytes are those of a fixed seed, so a pass stays a pass.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import either as safeselect
import pytest
from chances import fits
from gap_laws import real_law

import engine
from safeselect.engine import Ranking
from safeselect.exact.rate import NoiseRate
from safeselect.mechanisms import select as gaps
from safeselect.spec import rankings as _reference
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.claim("C1"), pytest.mark.slow("statistics with power")]

DRAWS, FEWER = 4_000, 1_500
ENGINES = ("array", "reference")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "gap_laws.json").read_text())
NOISY_MAX = VECTORS["e3_noisy_max_gap_joint_survival"]["cases"]
WITH_GAP = VECTORS["e_em_gap_conditional"]["cases"]["v4@rate=1/10"]["winners"]
TOP2 = VECTORS["e4_noisy_top2_with_gap_exponential"]["cases"]


def source() -> DeterministicSource:
    with pytest.warns(safeselect.testing.InsecureSourceWarning):
        return DeterministicSource(b"gaps", i_understand_this_is_not_private=True)


def between(survival: dict[int, float]) -> list[float]:
    """From P(gap >= g) for rising g: the chances of the steps between, the last one open."""
    chances = [survival[g] for g in sorted(survival)]
    return [a - b for a, b in zip(chances, [*chances[1:], 0.0], strict=True)]


def noisy_max_law(case: str, noise: str, candidates: int) -> dict:
    """(winner, gap in whole units of 1, at most 3)."""
    published = NOISY_MAX[case]["joint_survival"]
    return {
        (winner, gap): chance
        for winner in range(candidates)
        for gap, chance in enumerate(
            between({g: float(published[f"{noise},winner={winner},gap>={g}"]) for g in range(4)})
        )
    }


def exponential_mechanism_law() -> dict:
    """(winner, class of gap): rate * gap below 1/4, below 1, below 3, above, at rate 1/10."""
    return {
        (int(winner), step): float(entry["P_select"]) * chance
        for winner, entry in WITH_GAP.items()
        for step, chance in enumerate(
            between({i: float(text) for i, text in enumerate(entry["cond_survival"].values())})
        )
    }


def top2_law() -> dict:
    """(order, whether both gaps are 1 or more)."""
    law = {}
    for key, text in TOP2.items():
        order, least, _ = key.split(";")
        pair = tuple(map(int, order.removeprefix("order=").split(",")))
        if least == "g1>=0":
            law[pair, False] = law.get((pair, False), 0) + float(text)
        else:
            law[pair, True] = float(text)
            law[pair, False] = law.get((pair, False), 0) - float(text)
    return law


def capped(result) -> tuple[int, int]:
    return result.index, min(int(result.gap), 3)


SCORES = ["1/2", "3/4", "-1/3", 2]
ON_GRID = {"grid": "1/12", "gap_grid": 1, "sensitivity": "1/12", "monotonic": True}
ON_GRID["on_grid"] = True


def on_grid(**more):
    """Case v5 at rate 3: the range of the change is one step of the grid, a twelfth."""
    scores = [Fraction(score) for score in SCORES]
    return safeselect.report_noisy_max_with_gap(scores, epsilon="1/4", **ON_GRID, **more)


def em_classes(**more):
    result = safeselect.exponential_mechanism_with_gap(
        [5, 5, 3, 0], epsilon="1/10", range_=1, gap_grid="5/2", **more
    )
    quarters = int(result.gap / Fraction(5, 2))
    return result.index, sum(quarters >= least for least in (1, 4, 12))


def top2(**more):
    result = safeselect.top_k_with_gaps([0, 1, 2], k=2, epsilon=2, range_=1, **more)
    return result.indices, min(result.gaps) >= 1


CASES = {
    "permute_and_flip": (
        lambda **k: capped(
            safeselect.permute_and_flip_with_gap([0, 1], epsilon=2, sensitivity=1, **k)
        ),
        noisy_max_law("v1@rate=1", "exp", 2),
    ),
    "noisy max exponential": (
        lambda **k: capped(on_grid(noise="exponential", **k)),
        noisy_max_law("v5@rate=3", "exp", 4),
    ),
    "noisy max laplace": (
        lambda **k: capped(on_grid(noise="laplace", **k)),
        noisy_max_law("v5@rate=3", "lap", 4),
    ),
    "exponential_mechanism": (em_classes, exponential_mechanism_law()),
    "top 2": (top2, top2_law()),
}


def observed(run, *, draws: int = DRAWS, **options) -> Counter:
    tape = source()
    return Counter(run(source=tape, **options) for _ in range(draws))


def noticed(run, law, *, draws: int = FEWER) -> bool:
    return not fits(observed(run, draws=draws, engine="reference"), law)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.claim("C1")
def test_gaps_follow_their_law(name, engine):
    run, law = CASES[name]
    assert abs(sum(law.values()) - 1) < 1e-9
    assert fits(observed(run, engine=engine), law)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_both_gaps_of_top_2_follow_their_law(noise, engine):
    """By the integral over the real line, which gives the published numbers."""
    exact = real_law(noise, [0, 1, 2], 2, Fraction(1), size=60)
    law = {}
    for order in ((2, 1), (1, 2), (2, 0), (0, 2), (1, 0), (0, 1)):
        for first in range(3):
            for second in range(3):
                ends = [slice(g, g + 1) if g < 2 else slice(2, None) for g in (first, second)]
                law[order, first, second] = float(exact[(*order, *ends)].sum())

    def run(**options):
        result = safeselect.top_k_with_gaps(
            [0, 1, 2], k=2, epsilon=4, sensitivity=1, noise=noise, **options
        )
        return result.indices, *(min(int(gap), 2) for gap in result.gaps)

    assert fits(observed(run, engine=engine), law)


# --------------------------------------------------------------------------------- mutants


@pytest.mark.parametrize("factor", [2, Fraction(1, 2)])
@pytest.mark.parametrize("name", CASES)
def test_a_factor_of_two_in_the_rate_is_noticed(monkeypatch, name, factor):
    run, law = CASES[name]
    engine.change_decay(monkeypatch, lambda noise_rate: NoiseRate(factor * noise_rate.rate))
    assert noticed(run, law)


@pytest.mark.parametrize("name", CASES)
def test_a_gap_that_is_off_by_one_step_is_noticed(monkeypatch, name):
    run, law = CASES[name]
    right = gaps.in_scores

    def wrong(ranking, step):
        return tuple(gap + step for gap in right(ranking, step))

    monkeypatch.setattr(gaps, "in_scores", wrong)
    assert noticed(run, law)


@pytest.mark.parametrize("pair", ["first and third", "second and third"])
@pytest.mark.parametrize("name", ["exponential_mechanism", "noisy max laplace"])
def test_the_gap_of_the_wrong_pair_is_noticed(monkeypatch, name, pair):
    run, law = CASES[name]
    right = _reference.combine_continuous

    def wrong(scores, floors, level, k, *, gaps, unit):
        ranking = right(scores, floors, level, k + 1, gaps=gaps, unit=unit)
        if ranking is None:
            return None
        first, second = ranking.gaps
        gap = first + second if pair == "first and third" else second
        return Ranking(ranking.indices[:k], (gap,))

    monkeypatch.setattr(_reference, "combine_continuous", wrong)
    assert noticed(run, law, draws=DRAWS)


def test_the_scale_of_one_winner_for_two_is_noticed(monkeypatch):
    """The factor k left out of the scale, as a caller would do it: twice the epsilon."""
    _, law = CASES["top 2"]

    def run(**options):
        result = safeselect.top_k_with_gaps([0, 1, 2], k=2, epsilon=4, range_=1, **options)
        return result.indices, min(result.gaps) >= 1

    assert noticed(run, law)


def test_a_unit_that_is_not_applied_is_noticed(monkeypatch):
    run, law = CASES["exponential_mechanism"]
    right = _reference.combine_continuous

    def wrong(scores, floors, level, k, *, gaps, unit):
        return right(scores, floors, level, k, gaps=gaps)

    monkeypatch.setattr(_reference, "combine_continuous", wrong)
    assert noticed(run, law)
