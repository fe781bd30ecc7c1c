"""Who is left out lies below what is said of them, whatever the scores and the digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Tape

from safeselect.engine.allowances import ERROR, LOSS
from safeselect.engine.contenders import _level, contenders
from safeselect.engine.draws import Draws, Plan, draw_noise, draw_words, plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, UNBOUNDED, Law
from safeselect.engine.tables import UNKNOWN
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

N = 600
LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
TOP = 2**64 - 1
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def drawn(law: Law, public: Plan, fine: bool, seed: int) -> Draws:
    if fine:
        return draw_noise(N, law, Tape(seed), public.fine_contenders, 0)
    return draw_words(N, law, Tape(seed), public.contenders, public.slot_bits)


@each_law
def test_the_errors_of_noise_and_of_distances_are_added(law: Law) -> None:
    """The table's and the scale's: each may be as large as is stated."""
    public = plan(law, 1, NoiseRate(Fraction(1, 3)), False)
    tape, draws = Tape(3), drawn(law, public, True, 4)
    steps = [60 + tape.take(64) % 60 for _ in range(N)]  # within 20 nats
    found, (score, bound) = contenders(
        np.array(steps, dtype=np.uint64), draws, public, public.fine_contenders, []
    )
    noisy = [
        int(noise) + public.fixed_rate.units(max(step, score) - score)
        for noise, step in zip(draws.noise, steps, strict=True)
    ]
    assert bound == max(noisy[i] for i in set(range(N)) - set(found)) + ERROR + LOSS


@pytest.mark.parametrize("need", [1, 2, 5, 30])
@pytest.mark.parametrize("n", [40, 5000, 70_000])
def test_the_level_is_the_need_th_largest(n: int, need: int) -> None:
    steps = np.random.default_rng(n).integers(0, TOP, n, dtype=np.uint64, endpoint=True)
    assert _level(steps, need) == sorted(steps.tolist())[-need]


@each_law
def test_whoever_was_moved_down_has_no_bound(law: Law) -> None:
    """All places are taken by noise that is not covered."""
    public = plan(law, 2, NoiseRate(Fraction(1)), False)
    draws, steps = drawn(law, public, True, 9), np.zeros(N, dtype=np.uint64)
    steps[0], steps[1] = 2**63, 2**40
    draws.noise[2 : public.fine_contenders + 2] = UNKNOWN
    found, (_, bound) = contenders(steps, draws, public, public.fine_contenders, [])
    assert 0 not in found
    assert bound == UNBOUNDED


@pytest.mark.parametrize("fine", [True, False], ids=["noise", "keys"])
def test_few_candidates_are_all_contenders(fine: bool) -> None:
    public = plan(GUMBEL, 1, NoiseRate(Fraction(1)), False)
    draws, steps = drawn(GUMBEL, public, fine, 7), np.arange(N, dtype=np.uint64)
    assert contenders(steps, draws, public, N, []) == (list(range(N)), None)
    assert contenders(steps, draws, public, N - 2, [3, 0]) == (
        [i for i in range(N) if i not in (0, 3)],
        None,
    )
