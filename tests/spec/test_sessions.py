"""The noise of a session, one digit after another: its bounds narrow, and never move."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tapes import TapeSource

from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.spec.sessions import enclosed_noise

RATE = NoiseRate(Fraction(1, 3))


@pytest.mark.parametrize("kind", ["exponential", "laplace"])
def test_bounds_narrow_and_never_move(kind):
    bits = Bits(TapeSource(seed=3))
    drawn = enclosed_noise(kind, RATE, 0, bits)
    before = drawn.bounds(20, 3)
    assert before[1] - before[0] == 3 << 20
    drawn.refine(bits)
    after = drawn.bounds(20, 3)
    assert drawn.precision == 8
    assert after[1] - after[0] == 3 << 12
    assert before[0] <= after[0] < after[1] <= before[1]


def test_a_geometric_number_is_known_completely():
    bits = Bits(TapeSource(seed=4))
    drawn = enclosed_noise("geometric", RATE, 0, bits)
    low, high = drawn.bounds(5, 7)
    assert low == high == drawn.steps * 7 << 5
    drawn.refine(bits)
    assert drawn.bounds(5, 7) == (low, high)
