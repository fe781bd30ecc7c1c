"""One noise by inversion: its bounds, its refinement, and the geometric number it contains."""

from __future__ import annotations

from fractions import Fraction

import pytest
from lattice_oracle import Tape, survival_bounds

from safeselect import ParameterError
from safeselect.engine.laws import EXPONENTIAL, LAPLACE
from safeselect.engine.single import InvertedNoise, enclosed_noise
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LAWS = {"exponential": EXPONENTIAL, "laplace": LAPLACE}


class Given:
    """Bits that are given as integers, one a request."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def take(self, count: int) -> int:
        return self.words.pop(0) & (1 << count) - 1


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(3, 7), Fraction(50, 3)])
@pytest.mark.parametrize("name", LAWS)
def test_the_bounds_hold_the_whole_cell(name, rate):
    """For all V of six digits: S at the bounds lies beyond both ends of the cell of V."""
    digits, precision, denominator = 6, 40, 3
    for v in range(1, (1 << digits) - 1):
        drawn = InvertedNoise(LAWS[name], NoiseRate(rate), digits, Given(v))
        low, high = drawn.bounds(precision, denominator)
        unit = Fraction(1, denominator << precision)
        # S falls: at the lower bound it is at least the cell's upper end.
        assert survival_bounds(name, low * unit * rate)[1] >= Fraction(v + 1, 1 << digits)
        assert survival_bounds(name, high * unit * rate)[0] <= Fraction(v, 1 << digits)


@pytest.mark.parametrize("name", LAWS)
def test_refining_narrows_and_never_moves(name):
    tape = Tape(5)
    for _ in range(200):
        drawn = InvertedNoise(LAWS[name], NoiseRate(Fraction(2, 3)), 96, tape)
        before, precision = drawn.bounds(200, 5), drawn.precision
        drawn.refine(tape)
        after = drawn.bounds(200, 5)
        assert before[0] <= after[0] <= after[1] <= before[1]
        assert after[1] - after[0] < (before[1] - before[0]) >> 40
        assert drawn.precision == precision + 64


def test_a_rational_base_is_refused_rather_than_misread():
    with pytest.raises(ParameterError, match="must have base e"):
        enclosed_noise("laplace", NoiseRate(Fraction(1), Fraction(1, 2)), 96, Tape(1))
