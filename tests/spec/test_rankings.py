"""The laws of the specification, by parts, each on its own code.

1. The draw: its law is walked on the tree of random bits.
2. The combine step: enumerated over all noise on toy lattices against a brute-force definition.
3. The two put together by exact convolution: equal to reference values of 30 digits.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import factorial, lcm
from pathlib import Path

import mpmath
import numpy as np
import pytest
from convolution import gumbel_tie, laplace_tie_share, ordered_law
from effort import pairs, some
from exact_pmf import Choices, bit_tree, choice_tree
from sampler_laws import exp_minus, shortened

from safeselect.exact.interval import NoiseRate
from safeselect.spec import rankings
from safeselect.spec.rankings import (
    ExponentialNoise,
    combine_continuous,
    combine_exponential,
    draw_exponential,
    exponential_mechanism,
    noisy_top_k,
    peeled_top_k,
    permute_and_flip,
)

pytestmark = pytest.mark.claim("C1")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laws.json").read_text())


def cases(group: str) -> list[tuple[str, dict]]:
    return list(VECTORS[group]["cases"].items())


def on_grid(case: dict) -> tuple[list[int], Fraction]:
    """Scores as integers on their smallest common grid, and the rate per step."""
    scores = [Fraction(score) for score in case["scores"]]
    size = lcm(*(score.denominator for score in scores))
    return [int(score * size) for score in scores], Fraction(case["rate"]) / size


# --------------------------------------------------------------------- by chances, as published


def assert_published(law, case):
    assert law.unfinished < Fraction(1, 10**15)
    for i, text in enumerate(case["probs"]):
        low, high = law.bounds(i)
        assert low - Fraction(1, 10**15) <= Fraction(text) <= high + Fraction(1, 10**15)


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("name", "case"), cases("a_permute_and_flip_probs"))
def test_permute_and_flip_by_coins(name, case, monkeypatch):
    scores, rate = on_grid(case)

    def flip(choices: Choices, noise_rate: NoiseRate, behind: int) -> bool:
        return choices.enclosed(*shortened(exp_minus(noise_rate.rate * behind)))

    def order(choices: Choices, n: int) -> tuple[int, ...]:
        return list(permutations(range(n)))[choices.below(factorial(n))]

    monkeypatch.setattr(rankings, "bernoulli_power", flip)
    monkeypatch.setattr(rankings, "permutation", order)
    run = lambda choices: permute_and_flip(scores, NoiseRate(rate), choices)  # noqa: E731
    assert_published(choice_tree(run, max_leaves=5000), case)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("weights", [None, [3, 1, 2, 5]])
@pytest.mark.parametrize(("name", "case"), cases("b_exponential_mechanism_probs"))
def test_exponential_mechanism_by_shares(name, case, weights, monkeypatch):
    scores, rate = on_grid(case)

    def toss(choices: Choices, enclose) -> bool:
        low, high = shortened(enclose(96).fractions())
        return choices.enclosed(low, min(high, Fraction(1)))

    monkeypatch.setattr(rankings, "bernoulli_enclosed", toss)
    if weights is not None:
        # The published chances, weighed.
        weights = [Fraction(each) for each in (*weights, 7)[: len(scores)]]
        heavy = [Fraction(p) * w for p, w in zip(case["probs"], weights, strict=True)]
        case = {"probs": [each / sum(heavy) for each in heavy]}
    run = lambda choices: exponential_mechanism(scores, NoiseRate(rate), choices, weights)  # noqa: E731
    assert_published(choice_tree(run, max_leaves=5000), case)


def test_weights_are_added_as_logarithms(monkeypatch):
    """Gumbel noise of 0 for all: the heaviest wins, and one of e**3 at rate 1 leads by three."""

    class Still:
        level, floor = 40, 0

        def __init__(self, bits, noise_rate):
            pass

    monkeypatch.setitem(rankings._CONTINUOUS, "gumbel", Still)
    heavy = [Fraction(1), Fraction(20_085_537, 1_000_000), Fraction(2)]
    more = {"gaps": True, "weights": heavy}
    found = noisy_top_k("gumbel", [0, 0, 0], 2, NoiseRate(Fraction(1)), None, **more)
    assert (found.indices, found.gaps) == ((1, 2), (2, 0))  # e**3 / 2 is e**2.3, and ln 2 is 0.69
    doubled = noisy_top_k("gumbel", [0, 3, 0], 1, NoiseRate(Fraction(1, 2)), None, **more)
    assert (doubled.indices, doubled.gaps) == ((1,), (7,))  # ln is worth two steps: 3 + 6 - 1.4


# ------------------------------------------------------------------ what the combine step decides


def heights(count: int, blocks) -> list[int]:
    """The cell of each candidate, counted upwards; -1 for those in no block."""
    floors = [-1] * count
    for height, block in enumerate(reversed(blocks)):
        for i in block:
            floors[i] = height
    return floors


def exponential_outcomes(count: int, k: int, number=np.longdouble):
    """The conditional law of the order given who shares a cell, by the shipped combine step."""

    def outcomes(blocks):
        floors = tuple(heights(count, blocks))
        law: Counter[tuple[int, ...]] = Counter()
        for ranks in permutations(range(count)):
            noise = ExponentialNoise(floors, ranks)
            law[combine_exponential([0] * count, noise, k).indices] += 1
        return {order: number(times) / number(factorial(count)) for order, times in law.items()}

    return outcomes


def continuous_outcomes(count: int, k: int):
    def outcomes(blocks):
        ranking = combine_continuous([0] * count, heights(count, blocks), 0, k)
        return None if ranking is None else {ranking.indices: 1}

    return outcomes


@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 3), (2, 0, 0, 1), (3, 3, 0, 0)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_combine_exponential_is_the_definition_on_every_toy_noise(scores, k):
    """All noise 0..7 of up to four candidates, all rankings: order and gaps as defined."""
    n = len(scores)
    for floors in product(range(8), repeat=n):
        for ranks in permutations(range(n)):
            # A continuous noise with these floors and this order of what lies below the grid, in
            # units of a part of a grid step.
            noisy = [
                (s + f) * (n + 1) + r + 1 for s, f, r in zip(scores, floors, ranks, strict=True)
            ]
            order = sorted(range(n), key=noisy.__getitem__, reverse=True)
            ranking = combine_exponential(scores, ExponentialNoise(floors, ranks), k, gaps=k < n)
            assert ranking.indices == tuple(order[:k])
            if k < n:
                gaps = [noisy[a] - noisy[b] for a, b in pairwise(order[: k + 1])]
                assert ranking.gaps == tuple(gap // (n + 1) for gap in gaps)


@pytest.mark.parametrize(
    ("level", "case", "gap_unit"),
    pairs(
        [0, 1, 2],
        [((0, 0, 1), 1), ((0, 2, 1), 2), ((1, 0, 1), 3), ((0, 1, 0, 1), 1)],
        [None, Fraction(1), Fraction(3, 2)],
    ),
)
def test_combine_continuous_decides_exactly_when_all_completions_agree(level, case, gap_unit):
    """Every noise on a toy lattice: decided if and only if all finer digits lead to one answer."""
    scores, k = case
    n = len(scores)
    gaps = gap_unit is not None and k < n  # the last gap needs one candidate more
    unit = gap_unit or Fraction(1)
    # Positions inside the cell, near both ends and in any order: all that finer digits can bring.
    # A little apart from candidate to candidate, because continuous noise never ties.
    inside = [
        [Fraction(j, 100) + Fraction(i, 10**4) for j in (1, 50, 98)[:: n - 2]] for i in range(n)
    ]
    span = range(-4, 4) if n == 3 else range(-2, 2)
    for floors in product(span, repeat=n):
        answers = set()
        for parts in product(*inside):
            noisy = [
                s + (f + part) / 2**level for s, f, part in zip(scores, floors, parts, strict=True)
            ]
            order = sorted(range(n), key=lambda i: -noisy[i])
            floor = lambda x: x.numerator // x.denominator  # noqa: E731
            answers.add(
                (
                    tuple(order[:k]),
                    tuple(floor((noisy[a] - noisy[b]) / unit) for a, b in pairwise(order[: k + 1]))
                    if gaps
                    else None,
                )
            )
        ranking = combine_continuous(scores, floors, level, k, gaps=gaps, unit=unit)
        if ranking is None:
            assert len(answers) > 1
        else:
            assert answers == {(ranking.indices, ranking.gaps)}


# ------------------------------------------------------------------------- the draw, by bit tree


def test_draw_exponential_is_independent_geometric_noise_and_a_uniform_ranking():
    law = bit_tree(
        lambda bits: (lambda noise: (noise.floors, noise.ranks))(
            draw_exponential(2, NoiseRate(Fraction(2)), bits)
        ),
        max_leaves=20_000,
    )
    rho = exp_minus(Fraction(2))[0]
    assert law.unfinished < Fraction(1, 6)
    for floors in product(range(3), repeat=2):
        for ranks in permutations(range(2)):
            exact = (1 - rho) ** 2 * rho ** sum(floors) / 2
            low = law.lower.get((floors, ranks), Fraction(0))
            assert low <= exact + Fraction(1, 10**25)
            assert exact <= low + law.unfinished + Fraction(1, 10**25)


# ------------------------------------------------------------ put together, against the vectors


def geometric_cells(scores, rate):
    """Cell masses of score + exponential noise; the cut-off tail is below 1e-17 in all."""
    rho = np.exp(-np.longdouble(rate.numerator) / np.longdouble(rate.denominator))
    cut = int(45 / rate) + 2
    levels = np.arange(min(scores), max(scores) + cut)
    mass, below = [], []
    for score in scores:
        steps = (levels - score).astype(np.longdouble)
        alive = steps >= 0
        power = rho ** np.where(alive, steps, 0)
        mass.append(np.where(alive, (1 - rho) * power, 0))
        below.append(np.where(alive, 1 - power, 0))
    return mass, below


def check(law, expected, digits=12):
    for order, text in expected.items():
        exact = np.longdouble(text)
        assert abs(law[order] - exact) <= exact * np.longdouble(10) ** -digits + np.longdouble(
            "1e-17"
        )
    assert abs(sum(law.values()) - 1) < np.longdouble("1e-15")


def one(case):
    return {(i,): text for i, text in enumerate(case["probs"])}


def two(case):
    return {
        tuple(int(i) for i in key.split(",")): text for key, text in case["ordered_top2"].items()
    }


def one_shot(one_winner: str, two_winners: str) -> list:
    """Cases of a law of one winner, and of one of two in their order."""
    return [
        *((1, case, one(case)) for _, case in cases(one_winner)),
        *((2, case, two(case)) for _, case in cases(two_winners)),
    ]


@pytest.mark.claim("C1")
@pytest.mark.parametrize(
    ("k", "case", "law"), one_shot("a_permute_and_flip_probs", "c3_oneshot_exponential_top2")
)
def test_exponential_noise_law(k, case, law):
    scores, rate = on_grid(case)
    mass, below = geometric_cells(scores, rate)
    count = len(scores)
    check(ordered_law(count, k, mass, below, exponential_outcomes(count, k)), law)


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("name", "case"), cases("c2_peeled_pf_top2"))
def test_peeled_permute_and_flip_top2_law(name, case):
    """Each round is permute-and-flip on the candidates that remain (see the next test)."""
    scores, rate = on_grid(case)

    def round_law(remaining):
        mass, below = geometric_cells([scores[i] for i in remaining], rate)
        count = len(remaining)
        return ordered_law(count, 1, mass, below, exponential_outcomes(count, 1))

    law = {}
    everyone = list(range(len(scores)))
    for (first,), share in round_law(everyone).items():
        remaining = [i for i in everyone if i != first]
        for (second,), inner in round_law(remaining).items():
            law[first, remaining[second]] = share * inner
    check(law, two(case))


def test_peeling_draws_anew_for_those_who_remain(monkeypatch):
    drawn = []
    scripted = iter([(0, 5, 0, 0), (9, 0, 0), (0, 1)])

    def draw(count, noise_rate, bits):
        drawn.append(count)
        return ExponentialNoise(next(scripted), tuple(range(count)))

    monkeypatch.setattr(rankings, "draw_exponential", draw)
    ranking = peeled_top_k("exponential", [0, 0, 3, 1], 3, NoiseRate(Fraction(1)), None)
    assert drawn == [4, 3, 2]
    assert ranking.indices == (1, 0, 2)


def gumbel_cells(scores, nats, number, exp, digits):
    """Weights, and the distribution functions at both ends of every cell."""
    weight = [exp(nats * score) for score in scores]
    lowest = min(scores) - int(np.ceil(np.log(digits * 3.0) / float(nats))) - 1
    highest = max(scores) + int(np.ceil(digits * 2.4 / float(nats))) + 1
    ends = [exp(-nats * number(v)) for v in range(lowest, highest + 1)]
    low = [np.array([exp(-w * end) for end in ends[:-1]]) for w in weight]
    high = [np.array([exp(-w * end) for end in ends[1:]]) for w in weight]
    return weight, low, high


def gumbel_law(scores, k, nats, number, exp, digits):
    weight, low, high = gumbel_cells(scores, nats, number, exp, digits)
    mass = [above - under for above, under in zip(high, low, strict=True)]

    def undecided(order, blocks):
        block = blocks[-1]
        inside = [i for i in order if i in block]
        if len(inside) == len(block):
            # The order among all of them: the last place is settled by those before it.
            inside = inside[:-1] or inside
        return gumbel_tie(inside, block, weight, low, high)

    return ordered_law(len(scores), k, mass, low, continuous_outcomes(len(scores), k), undecided)


@pytest.mark.claim("C1")
@pytest.mark.parametrize(
    ("k", "case", "law"), one_shot("b_exponential_mechanism_probs", "c1_peeled_em_top2")
)
def test_gumbel_noise_law(k, case, law):
    scores, rate = on_grid(case)
    nats = np.longdouble(rate.numerator) / np.longdouble(rate.denominator)
    check(gumbel_law(scores, k, nats, np.longdouble, np.exp, 20), law)


@pytest.mark.slow("exhaustive enumeration")
@pytest.mark.claim("C1")
@pytest.mark.parametrize(("name", "case"), some(cases("b2_base2_exponential_mechanism"), 4))
def test_base2_law_is_the_rational_one(name, case):
    mpmath.mp.dps = 45
    base = Fraction(case["base"])
    nats = -mpmath.log(mpmath.mpf(base.numerator) / base.denominator)
    law = gumbel_law(case["utilities_to_maximise"], 1, nats, mpmath.mpf, mpmath.exp, 35)
    for i, text in enumerate(case["probs_exact"]):
        exact = Fraction(text)
        difference = law[i,] * exact.denominator - exact.numerator
        assert abs(difference) <= exact.numerator * mpmath.mpf(10) ** -28


@pytest.mark.claim("C1")
@pytest.mark.parametrize(("name", "case"), cases("d_rnm_laplace_argmax"))
def test_noisy_max_laplace_law(name, case):
    scores, rate = on_grid(case)
    count = len(scores)
    nats = np.longdouble(rate.numerator) / np.longdouble(rate.denominator)
    rho = np.exp(-nats)
    # The integrals over narrow cells cancel (1 - rho)**n, so they are taken with 50 digits.
    mpmath.mp.dps = 50
    fine_rho = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    cut = int(45 / rate) + 2
    levels = np.arange(min(scores) - cut, max(scores) + cut)
    mass, below, negative = [], [], []
    for score in scores:
        steps = (levels - score).astype(np.longdouble)
        mass.append((1 - rho) * rho ** np.where(steps >= 0, steps, -steps - 1) / 2)
        below.append(np.where(steps >= 0, 1 - rho ** abs(steps) / 2, rho ** abs(steps) / 2))
        negative.append(levels < score)

    def undecided(order, blocks):
        (block,) = blocks
        members = sorted(block)
        sides = np.zeros(len(levels), dtype=int)
        for place, i in enumerate(members):
            sides |= negative[i].astype(int) << place
        shares = {
            side: np.longdouble(
                mpmath.nstr(
                    laplace_tie_share(
                        order[0],
                        {i: bool(side >> place & 1) for place, i in enumerate(members)},
                        fine_rho,
                    ),
                    25,
                )
            )
            for side in set(sides.tolist())
        }
        inside = np.array([shares[side] for side in sides.tolist()], dtype=np.longdouble)
        return inside * np.prod([mass[i] for i in members], axis=0)

    law = ordered_law(count, 1, mass, below, continuous_outcomes(count, 1), undecided)
    check(law, one(case))
