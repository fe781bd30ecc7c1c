"""The normal distribution function is enclosed, and closely."""

from fractions import Fraction

import mpmath
import pytest
from mpmath import mpmathify as mp

from safeselect.exact.interval import Interval
from safeselect.exact.normal import normal


@pytest.mark.parametrize("precision", [96, 128, 200])
def test_normal_tails_are_enclosed(precision):
    """Both ways of working them out, and where one takes over from the other."""
    with mpmath.workdps(90):
        for tenths in [*range(-60, 130, 3), 49, 50, 51, 300]:
            z = Fraction(tenths, 10)
            low, high = normal(Interval.of(-z, precision)).fractions()
            assert mp(low) <= mpmath.ncdf(-mp(z)) <= mp(high)
            assert mp(high) - mp(low) <= mpmath.mpf(2) ** (8 - precision)
