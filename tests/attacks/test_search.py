"""A14: whoever may only look at outputs searches for an event that breaks the promise.

The search sees half of the runs and picks the event whose likelihood ratio it likes best; the other
half decides.  Looking at outputs finds gross mistakes only: what has a probability below about
1e-4 stays unseen.  The exact laws (`tests/spec/test_rankings.py`, `safeselect verify`)
are the evidence; this is a check of them from outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from math import exp, log

import numpy as np
import pytest
from chances import divergence, least_number, threshold

import safeselect
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.claim("C2")]

RUNS = 40_000
EPSILON = 1
# One person raises the first score and lowers all others: the worst that sensitivity 1 allows.
LEFT = [0] + [1] * 19
RIGHT = [1] + [0] * 19


def bound(share: float, runs: int, *, upper: bool) -> float:
    """A bound on a probability by Chernoff, wrong with a chance of at most FALSE_ALARM / 4."""
    if not upper:
        return 1 - bound(1 - share, runs, upper=True)
    return least_number(lambda p: runs * divergence(share, p) > threshold(2), share)


def epsilon_at_least(left: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """A lower bound on epsilon, wrong with a probability of at most FALSE_ALARM."""
    one, two = list(left), list(right)
    half, best = len(one) // 2, 0.0
    for p, q in ((one, two), (two, one)):
        seen, other = Counter(p[:half]), Counter(q[:half])
        ranked = sorted(seen, key=lambda each: (seen[each] + 1) / (other[each] + 1), reverse=True)
        sizes = range(1, min(len(ranked), 12) + 1)
        event = max(
            (frozenset(ranked[:size]) for size in sizes),
            key=lambda each: least(p[:half], q[:half], each),
        )
        best = max(best, least(p[half:], q[half:], event))
    return best


def least(left: list[Hashable], right: list[Hashable], event: frozenset[Hashable]) -> float:
    shares = [sum(each in event for each in runs) / len(runs) for runs in (left, right)]
    low = bound(shares[0], len(left), upper=False)
    high = bound(shares[1], len(right), upper=True)
    return log(low / high) if low > high else 0.0


def sample(mechanism: str, scores: list[int], tape: int, **more: object) -> list[int]:
    """The winners of so many runs at EPSILON each."""
    rows = np.tile(np.array(scores, dtype=np.int64), (RUNS, 1))
    source = DeterministicSource(tape, i_understand_this_is_not_private=True)
    return safeselect.select_many(
        rows, epsilon=RUNS * EPSILON, sensitivity=1, mechanism=mechanism, source=source, **more
    ).indices.tolist()


NAMES = ("permute_and_flip", "exponential", "exponential_base2")


def test_the_bounds_are_those_of_the_binomial():
    low, high = (bound(0.3, 10_000, upper=upper) for upper in (False, True))
    assert 0.27 < low < 0.3 < high < 0.34
    assert bound(0.0, 1000, upper=True) < 0.03
    assert bound(1.0, 1000, upper=False) > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_a14_the_naive_half_of_the_noise_is_found_out(name):
    """The factor 2 dropped: scores that move both ways are declared monotonic."""
    left = sample(name, LEFT, 1, monotonic=True)
    assert epsilon_at_least(left, sample(name, RIGHT, 2, monotonic=True)) > EPSILON


@pytest.mark.parametrize("name", NAMES)
def test_a14_ours_keeps_its_promise_under_the_same_search(name):
    found = epsilon_at_least(sample(name, LEFT, 3), sample(name, RIGHT, 4))
    assert found <= EPSILON
    # And the search was close: the mechanism spends what it says.
    assert exp(found) > 1.5
