"""Batches, whose coarse decision settles almost all rows: forced to decide, and compared.

Each word of the tape has a name.  The winner of every row is worked out again from the words that
are its own, by `float_oracle`, which shares nothing with the engine: so a row that looks at words
of another row, at none, or at some twice is found, and so is an error term that is too small.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import float_oracle as oracle
import numpy as np
import pytest
from effort import pairs, some
from tapes import Stream, lanes

import engine
from engine import LAWS, MANY, NoiseRate

pytestmark = pytest.mark.claim("C1")

DECAYS = {
    "1/4": NoiseRate(Fraction(1, 4)),
    "1": NoiseRate(Fraction(1)),
    "coarse": NoiseRate(Fraction(2**20)),
    "fine": NoiseRate(Fraction(1, 2**40)),
    "base": NoiseRate(Fraction(3), Fraction(2, 3)),
}


def rate_of(noise_rate: NoiseRate) -> float:
    low, high = noise_rate.nats(64).fractions()
    return float((low + high) / 2)


def combined(
    law: str,
    noise_rate: NoiseRate,
    scores: np.ndarray[Any, Any],
    words: np.ndarray[Any, Any],
    capacity: int | None,
) -> np.ndarray[Any, Any]:
    """The winners of rows (m, n) for given words (m, n)."""
    rows, n = scores.shape
    public = engine.batch_plan(LAWS[law], n, noise_rate)
    public = public if capacity is None else replace(public, capacity=capacity)
    stream = Stream(seed=5)
    more = np.empty((min(public.capacity, rows), min(engine.rows._CONTENDERS, n)), dtype=np.uint64)
    if more.size:
        stream.fill(memoryview(more).cast("B"))
    return engine.combine_rows(
        np.ascontiguousarray(scores.T), np.ascontiguousarray(words.T), more, public.ranking, stream
    )


def hostile(
    law: str, rate: float, rows: int, n: int, seed: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Scores and words: near ties of all sizes, at all distances, and words where tables end."""
    rng = np.random.default_rng(seed)
    behind = rng.uniform(0, 46, (rows, n)) * (rng.random((rows, n)) < 0.6)
    behind[rng.random(rows) < 0.2] = 0
    steps = np.minimum(np.rint(behind / rate), 2.0**62).astype(np.uint64)
    scores = np.subtract(np.uint64(2**63), steps)
    far = rng.random((rows, n)) < 0.02
    scores[far] = rng.choice(np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64), int(far.sum()))
    place = rng.uniform(-3, 23, (rows, 1)) if law == "gumbel" else rng.uniform(0, 23, (rows, 1))
    spread = 2.0 ** rng.uniform(-19, 2, (rows, 1))
    words = oracle.near_ties(law, rate, scores, place, spread, rng)
    fresh = rng.random((rows, n)) < 0.1
    words[fresh] = rng.integers(0, 2**64 - 1, int(fresh.sum()), dtype=np.uint64, endpoint=True)
    end = rng.random((rows, n)) < 0.03
    ends = [2**31, 2**32 - 1, 2**32, 2**33, 2**40]
    choice = np.array([*ends, *(2**64 - 1 - each for each in ends)], dtype=np.uint64)
    words[end] = rng.choice(choice, int(end.sum()))
    return scores, words


@pytest.mark.parametrize(("law", "name", "capacity"), pairs(MANY, DECAYS, [0, 1, None]))
def test_the_coarse_decision_is_the_exact_one(law, name, capacity):
    """With capacity 0 all rows are decided coarsely, and only what is unclear is settled.

    1000 rows of each width, near ties of 2**-19 to 4 nats at up to 46 nats behind the best.
    """
    noise_rate, told = DECAYS[name], 0
    for n in (1, 2, 3, 4, 5, 6, 9):
        scores, words = hostile(law, rate_of(noise_rate), 1000, n, seed=n)
        right, sure = oracle.winners(law, rate_of(noise_rate), scores, words)
        found = combined(law, noise_rate, scores, words, capacity)
        assert found.shape == right.shape
        assert found[sure].tolist() == right[sure].tolist()
        told += int(sure.sum())
    assert told > 3_000


