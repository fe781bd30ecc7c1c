"""The noise of a session, one digit after another: its bounds narrow, and never move."""

from __future__ import annotations

from fractions import Fraction

import pytest
from lattice_oracle import Tape

from safeselect.exact.rate import NoiseRate
from safeselect.spec.sessions import enclosed_noise

RATE = NoiseRate(Fraction(1, 3))


@pytest.mark.parametrize("kind", ["exponential", "laplace"])
def test_bounds_narrow_and_never_move(kind):
    tape = Tape(3)
    drawn = enclosed_noise(kind, RATE, 0, tape)
    before = drawn.bounds(20, 3)
    assert before[1] - before[0] == 3 << 20
    drawn.refine(tape)
    after = drawn.bounds(20, 3)
    assert drawn.precision == 8
    assert after[1] - after[0] == 3 << 12
    assert before[0] <= after[0] < after[1] <= before[1]


def test_a_geometric_number_is_known_completely():
    tape = Tape(4)
    drawn = enclosed_noise("geometric", RATE, 0, tape)
    low, high = drawn.bounds(5, 7)
    assert low == high == drawn.steps * 7 << 5
    drawn.refine(tape)
    assert drawn.bounds(5, 7) == (low, high)
