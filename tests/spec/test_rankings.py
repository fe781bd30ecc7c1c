"""The laws of the specification, by parts, each on its own code.

1. The draw: its law is walked on the tree of random bits.
2. The combine step: enumerated over all noise on toy lattices against a brute-force definition.
3. The two put together by convolution: reference values lie within its bounds.

That the combine step of exponential noise is the definition: `tests/proofs/test_combine.py`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations, product
from math import factorial, lcm

import pytest
from cell_laws import cell_law, missing, outside, peeled_law
from effort import pairs
from exact_pmf import Choices, bit_tree, choice_tree
from sampler_laws import exp_minus, shortened
from scalar_tier import Scalar
from tiers import Noise

from safeselect.exact.interval import NoiseRate
from safeselect.spec import rankings
from safeselect.spec.rankings import (
    combine_continuous,
    draw_exponential,
    exponential_mechanism,
    noisy_top_k,
    permute_and_flip,
)
from vectors import vectors

pytestmark = pytest.mark.claim("C1")

VECTORS = vectors("laws")


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
    more = {"gaps": True, "weights": [Fraction(1), Fraction(20_085_537, 1_000_000), Fraction(2)]}
    found = noisy_top_k("gumbel", [0, 0, 0], 2, NoiseRate(Fraction(1)), None, **more)
    assert (found.indices, found.gaps) == ((1, 2), (2, 0))  # e**3 / 2 is e**2.3, and ln 2 is 0.69
    doubled = noisy_top_k("gumbel", [0, 3, 0], 1, NoiseRate(Fraction(1, 2)), None, **more)
    assert (doubled.indices, doubled.gaps) == ((1,), (7,))  # ln is worth two steps: 3 + 6 - 1.4


# ------------------------------------------------------------------ what the combine step decides


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


@pytest.mark.nightly("tests/proofs/test_luce.py")
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


LAWS = {
    "a_permute_and_flip_probs": ("exponential", 1, 0),
    "b_exponential_mechanism_probs": ("gumbel", 1, 2),
    "c1_peeled_em_top2": ("gumbel", 2, 2),
    "c2_peeled_pf_top2": ("peeled", 2, 0),
    "c3_oneshot_exponential_top2": ("exponential", 2, 0),
    "d_rnm_laplace_argmax": ("laplace", 1, 4),
}
"""Of what noise, how many are ranked, and how many digits of a step are known."""


@pytest.mark.claim("C1")
@pytest.mark.parametrize(
    ("group", "name"),
    [*((group, "v3@rate=3") for group in LAWS), *((group, "v4@rate=1") for group in LAWS)][:-5],
)
def test_laws_are_the_published_ones(group, name):
    """Exponential noise in cells decides all, other noise of a few digits most."""
    noise, k, level = LAWS[group]
    case = VECTORS[group]["cases"][name]
    scores, rate = on_grid(case)
    given = case.get("ordered_top2") or {str(i): text for i, text in enumerate(case["probs"])}
    law = {tuple(map(int, key.split(","))): Fraction(text) for key, text in given.items()}
    if noise == "peeled":
        known = peeled_law(Scalar(), Noise("exponential", NoiseRate(rate)), scores, k)
    else:
        known = cell_law(Scalar(), Noise(noise, NoiseRate(rate), level), scores, k)
    assert missing(known) + known.get(None, 0) < (Fraction(1, 2) if level else Fraction(1, 2**40))
    assert outside(known, law) == 0
