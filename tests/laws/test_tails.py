"""The far ends of the noise: a leader among a million candidates, and millions of noisy integers.

The largest of a million noises lies where one noise has a chance of 10**-6, so the share of draws
that the leader wins shows the law out there.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from chances import fits

from safeselect import exponential_mechanism, measure, permute_and_flip, report_noisy_max

pytestmark = pytest.mark.nightly("ten thousand draws of a million candidates")
N, DRAWS = 10**6, 10**4


def laplace(lead):
    """The density of the leader's noise times the chance that all others stay below."""
    x = np.linspace(-40, 60, 10**6 + 1)
    half = np.exp(-np.abs(x + lead)) / 2
    below = np.log(np.where(x + lead > 0, 1 - half, half))
    return float(np.sum(np.exp((N - 1) * below - np.abs(x)) / 2) * (x[1] - x[0]))


CASES = {
    "exponential": (exponential_mechanism, {}, 14, 1 / (1 + (N - 1) * np.exp(-14.0))),
    "gumbel": (report_noisy_max, {"noise": "gumbel"}, 12, 1 / (1 + (N - 1) * np.exp(-12.0))),
    "flip": (permute_and_flip, {}, 13, (1 - (1 - np.exp(-13.0)) ** N) / (N * np.exp(-13.0))),
    "laplace": (report_noisy_max, {"noise": "laplace"}, 14, laplace(14)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_leader_among_a_million_wins_as_often_as_its_law_says(name):
    call, words, lead, wins = CASES[name]
    scores = np.zeros(N, np.int64)
    scores[N // 3] = lead
    drawn = (call(scores, epsilon=1, sensitivity=1, monotonic=True, **words) for _ in range(DRAWS))
    counts = Counter(each.index == N // 3 for each in drawn)
    assert fits(counts, {True: wins, False: 1 - wins}, sees=0.06)


@pytest.mark.parametrize("cost", [{"epsilon": 1, "sensitivity_l1": 1}, {"rho": "1/8"}], ids=str)
def test_millions_of_noisy_integers_have_the_ends_of_their_law(cost):
    cost = {"sensitivity_l2_squared": 1, **cost} if "rho" in cost else cost
    x = np.arange(-60, 61)
    weights = np.exp(-np.abs(x)) if "epsilon" in cost else np.exp(-(x**2) / 8.0)
    law = np.bincount(x.clip(-12, 12) + 12, weights / weights.sum())
    drawn = np.clip([measure(np.zeros(N, int), **cost).values for _ in range(4)], -12, 12) + 12
    assert fits(Counter(drawn.ravel().tolist()), dict(enumerate(law.tolist())), sees=0.005)