@pytest.mark.parametrize("law", MANY)
@pytest.mark.parametrize("n", some([5, 6, 8], 2))
def test_who_is_left_out_of_the_settled_few_keeps_its_error(law, n):
    """The true winner lies on a point of the table, all others between points.

    Between points the table says up to 2**-15 nat too much, so the winner is the last in coarse
    order: only the error term in the bound of those left out keeps it from being passed over.
    """
    rng, rows = np.random.default_rng(n), 3000
    octave, point = rng.integers(3, 12, rows), rng.integers(0, 64, (rows, 1))
    # V = 2**-(z + 1) (1 + p / 64): on a point.
    corner = ((64 + point.astype(np.uint64)) << np.uint64(57)) >> octave[:, None].astype(np.uint64)
    target = oracle.noise(law, corner)
    # The others meet it from another octave, half way between points, a trifle lower.
    steps = rng.integers(1, 8, (rows, n - 1)).astype(np.uint64)
    scores, rate = np.concatenate([np.zeros((rows, 1), np.uint64), steps], axis=1), 0.25
    below = 2.0 ** rng.uniform(-21, -15.5, (rows, n - 1))
    words = np.concatenate([corner, oracle.words_for(law, target - steps * rate - below)], axis=1)
    shuffled = rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)
    scores = np.take_along_axis(scores, shuffled, axis=1)
    words = np.take_along_axis(words, shuffled, axis=1)
    right, sure = oracle.winners(law, rate, scores, words)
    assert int(sure.sum()) > 0.9 * rows
    for capacity in (0, 5, rows):
        found = combined(law, NoiseRate(Fraction(1, 4)), scores, words, capacity)
        assert found[sure].tolist() == right[sure].tolist()


def decoded(stream: Stream, rows: int, n: int, block: int) -> np.ndarray[Any, Any]:
    """The words of every row: block after block, candidates by rows, then what settles a few."""
    parts = [part for part, size in zip(stream.parts, stream.requests, strict=True) if size > 0]
    found, at = [], 0
    for start in range(0, rows, block):
        count, words = min(block, rows - start), lanes(parts[at], np.uint64)
        assert words.size == n * count
        found.append(words.reshape(n, count).T)
        at += 2
    return np.concatenate(found)


def sizes(n: int) -> list[int]:
    """Rows around each whole block, and around what is always settled."""
    public = engine.batch_plan(LAWS["exponential"], n, NoiseRate(Fraction(1)))
    around = [public.capacity, public.rows, 2 * public.rows]
    return sorted({max(1, size + step) for size in around for step in (-1, 0, 1)} | {1, 2})


@pytest.mark.parametrize("n", [1, 2, 3, 40, 1000, 32767, 32768, 32769])
@pytest.mark.parametrize("law", MANY)
def test_every_row_looks_at_its_own_words_and_at_no_others(law, n):
    """All winners from the words of their rows, at each number of rows around a block's end.

    If two rows shared their words, or a block repeated another, the oracle, which reads each row's
    own words off the tape, would disagree with half of them.
    """
    noise_rate, rate = NoiseRate(Fraction(1, 4)), 0.25
    rng, block = np.random.default_rng(n), engine.batch_plan(LAWS[law], n, noise_rate).rows
    for rows in sizes(n):
        scores, stream = rng.integers(0, 12, (rows, n), dtype=np.uint64), Stream(seed=rows)
        found = MANY[law](scores.copy(), noise_rate, stream)
        right, sure = oracle.winners(law, rate, scores, decoded(stream, rows, n, block))
        assert found.shape == (rows,)
        assert found[sure].tolist() == right[sure].tolist()
        assert int(sure.sum()) >= rows - 1 - rows // 1000
