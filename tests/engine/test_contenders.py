"""Who is left out lies below what is said of them, whatever the scores and the digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from effort import LONG, some
from lattice_oracle import Tape, quantile

from safeselect.engine.allowances import ERROR, LOSS
from safeselect.engine.contenders import _level, contenders
from safeselect.engine.draws import Draws, Plan, draw_noise, draw_words, plan
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, UNBOUNDED, Law
from safeselect.engine.tables import UNKNOWN
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

N = 600
LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
RATES = [Fraction(1, 2**38), Fraction(1, 3), Fraction(1000), Fraction(2**20)]
UNSHIFTED = [Fraction(1, 400), Fraction(1, 800), Fraction(1, 1500)]
"""Rates at which distances are shifted by one digit up, not at all, and by one digit down."""
TOP = 2**64 - 1
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


class Fewer(Tape):
    """A source whose every 40th word of 16 digits begins with eleven zeros: a tail word."""

    def fill(self, buffer: memoryview) -> None:
        super().fill(buffer)
        words = np.frombuffer(buffer, dtype=np.uint16)
        words[-1::-40] %= 32


def drawn(law: Law, public: Plan, fine: bool, seed: int, n: int = N) -> Draws:
    if fine:
        return draw_noise(n, law, Tape(seed), public.fine_contenders, 0)
    source = Fewer(seed) if n == N else Tape(seed)  # there is room for one in 50 of N
    return draw_words(n, law, source, public.contenders, public.slot_bits)


def scores(kind: str, rate: Fraction, tape: Tape) -> list[int]:
    """Steps, which are at most 2**64 - 1; `near` ones are within 20 nats or so."""
    width = max(int(20 / rate), 1)
    return {
        "near": [width + tape.take(64) % width for _ in range(N)],
        "equal": [7] * N,
        "one far ahead": [tape.take(64) % width for _ in range(N - 1)] + [TOP],
        "three far ahead": [TOP, TOP - 1, TOP - width] + [tape.take(64) % width] * (N - 3),
        "one far behind": [0] + [TOP - tape.take(64) % width for _ in range(N - 1)],
        "anything": [tape.take(64) for _ in range(N)],
    }[kind]


def highest(law: Law, draws: Draws, place: int) -> mpmath.mpf:
    """The largest noise in nats that the digits of a candidate allow."""
    word, width = int(draws.words[place]), draws.width
    tails = draws.tails.tolist()
    if place in tails:
        word, width = word << 64 | int(draws.extra[tails.index(place)]), width + 64
    if not word:
        return mpmath.inf
    return quantile(law.name, mpmath.ldexp(mpmath.mpf(word), -width))


KINDS = ["near", "equal", "one far ahead", "three far ahead", "one far behind", "anything"]


@pytest.mark.parametrize(
    ("fine", "rate"),
    some([*((True, rate) for rate in RATES), *((False, rate) for rate in [*RATES, *UNSHIFTED])], 2),
    ids=str,
)
@each_law
def test_all_who_are_left_out_lie_below_the_ceiling(law: Law, rate: Fraction, fine: bool) -> None:
    tape = Tape(11)
    for seed, kind in enumerate(KINDS):
        for k in (1, 2, 4) if LONG else ((1, 2, 4)[(seed + rate.denominator) % 3],):
            public = plan(law, k, NoiseRate(rate), False)
            steps, draws = scores(kind, rate, tape), drawn(law, public, fine, seed)
            tails = draws.tails[draws.tails < N].tolist()
            ahead = max(range(N), key=steps.__getitem__)
            for removed in ([], sorted({ahead, 5, *tails[:2]}))[:: 1 if LONG or seed % 2 else -2]:
                check(
                    law,
                    public,
                    steps,
                    draws,
                    removed,
                    public.fine_contenders if fine else public.contenders,
                )


def check(
    law: Law, public: Plan, steps: list[int], draws: Draws, removed: list[int], count: int
) -> None:
    """All who are neither found nor removed lie below the ceiling."""
    words = draws.words.copy()
    found, ceiling = contenders(np.array(steps, dtype=np.uint64), draws, public, count, removed)
    draws.words[:] = words  # those of whom is removed are overwritten
    assert len(found) == len(set(found)) == count
    assert not set(found) & set(removed)
    assert ceiling is not None
    score, units = ceiling
    if units >= UNBOUNDED:
        return
    rate = public.noise_rate.rate
    with mpmath.workdps(40):
        for place in set(range(len(steps))) - set(found) - set(removed):
            # Exactly, in units of 2**-32 nat: where the score is worth, and what is left.
            room = (score - steps[place]) * rate * 2**32 + units
            assert mpmath.ldexp(highest(law, draws, place), 32) <= mpmath.mpf(
                room.numerator
            ) / mpmath.mpf(room.denominator)


@each_law
def test_the_errors_of_noise_and_of_distances_are_added(law: Law) -> None:
    """The table's and the scale's: each may be as large as is stated."""
    public = plan(law, 1, NoiseRate(Fraction(1, 3)), False)
    steps, draws = scores("near", Fraction(1, 3), Tape(3)), drawn(law, public, True, 4)
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
    draws = drawn(GUMBEL, public, fine, 7)
    steps = np.arange(N, dtype=np.uint64)
    assert contenders(steps, draws, public, N, []) == (list(range(N)), None)
    assert contenders(steps, draws, public, N - 2, [3, 0]) == (
        [i for i in range(N) if i not in (0, 3)],
        None,
    )
