"""Rankings on all three paths (slots, noise, keys), at each size around a limit, near ties too.

Noise is chosen first, so that candidates meet at all distances, then written to a tape as digits.
What a ranking answers must hold for every digit that it has not drawn, by `float_oracle`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import float_oracle as oracle
import numpy as np
import pytest
from tapes import Stream
from watched import drawn_as_told, path_of, tape_for, watch

import engine
from engine import LAWS, TOPS, NoiseRate, contenders, draws

pytestmark = pytest.mark.claim("C1")

RATE = 0.25
QUARTER = NoiseRate(Fraction(1, 4))


def meeting(law: str, rate: float, n: int, many: int, seed: int) -> tuple[Any, Any]:
    """Scores, and words with which `many` candidates come near one another above all others."""
    rng = np.random.default_rng(seed)
    behind = rng.uniform(0, 30, n) * (rng.random(n) < 0.7)
    steps = np.minimum(np.rint(behind / rate), 2.0**62).astype(np.uint64)
    scores = np.subtract(np.uint64(2**63), steps)
    words = rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)
    # Among those that meet is the best: who is far behind needs noise of up to 23 nats.
    chosen = rng.permutation(n)[:many]
    scores[chosen[0]] = 2**63
    meet = scores[chosen]
    place = rng.uniform(8, 13) if n > 100 else rng.uniform(0, 10)
    spread = 2.0 ** rng.uniform(-18, 1)
    words[chosen] = oracle.near_ties(
        law, rate, meet[None], np.array([[place]]), np.array([[spread]]), rng
    )[0]
    return scores, words


def check(law: str, scores: Any, words: Any, k: int) -> None:
    public = engine.ranking_plan(LAWS[law], k, QUARTER, False)
    tape = tape_for(words, public, np.random.default_rng(1))
    stream = Stream(tape, seed=3)
    result, (one,) = watch(lambda: TOPS[law](scores.copy(), k, QUARTER, stream))
    assert stream.requests[0] == len(tape)
    assert drawn_as_told(one, words)
    assert len(result.indices) == k
    assert oracle.order_is_sound(RATE, scores, one.noises(), result.indices)


def limits() -> dict[int, set[int]]:
    """The numbers of candidates around each internal limit, by k."""
    result: dict[int, set[int]] = {}
    for k in (1, 2, 33):
        need = engine.ranking_plan(LAWS["gumbel"], k, QUARTER, False)
        ends = [
            draws.DIRECT_LIMIT,
            draws.QUICK_LIMIT,
            need.contenders,
            draws.FINE_LIMIT,
            contenders._DIRECT,
            4 * contenders.GROUP * (need.contenders + 1),
            contenders._BLOCK,
            2 * contenders._BLOCK,
            draws._CHUNK,
            2 * draws._CHUNK,
        ]
        # Where blocks double, and the ends of the largest.
        ends += [3 * contenders._DIRECT << step for step in range(5)]
        result[k] = {max(k, end + step) for end in ends for step in (-1, 0, 1)}
    return result


CASES = [(k, n) for k, sizes in limits().items() for n in sorted(sizes) if k == 1 or n < 70_000]


@pytest.mark.parametrize(("k", "n"), CASES)
def test_every_size_around_a_limit(k, n):
    """Each candidate's own words, whichever path: also where the best are the last of a block."""
    law = ("exponential", "gumbel", "laplace")[n % 3]
    scores, words = meeting(law, RATE, n, min(n, k + 1 + n % 9), n + k)
    check(law, scores, words, k)
    # The last is the best of all by its score, with noise of less than a nat; the first is next.
    scores[0], scores[n - 1] = 2**63 + 160, 2**63 + 240
    words[0], words[n - 1] = 2**63 + 5, 2**63 + 2**50
    check(law, scores, words, k)


def test_every_path_is_taken():
    taken = {path_of(n, engine.ranking_plan(LAWS["gumbel"], k, QUARTER, False)) for k, n in CASES}
    assert taken == {"slots", "noise", "keys"}
