"""Weights that are powers of two are steps of a grid that is worth ln 2: on equal tapes, the same.

So a weighted ranking is compared with one that knows nothing of weights, place by place, on every
path and with gaps; both have the plan of the weighted one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from lattice_oracle import Tape

from engine import LAWS
from safeselect.engine import rankings
from safeselect.engine.draws import GUARD, Weights, plan, rate
from safeselect.engine.laws import GUMBEL, lower_end, upper_ends
from safeselect.engine.rankings import certified_order
from safeselect.engine.rows import noisy_max_rows
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LN_2 = NoiseRate(Fraction(1), Fraction(1, 2))
each_law = pytest.mark.parametrize("law", LAWS)


def drawn(shape: tuple[int, ...], seed: int, most: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, most, shape).astype(np.uint64)


@each_law
@pytest.mark.parametrize("n", [2, 9, 24, 60, 700, 5000, 20_000])
@pytest.mark.parametrize("unit", [None, Fraction(1), Fraction(2, 7)])
def test_a_weight_counts_as_its_logarithm(law: str, n: int, unit: Fraction | None) -> None:
    gaps = {} if unit is None else {"gaps": True, "gap_unit": unit}
    for seed in range(6 if n < 5000 else 1):
        k = 1 + seed % min(n - 1, 4)
        scores, powers = drawn((n,), seed, 12), drawn((n,), seed + 100, (3, 12, 70)[seed % 3])
        powers[:2] = 0, 1  # not all are equal
        weights = Weights.of(np.array([Fraction(2) ** int(power) * 7 for power in powers]))
        assert weights is not None
        more = (True, unit) if unit else (False,)
        public = plan(LAWS[law], k, LN_2, *more, spread=weights.spread)
        expected = rankings._ranked(scores + powers, public, Tape(seed))
        found = rankings.noisy_top_k(
            law, scores.copy(), k, LN_2, Tape(seed), weights=weights, **gaps
        )
        assert (found, len(found.indices)) == (expected, k)


@each_law
@pytest.mark.parametrize("n", [2, 5, 30])
def test_a_weight_counts_so_in_every_row(law: str, n: int) -> None:
    """Whoever has the same words wins with weights as with scores; a block of rows at a time."""
    for seed, most in enumerate((3, 12, 70)):
        rows = 2**15 // n
        scores, powers = drawn((rows, n), seed, 12), drawn((n,), seed + 100, most)
        powers[:2] = 0, 1
        weights = Weights.of(np.array([Fraction(2) ** int(power) for power in powers]))
        tapes = Tape(seed), Tape(seed)
        found = noisy_max_rows(law, scores.copy(), LN_2, tapes[0], weights)
        assert found.tolist() == noisy_max_rows(law, scores + powers, LN_2, tapes[1]).tolist()
        assert tapes[0].requests[0] == tapes[1].requests[0]


@pytest.mark.parametrize("weight", [3, Fraction(7, 2)])
@pytest.mark.parametrize("score", [0, 5])
def test_a_lower_end_takes_the_lower_end_of_a_logarithm(weight, score):
    """A ceiling at the last unit: one more leaves the order open."""
    noise_rate, precision, known = NoiseRate(Fraction(1, 3)), 32, (123 << 57, 64)
    weights = Weights.of(np.array([Fraction(weight), Fraction(1)]))
    public = plan(GUMBEL, 1, noise_rate, False, spread=weights.spread)._replace(weights=weights)
    slow, _ = rate(noise_rate, precision)
    ((low, high), _) = weights.logs([0, 1], precision)
    assert low < high
    (end,) = upper_ends(GUMBEL, [known], precision)
    least = (slow * score >> GUARD) + lower_end(end, *known, precision) + low
    for ceiling, decided in ((least, True), (least + 1, False)):
        found = certified_order([0], [score], [known], (0, ceiling), public, precision)
        assert (found is not None) == decided
