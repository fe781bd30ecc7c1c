"""Rankings on all three paths (slots, noise, keys), at each size around a limit, near ties too.

Noise is chosen first, so that candidates meet at all distances, then written to a tape as digits.
What a ranking answers must hold for every digit that it has not drawn, by `float_oracle`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import float_oracle as oracle
import numpy as np
import pytest
from tapes import Stream
from watched import Round, drawn_as_told, path_of, tape_for, watch

import engine
from engine import LAWS, TOPS, NoiseRate

pytestmark = pytest.mark.claim("C1")

CONSTANTS = engine.constants()
QUARTER = NoiseRate(Fraction(1, 4))


def rate_of(noise_rate: NoiseRate) -> float:
    low, high = noise_rate.nats(64).fractions()
    return float((low + high) / 2)


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


def check(noise_rate: NoiseRate, one: Round, scores: Any, order: Any, gaps: Any = None) -> None:
    noises = one.noises()
    assert oracle.order_is_sound(rate_of(noise_rate), scores, noises, order, one.removed)
    if gaps is None:
        return
    noisy = noises[1] - oracle.short_nats(scores, rate_of(noise_rate))
    unit = rate_of(noise_rate) * float(one.plan.gap_unit)
    behind = np.delete(noisy, list(order)).max()
    ends = [*noisy[list(order)].tolist(), behind]
    for gap, upper, lower in zip(gaps, ends, ends[1:], strict=False):
        assert (gap - 1e-6) * unit <= upper - lower + 1e-9 <= (gap + 1 + 1e-6) * unit


def ranked(law: str, noise_rate: NoiseRate, scores: Any, words: Any, k: int, **gaps: Any) -> Round:
    public = engine.ranking_plan(
        LAWS[law], k, noise_rate, bool(gaps), **({"gap_unit": gaps["gap_unit"]} if gaps else {})
    )
    tape = tape_for(words, public, np.random.default_rng(1))
    stream = Stream(tape, seed=3)
    result, (one,) = watch(lambda: TOPS[law](scores.copy(), k, noise_rate, stream, **gaps))
    assert stream.requests[0] == len(tape)
    assert drawn_as_told(one, words)
    assert len(result.indices) == k
    check(noise_rate, one, scores, result.indices, result.gaps)
    return one


SMALL = [2, 3, 9, 23, 24, 25, 26, 40, 300]


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(3), Fraction(1, 2**40), Fraction(2**20)])
@pytest.mark.parametrize("law", LAWS)
def test_near_ties_among_few(law, rate):
    for seed in range(60):
        n = SMALL[seed % len(SMALL)]
        k = 1 + seed % min(n, 4)
        scores, words = meeting(law, float(rate), n, min(n, 2 + seed % 13), seed)
        ranked(law, NoiseRate(rate), scores, words, k)


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 3), Fraction(50)])
@pytest.mark.parametrize("law", LAWS)
def test_gaps_are_those_of_the_digits(law, unit):
    for seed in range(24):
        n = SMALL[seed % len(SMALL)]
        k = 1 + seed % min(n - 1, 4)
        scores, words = meeting(law, 0.25, n, min(n, 2 + seed % 13), seed)
        ranked(law, QUARTER, scores, words, k, gaps=True, gap_unit=unit)
    scores, words = meeting(law, 0.25, 5000, 3, 1)
    ranked(law, QUARTER, scores, words, 2, gaps=True, gap_unit=unit)


def limits() -> dict[int, set[int]]:
    """The numbers of candidates around each internal limit, by k."""
    result: dict[int, set[int]] = {}
    for k in (1, 2, 33):
        need = engine.ranking_plan(LAWS["gumbel"], k, QUARTER, False)
        ends = [
            CONSTANTS["draws.DIRECT_LIMIT"],
            CONSTANTS["draws.QUICK_LIMIT"],
            need.contenders,
            CONSTANTS["draws.FINE_LIMIT"],
            CONSTANTS["contenders._DIRECT"],
            4 * CONSTANTS["contenders.GROUP"] * (need.contenders + 1),
            CONSTANTS["contenders._BLOCK"],
            2 * CONSTANTS["contenders._BLOCK"],
            CONSTANTS["draws._CHUNK"],
            2 * CONSTANTS["draws._CHUNK"],
        ]
        # Where blocks double, and the ends of the largest.
        ends += [3 * CONSTANTS["contenders._DIRECT"] << step for step in range(5)]
        result[k] = {max(k, end + step) for end in ends for step in (-1, 0, 1)}
    return result


CASES = [(k, n) for k, sizes in limits().items() for n in sorted(sizes) if k == 1 or n < 70_000]


@pytest.mark.parametrize(("k", "n"), CASES)
def test_every_size_around_a_limit(k, n):
    """Each candidate's own words, whichever path: also where the best are the last of a block."""
    law = ("exponential", "gumbel", "laplace")[n % 3]
    scores, words = meeting(law, 0.25, n, min(n, k + 1 + n % 9), n)
    ranked(law, QUARTER, scores, words, k)
    # The last is the best of all by its score, with noise of less than a nat; the first is next.
    scores[0], scores[n - 1] = 2**63 + 160, 2**63 + 240
    words[0], words[n - 1] = 2**63 + 5, 2**63 + 2**50
    ranked(law, QUARTER, scores, words, k)


