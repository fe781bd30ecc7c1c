"""The law of the array engine is the law of the scalar tier, by one convolution for both.

Each tier's own chances of noise, in cells of the grid, are pushed through its own way of combining
(`tests/support/tiers.py`, `cell_laws.py`), in integers rounded down.  So each law is a list of
lower bounds that lack less than 2**-48 in all, and where they differ by no more for every outcome,
"undecided in these cells" included, the laws agree to 14 digits.  Finer cells leave less undecided:
half as much for each level.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from array_tier import Array, crossing
from cell_laws import Chances, cell_law, difference, missing, peeled_law
from checks.cells import ranking_law
from effort import LONG, some
from hypothesis import given, settings
from hypothesis import strategies as st
from scalar_tier import Scalar, geometric_law
from tiers import RANKS, Noise

from safeselect.engine import Ranking
from safeselect.exact.interval import NoiseRate

pytestmark = [
    pytest.mark.claim("C1"),
    pytest.mark.nightly(
        "test_luce.py, test_combine.py and known answers see the faults that this sees"
    ),
]

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


@pytest.mark.parametrize(("name", "k"), some([*product(NAMES, [1, 2])], 3))
@settings(max_examples=8 if LONG else 2)
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


@pytest.mark.parametrize(("name", "k"), some([*product(NAMES, [1, 2])], 3))
@settings(max_examples=5 if LONG else 1)
@given(data=st.data())
@pytest.mark.claim("C1")
def test_orders_with_gaps(name, k, data):
    """Gaps are told apart up to 2 steps, or 1 of two gaps."""
    noise = data.draw(noises(name, GAP_CUTS))
    values = data.draw(scores(3, at_least=k + 1))
    limit = 2 if k == 1 else 1
    array = cell_law(Array(data.draw(st.sampled_from([0, 30]))), noise, values, k, limit=limit)
    assert agree(array, cell_law(Scalar(), noise, values, k, limit=limit))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.claim("C1")
def test_gaps_have_the_published_law(name):
    """What the array engine decides in these cells, within bounds that know no engine."""
    noise = Noise(name, RATES[1], 0 if name == "exponential" else 3)
    law = cell_law(Array(), noise, [1, 0], 1, limit=2)
    undecided = law.pop(None, Fraction(0)) + SLACK
    assert undecided < Fraction(1, 4)
    enclosed = ranking_law(name, [1, 0], RATES[1].rate, gaps=3, fineness=7)
    assert {(who[0], gaps[0]) for who, gaps in law} == enclosed.keys()
    for (who, gaps), chance in law.items():
        low, high = enclosed[who[0], gaps[0]]
        assert chance <= high
        assert low <= chance + undecided


@settings(max_examples=8 if LONG else 3)
@given(noise=noises("exponential", CUTS), values=scores(3), extra=st.sampled_from([0, 30]))
@pytest.mark.claim("C1")
def test_peeled_permute_and_flip(noise, values, extra):
    assert agree(peeled_law(Array(extra), noise, values, 2), peeled_law(Scalar(), noise, values, 2))


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
