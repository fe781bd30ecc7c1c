"""The k best above a threshold: what it cuts off, what it says it cost, and its law."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import exp
from pathlib import Path

import numpy as np
import pytest

from safeselect import LaplaceDominated, ParameterError, engine, top_k_above
from safeselect.engine import Ranking

pytestmark = [
    pytest.mark.claim("C1"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sparse_vector.json").read_text())
BASE = {"threshold": 5, "k": 2, "epsilon": 1, "sensitivity": 1}
SURE = {**BASE, "epsilon": 2**20}


def test_a_threshold_may_lie_below_zero():
    found = top_k_above([-9, -3, 5], **{**SURE, "threshold": "-5", "k": 3})
    assert found.indices == (2, 1)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_sure_outcomes(noise):
    options = {**SURE, "noise": noise}
    found = top_k_above({"a": 9, "b": -3, "c": 30, "d": 0}, **options)
    assert found.labels == ("c", "a")
    assert found.indices is None
    assert [abs(gap - exact) <= 1 for gap, exact in zip(found.gaps, (21, 4), strict=True)]
    assert found.spent == 2**20
    few = top_k_above([9, -3, 0], **options)
    assert (few.indices, few.spent) == ((0,), 2**20)
    none = top_k_above(np.array([4, -3, 0]), **options)
    assert (none.indices, none.gaps, none.spent) == ((), (), 2**19)
    assert top_k_above([9, -3, 30, 0], minimize=True, **options).indices == (1, 3)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_what_is_released_is_the_ranking_down_to_the_threshold(noise, monkeypatch):
    """Every ranking of three scores and the threshold, for k = 1, 2, 3."""
    for k in (1, 2, 3):
        for order in permutations(range(4), k):
            gaps = tuple(range(10, 10 + k))
            seen = []

            def rank(
                name,
                steps,
                count,
                noise_rate,
                bits,
                *,
                gaps,
                gap_unit,
                order=order,
                found=gaps,
                seen=seen,
            ):
                assert name == noise
                seen.append((list(map(int, steps)), count, noise_rate.rate, gaps))
                return Ranking(order, found)

            monkeypatch.setattr(engine, "noisy_top_k", rank)
            found = top_k_above([7, 0, 9], **{**BASE, "k": k}, labels=["x", "y", "z"], noise=noise)
            ((steps, count, rate, asked),) = seen
            # The threshold takes part as the last candidate, where it belongs.
            assert [step - steps[3] for step in steps] == [2, -5, 4, 0]
            # R counts the threshold, which does not move: twice the sensitivity.
            assert (count, rate, asked) == (k, Fraction(1, 2 * k), True)
            expected = order[: order.index(3)] if 3 in order else order
            assert found.indices == expected
            assert found.labels == tuple("xyz"[i] for i in expected)
            assert found.gaps == gaps[: len(expected)]
            place = order.index(3) + 1 if 3 in order else k
            assert found.spent == Fraction(place, k)
            assert found.guarantee == LaplaceDominated(Fraction(1))
            assert found.mechanism == f"top_k_above_{noise}/1"


# e4: scores 0, 1, 2, exponential noise of rate 1, ordered top 2.  Score 1 is the threshold here.
E4 = {
    key.split(";")[0].removeprefix("order="): float(value)
    for key, value in VECTORS["e4_noisy_top2_with_gap_exponential"]["cases"].items()
    if "g1>=0" in key
}


@cache
def order_chance(first: int, second: int, third: int) -> float:
    """P(first > second > third) for scores with exponential noise of rate 1, by quadrature."""
    x, w = np.polynomial.legendre.leggauss(20)
    y = max(second, third) + np.add.outer(np.arange(50), (x + 1) / 2)
    above = np.exp(-np.maximum(y - first, 0))
    return float((np.exp(-(y - second)) * above * (1 - np.exp(-(y - third))) * w / 2).sum())


def test_what_an_outcome_cost_bounds_its_ratio():
    """Two candidates and the threshold 1, k = 2, monotone: all neighbours of scores 0 .. 3."""
    epsilon = 2  # k times the rate

    def outcomes(a, b, t=1):
        return {
            "nobody": (order_chance(t, a, b) + order_chance(t, b, a), 1),
            "a": (order_chance(a, t, b), 2),
            "b": (order_chance(b, t, a), 2),
            "a, b": (order_chance(a, b, t), 2),
            "b, a": (order_chance(b, a, t), 2),
        }

    assert abs(sum(chance for chance, _ in outcomes(0, 2).values()) - 1) < 1e-12
    assert abs(outcomes(0, 2)["b"][0] - E4["2,1"]) < 1e-12
    worst = 0.0
    for scores in product(range(4), repeat=2):
        for move in [*product((0, 1), repeat=2), *product((0, -1), repeat=2)]:
            here = outcomes(*scores)
            there = outcomes(*(s + d for s, d in zip(scores, move, strict=True)))
            for name, (chance, place) in here.items():
                spent = epsilon * place / 2
                assert chance <= exp(spent) * there[name][0] * (1 + 1e-9)
                worst = max(worst, chance / there[name][0] / exp(spent))
    assert worst > 0.9  # the bound is nearly met


# ------------------------------------------------------------------- the threshold among scores


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"k": 4}, "k must be between 1 and 3"),
        ({"k": 0}, "k must be between 1 and 3"),
        ({"threshold": "x"}, "threshold must be a finite number"),
        ({"noise": "gumbel"}, "noise must be 'exponential' or 'laplace'"),
        ({"sensitivity": None}, "sensitivity must be an int"),
        ({"epsilon": -1}, "epsilon must be greater than zero"),
        ({"monotonic": 2}, "monotonic must be True or False"),
    ],
)
def test_wrong_parameters_are_refused(wrong, sentence):
    with pytest.raises(ParameterError, match=sentence):
        top_k_above([1, 2, 3], **{**BASE, **wrong})