def test_every_path_is_taken():
    taken = {path_of(n, engine.ranking_plan(LAWS["gumbel"], k, QUARTER, False)) for k, n in CASES}
    assert taken == {"slots", "noise", "keys"}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [40, 300, 4096, 4097, 9000])
def test_too_few_contenders_are_noticed(law, n, monkeypatch):
    """With as few contenders as can be, and many that meet: further ones are called in."""
    usual = engine.draws.plan

    def least(*args: Any) -> Any:
        found = usual(*args)
        return replace(found, contenders=found.ranked, fine_contenders=found.ranked)

    monkeypatch.setattr(engine.rankings, "plan", least)
    settled = 0
    for seed in range(12 if n < 4000 else 6):
        k = 1 + seed % 3
        scores, words = meeting(law, 0.25, n, 3 + seed, seed)
        public = least(LAWS[law], k, QUARTER, False)
        tape = tape_for(words, public, np.random.default_rng(2))
        result, (one,) = watch(
            lambda s=scores, k=k, t=tape: TOPS[law](s.copy(), k, QUARTER, Stream(t, seed=4))
        )
        assert drawn_as_told(one, words)
        check(QUARTER, one, scores, result.indices)
        settled += one.decisions > 1
    assert settled > 0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [300, 5000])
def test_words_where_tables_end(law, n):
    """V next to 0 and next to 1, for the best and for those far behind."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, words = meeting(law, 0.25, n, 5, seed)
        ends = np.array([2**e + 1 for e in range(10, 60)], dtype=np.uint64)
        ends = np.concatenate([ends, np.invert(ends)])
        places = rng.permutation(n)[:12]
        words[places] = rng.choice(ends, 12)
        scores[places[:6]] = 2**63 - rng.integers(0, 160, 6).astype(np.uint64)
        ranked(law, QUARTER, scores, words, 1 + seed % 3)


@pytest.mark.parametrize(("n", "k"), [(3, 3), (25, 25), (26, 5), (60, 40), (4096, 4), (4097, 4)])
def test_every_round_of_a_peeling_has_noise_of_its_own(n, k):
    """Each round's winner follows from that round's words; who won before takes no part."""
    rng = np.random.default_rng(n)
    scores = np.uint64(2**40) + rng.integers(0, 40, n).astype(np.uint64)
    stream = Stream(seed=n)
    result, rounds = watch(lambda: engine.PEELED["exponential"](scores.copy(), k, QUARTER, stream))
    assert len(rounds) == k
    drawn: set[bytes] = set()
    for number, one in enumerate(rounds):
        assert one.removed == list(result.indices[:number])
        winner = result.indices[number]
        check(QUARTER, one, scores, [winner])
        drawn.add(one.words.tobytes() + repr(one.slots).encode())
    assert len(drawn) == k
    assert len(b"".join(stream.parts)) == sum(size for size in stream.requests if size > 0)
