"""Batches: every row's winner against exact enclosures, and every rare branch."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from chances import fits
from lattice_oracle import Tape

from engine import MANY
from safeselect.engine import rows as rows_module
from safeselect.engine.allowances import ERROR
from safeselect.engine.draws import plan, rate
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE
from safeselect.engine.rows import batch_plan, combine_rows
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")


def test_more_unclear_rows_than_there_is_room_for():
    """Far beyond the capacity, which has probability below 2**-41: all are settled all the same."""
    n, rows = 3, 400
    public = batch_plan(EXPONENTIAL, n, NoiseRate(Fraction(1)))
    assert public.capacity < rows
    words, tape = np.full((n, rows), 3 << 60, dtype=np.uint64), Tape(3)
    more = np.empty((public.capacity, n), dtype=np.uint64)
    tape.fill(memoryview(more).cast("B"))
    winners = combine_rows(np.zeros((n, rows), dtype=np.uint64), words, more, public.ranking, tape)
    assert fits(Counter(winners.tolist()), dict.fromkeys(range(n), 1 / 3), sees=0.3)


@pytest.mark.claim("C1")
@pytest.mark.parametrize(
    ("select", "law"),
    [
        (MANY["exponential"], (0.476397118457846, 0.476397118457846, 0.0453, 0.0019)),
        (MANY["laplace"], (0.471387795, 0.471387795, 0.054668685, 0.002555725)),
        (MANY["gumbel"], (0.466837448, 0.466837448, 0.063179478, 0.003145626)),
    ],
)
def test_the_law_of_a_row(select, law):
    """Scores 5, 5, 3, 0 at rate 1, in 60 000 rows."""
    steps = np.tile(np.array([5, 5, 3, 0], dtype=np.uint64), (60_000, 1))
    winners = Counter(select(steps, NoiseRate(Fraction(1)), Tape(11)).tolist())
    whole = sum(law)
    assert fits(winners, {i: share / whole for i, share in enumerate(law)}, sees=0.022)
    wrong = Counter(select(steps, NoiseRate(Fraction(2)), Tape(11)).tolist())
    assert not fits(wrong, {i: share / whole for i, share in enumerate(law)}, sees=0.022)


def too_many(n: int, rows: int, clear: int, c: int) -> Fraction:
    """A bound on the chance that more than c rows are unclear, as `_capacity` says it in words."""
    chance = Fraction(101 * clear // 100 + 1, 2**32) + Fraction(n, 2**31)
    return comb(rows, c + 1) * chance ** (c + 1)


@pytest.mark.parametrize(("n", "rows"), [(1, 3), (2, 2**14), (9, 3640), (700, 46), (2**14, 2)])
def test_the_capacity_is_the_least_that_suffices(n: int, rows: int) -> None:
    """At the last `clear` for which a capacity is enough, and at the next one."""
    ends = {0, 1 << 28}
    for c in range(1, 5):
        low, high = 0, 1 << 28
        while low + 1 < high:
            middle = (low + high) // 2
            enough = too_many(n, rows, middle, c) <= Fraction(1, 2**41)
            low, high = (middle, high) if enough else (low, middle)
        ends |= {low, high}
    found = []
    for clear in sorted(ends):
        c = rows_module._capacity(n, rows, clear)
        found.append(c)
        assert c == rows or too_many(n, rows, clear, c) <= Fraction(1, 2**41)
        assert c == 0 or too_many(n, rows, clear, c - 1) > Fraction(1, 2**41)
    assert all(a <= b for a, b in pairwise(found))
    assert len(set(found)) > 1 or rows == 2


@pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE, GUMBEL], ids=lambda law: law.name)
@pytest.mark.parametrize("n", [1, 2, 33, 2**15, 2**15 + 1, 10**6])
@pytest.mark.parametrize("spread", [0, 70])
def test_the_plan_of_a_batch(law, n: int, spread: int) -> None:
    noise_rate = NoiseRate(Fraction(1, 3))
    public, one = batch_plan(law, n, noise_rate, spread), plan(law, 1, noise_rate, False)
    # As many rows as fit 2**15 candidates, and one at least.
    assert public.rows == (2**15 // n or 1)
    clear = 2 * ERROR + public.ranking.loss
    assert public.capacity == rows_module._capacity(n, public.rows, clear)
    assert (public.ranking.k, public.ranking.ranked, public.ranking.spread) == (1, 1, spread)
    assert (public.ranking.loss == one.loss, public.ranking.precision) == (spread == 0, 80)
    assert public.ranking.rate == rate(noise_rate, 80) != one.rate
    assert batch_plan(law, n, noise_rate) == batch_plan(law, n, noise_rate, 0)
