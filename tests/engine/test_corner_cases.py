"""Rare cases of the array engine, each by digits made for it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from lattice_oracle import Tape

from engine import TOPS
from safeselect.engine import laws, rankings
from safeselect.engine.draws import Draws, plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.engine.rows import batch_plan, combine_rows
from safeselect.engine.tables import noise_table, read_noise
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_score_that_was_cut_is_never_left_out(law: Law) -> None:
    """Noise not covered for all that have a place; candidate 0 leads by 2**63 nats."""
    public, steps = plan(law, 2, NoiseRate(Fraction(1)), False), np.zeros(60, dtype=np.uint64)
    steps[0] = 2**63
    words = np.full(60, 2**62, dtype=np.uint64)
    words[1 : 1 + public.fine_contenders] = 0
    noise = np.empty(60, dtype=np.int64)
    read_noise(noise_table(law), np.copy(words), noise)
    draws = Draws([0] * public.fine_contenders, 0, 64, words=words, noise=noise)

    class Script:
        calls = 0

        def take(self, count: int) -> int:
            if not count:
                return 0
            self.calls += 1
            return (1 << 3 * (self.calls % 20)) % (1 << count)

    assert rankings.combine(np.copy(steps), draws, public) is None
    assert rankings.refine(steps, draws, public, Script()).indices[0] == 0


def test_a_full_block_of_rows_asks_for_no_more_bits() -> None:
    """V that differ by 2**-60 lie as close in one of 2**14 rows with probability 2**-45."""
    rows, public = 1 << 14, batch_plan(EXPONENTIAL, 2, NoiseRate(Fraction(1)))
    assert public.rows == rows
    words, tape = np.empty((2, rows), dtype=np.uint64), Tape(1)
    tape.fill(memoryview(words).cast("B"))
    words[:, 0] = [1 << 63, (1 << 63) + (1 << 4)]
    more, before = np.zeros((public.capacity, 2), dtype=np.uint64), len(tape.requests)
    block = np.zeros((2, rows), dtype=np.uint64)
    assert combine_rows(block, words, more, public.ranking, tape)[0] == 0
    assert len(tape.requests) == before


def test_the_first_tail_word_of_a_process_is_not_seen() -> None:
    """The caches for V of both lengths are full after any call with the same parameters."""
    noise_rate, ahead = NoiseRate(Fraction(1, 3)), np.zeros(5000, dtype=np.uint64)
    ahead[:20] = 10**6  # all contenders are among these 20, and none of these has a tail word
    laws._tools.cache_clear()
    plan.cache_clear()
    TOPS["exponential"](ahead, 1, noise_rate, Tape(1))
    before = laws._tools.cache_info().misses
    # All equal: the best have tail words.
    TOPS["exponential"](np.zeros(5000, dtype=np.uint64), 1, noise_rate, Tape(1))
    assert laws._tools.cache_info().misses == before


def test_unsigned_words_are_no_indices() -> None:
    """On NumPy 1.26 `np.take` refuses unsigned indices of 64 bits."""
    words = np.array([1, 1 << 63, 1 << 40], dtype=np.uint64)
    read_noise(noise_table(GUMBEL), words, np.empty(3, dtype=np.int64))
    assert partial(
        TOPS["exponential"], np.zeros(100, np.uint64), 1, NoiseRate(Fraction(1)), Tape(0)
    )()
