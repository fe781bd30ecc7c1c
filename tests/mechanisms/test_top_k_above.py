"""The k best above a threshold: what it cuts off, what it says it cost, and its law."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from safeselect import LaplaceDominated, engine, top_k_above
from safeselect.engine import Ranking

pytestmark = [pytest.mark.claim("C1")]

BASE = {"threshold": 5, "k": 2, "epsilon": 1, "sensitivity": 1}


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_what_is_released_is_the_ranking_down_to_the_threshold(noise, monkeypatch):
    """Every ranking of three scores and the threshold, for k = 1, 2, 3."""
    for k in (1, 2, 3):
        for order in permutations(range(4), k):
            gaps, seen = tuple(range(10, 10 + k)), []

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
            assert (found.indices, found.labels) == (expected, tuple("xyz"[i] for i in expected))
            assert found.gaps == gaps[: len(expected)]
            place = order.index(3) + 1 if 3 in order else k
            assert found.spent == Fraction(place, k)
            assert found.guarantee == LaplaceDominated(Fraction(1))
            assert found.mechanism == f"top_k_above_{noise}/1"
