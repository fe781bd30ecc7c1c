"""The law of the array engine is the law of the scalar tier, by one convolution for both.

Each tier's own chances of noise, in cells of the grid, are pushed through its own way of combining
(`tests/support/tiers.py`, `cell_laws.py`), in integers rounded down.  So each law is a list of
lower bounds that lack less than 2**-48 in all, and where they differ by no more for every outcome,
"undecided in these cells" included, the laws agree to 14 digits.  Finer cells leave less undecided:
half as much for each level.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from array_tier import Array, crossing
from cell_laws import Chances, cell_law, difference, missing, peeled_law
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from scalar_tier import Scalar, geometric_law
from tiers import RANKS, Noise

from safeselect.engine import Ranking
from safeselect.exact.interval import NoiseRate

pytestmark = [
    pytest.mark.claim("C1"),
    pytest.mark.slow("laws of both tiers, enumerated over all cells"),
]

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laws.json").read_text())
SLACK = Fraction(1, 2**48)
NAMES = ["exponential", "laplace", "gumbel"]

RATES = [NoiseRate(Fraction(*r)) for r in ((1, 1), (2, 3), (5, 1))] + [
    NoiseRate(Fraction(1), Fraction(1, 2))
]
PLAIN = [(noise_rate, 0, 1) for noise_rate in RATES]
SMALL = [(NoiseRate(Fraction(1, 64)), 0, 64), (NoiseRate(Fraction(3, 80)), 0, 40)]
SMALLEST = [(NoiseRate(Fraction(1, 2**40)), 0, 2**40)]
FINE = [(RATES[0], 1, 1), (RATES[1], 1, 1), (RATES[2], 2, 1), (RATES[3], 2, 1)]
LARGE = [(NoiseRate(Fraction(300)), 8, 1)]
LARGEST = [(NoiseRate(Fraction(300)), 0, 1), (NoiseRate(Fraction(2**20)), 0, 1)]

# How noise is cut.  Only Gumbel noise tells its chances without 2**40 values being worked out; only
# exponential noise needs no finer cells, however large the rate.
CUTS = {
    "exponential": [*PLAIN, *SMALL, *LARGEST],
    "laplace": [*PLAIN, *SMALL, *FINE, *LARGE],
    "gumbel": [*PLAIN, *SMALL, *SMALLEST, *FINE, *LARGE],
}
GAP_CUTS = {"exponential": [*PLAIN, *LARGEST], "laplace": FINE, "gumbel": FINE}


def noises(
    name: str, cuts: dict[str, list[tuple[NoiseRate, int, int]]]
) -> st.SearchStrategy[Noise]:
    return st.sampled_from([Noise(name, *cut) for cut in cuts[name]])


def agree(one: Chances, other: Chances) -> bool:
    return max(missing(one), missing(other), difference(one, other)) < SLACK


def scores(count: int, *, at_least: int = 2) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 4), min_size=at_least, max_size=count)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8 if LONG else 3)
@given(data=st.data())
@pytest.mark.claim("C1")
def test_orders(name, k, data):
    """Up to four candidates, alone or in front of 30 without a chance."""
    noise = data.draw(noises(name, CUTS))
    values = data.draw(scores(4 if k == 1 else 3))
    elsewhere = data.draw(st.integers(0, 99))
    array = cell_law(
        Array(data.draw(st.sampled_from([0, 30]))), noise, values, k, elsewhere=elsewhere
    )
    assert agree(array, cell_law(Scalar(), noise, values, k, elsewhere=elsewhere))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5 if LONG else 2)
@given(data=st.data())
@pytest.mark.claim("C1")
def test_orders_with_gaps(name, k, data):
    """Gaps are told apart up to 2 steps, or 1 of two gaps."""
    noise = data.draw(noises(name, GAP_CUTS))
    values = data.draw(scores(3, at_least=k + 1))
    limit = 2 if k == 1 else 1
    array = cell_law(Array(data.draw(st.sampled_from([0, 30]))), noise, values, k, limit=limit)
    assert agree(array, cell_law(Scalar(), noise, values, k, limit=limit))


@settings(max_examples=8 if LONG else 3)
@given(noise=noises("exponential", CUTS), values=scores(3), extra=st.sampled_from([0, 30]))
@pytest.mark.claim("C1")
def test_peeled_permute_and_flip(noise, values, extra):
    assert agree(peeled_law(Array(extra), noise, values, 2), peeled_law(Scalar(), noise, values, 2))


@pytest.mark.parametrize("name", ["laplace", "gumbel"])
@pytest.mark.parametrize("limit", [None, 1])
def test_finer_cells_leave_less_undecided(name, limit):
    """At every level the laws agree, and what the cells do not tell goes to zero."""
    left = []
    for level in range(1, 4):
        noise = Noise(name, NoiseRate(Fraction(2)), level)
        laws = [cell_law(tier, noise, [0, 1], 1, limit=limit) for tier in (Array(), Scalar())]
        assert agree(*laws)
        left.append(laws[0][None])
    assert all(fine < coarse * Fraction(3, 5) for coarse, fine in pairwise(left))


@pytest.mark.parametrize("noise_rate", RATES)
def test_by_what_exponential_noise_exceeds_a_cell_is_alike_for_all_cells(noise_rate):
    """In the array engine; with the next test, why the rankings of `tiers` are equally likely."""
    noise = Noise("exponential", noise_rate)

    def ends(cell: int) -> list[int]:
        """P(noise in the cell, its part below j / RANKS), in units of 2**-64."""
        start = crossing(noise, cell)
        return [start - crossing(noise, cell + Fraction(j, RANKS)) for j in range(RANKS + 1)]

    first = ends(0)
    for here in map(ends, range(1, 6)):
        for one, other in zip(first, here, strict=True):
            # Equal shares; a crossing is off by a word or two.
            assert abs(other * first[-1] - one * here[-1]) < 1 << 64 + 3


def test_the_same_in_the_scalar_tier():
    law = geometric_law(NoiseRate(Fraction(1, 16))).lower
    for cell in range(1, 6):
        for part in range(16):
            shares = law[16 * cell + part] * law[0] - law[16 * cell] * law[part]
            assert abs(shares) < SLACK


# ------------------------------------------------------------- what must hold for all scores


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tier", [Array(), Scalar()], ids=["array", "scalar"])
@settings(max_examples=4 if LONG else 2)
@given(data=st.data())
def test_the_law_follows_the_candidates_and_ignores_offsets(name, tier, data):
    noise = Noise(name, NoiseRate(Fraction(2, 3)))
    values = data.draw(scores(3))
    order = data.draw(st.permutations(range(len(values))))
    law = cell_law(tier, noise, values, 2)
    moved = cell_law(tier, noise, [values[i] + 5 for i in order], 2)
    back = {
        outcome and (tuple(order[i] for i in outcome[0]), None): chance
        for outcome, chance in moved.items()
    }
    assert difference(law, back) < SLACK


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tier", [Array(), Scalar()], ids=["array", "scalar"])
def test_scaling_scores_and_rate_together_changes_nothing(name, tier):
    whole, parts = (
        Noise(name, NoiseRate(Fraction(1))),
        Noise(name, NoiseRate(Fraction(1, 64)), 0, 64),
    )
    assert agree(cell_law(tier, whole, [0, 2, 3], 2), cell_law(tier, parts, [0, 2, 3], 2))


# ------------------------------------------------------------------------- published gap laws


def survival(law: Chances, order: tuple[int, ...], *at_least: int) -> Fraction:
    """P(this order, and gaps of so many steps or more)."""
    return sum(
        (
            chance
            for outcome, chance in law.items()
            if outcome
            and outcome[0] == order
            and all(gap >= least for gap, least in zip(outcome[1], at_least, strict=True))
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("tier", [Array(), Scalar()], ids=["array", "scalar"])
@pytest.mark.claim("C1")
def test_gaps_of_the_first_two(tier):
    """Vectors e4: scores 0, 1, 2 at rate 1, exponential noise, to 14 digits."""
    law = cell_law(tier, Noise("exponential", NoiseRate(Fraction(1))), [0, 1, 2], 2, limit=1)
    cases = VECTORS["e4_noisy_top2_with_gap_exponential"]["cases"]
    for name, text in cases.items():
        order, *gaps = (part.split("=")[-1] for part in name.split(";"))
        found = survival(law, tuple(map(int, order.split(","))), *(int(g[-1]) for g in gaps))
        assert abs(found - Fraction(text)) < SLACK
    assert len(cases) == 12


@pytest.mark.parametrize("tier", [Array(), Scalar()], ids=["array", "scalar"])
@pytest.mark.parametrize("case", ["v1@rate=1", "v5@rate=3"])
@pytest.mark.claim("C1")
def test_gap_of_the_winner(tier, case):
    """Vectors e3: exponential noise to 14 digits; Laplace noise, of two, as far as cells tell."""
    given_case = VECTORS["e3_noisy_max_gap_joint_survival"]["cases"][case]
    values = [Fraction(score) for score in given_case["scores"]]
    size = 2 if len(values) == 2 else 12  # grid steps a unit
    steps = [int(score * size) for score in values]
    steps = [step - min(steps) for step in steps]
    limit = 3 * size if len(steps) == 2 else size
    noise = Noise("exponential", NoiseRate(Fraction(given_case["rate"]) / size))
    laws = {"exp": cell_law(tier, noise, steps, 1, limit=limit)}
    if len(steps) == 2:
        laws["lap"] = cell_law(tier, replace(noise, name="laplace", level=3), steps, 1, limit=limit)
        assert laws["lap"][None] < Fraction(1, 8)
    checked = 0
    for name, text in given_case["joint_survival"].items():
        kind, winner, gap = (part.split("=")[-1] for part in name.split(","))
        least = int(Fraction(gap) * size)
        if kind not in laws or least > limit:
            continue
        found = survival(laws[kind], (int(winner),), least)
        assert found <= Fraction(text) + SLACK
        assert Fraction(text) <= found + laws[kind].get(None, Fraction(0)) + SLACK
        checked += 1
    assert checked == (20 if len(steps) == 2 else 12)


# ----------------------------------------------------------------------------------- mutants


class TiesByPosition(Scalar):
    def outcome(self, noise, scores, cells, ranks, k, gaps):
        return super().outcome(noise, scores, cells, tuple(sorted(ranks)), k, gaps)


class GapsUp(Scalar):
    """A gap is rounded to the integer above where the lower part is the larger one."""

    def outcome(self, noise, scores, cells, ranks, k, gaps):
        result = super().outcome(noise, scores, cells, ranks, k, gaps)
        heights = [score + cell for score, cell in zip(scores, cells, strict=True)]
        first, second = sorted(heights, reverse=True)[:2]
        return Ranking(result.indices, (first - second,))


class OtherRate(Array):
    """A rate that is off by one part in 10**11."""

    def masses(self, noise):
        rate = noise.noise_rate.rate * (1 + Fraction(1, 10**11))
        return super().masses(replace(noise, noise_rate=NoiseRate(rate)))


@pytest.mark.parametrize(
    ("mutant", "limit"), [(TiesByPosition(), None), (GapsUp(), 1), (OtherRate(), None)]
)
def test_mutants_are_noticed(mutant, limit):
    noise = Noise("exponential", NoiseRate(Fraction(1)))
    right = cell_law(Array(), noise, [0, 0, 1], 1, limit=limit)
    assert not agree(cell_law(mutant, noise, [0, 0, 1], 1, limit=limit), right)


def test_one_shot_noise_is_not_peeling():
    noise = Noise("exponential", NoiseRate(Fraction(1)))
    peeled = peeled_law(Scalar(), noise, [0, 1, 3], 2)
    assert not agree(cell_law(Array(), noise, [0, 1, 3], 2), peeled)
