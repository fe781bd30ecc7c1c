"""How a bound is read off a profile: on chords, rounded to its side, with nothing left out.

Each value is worked out again here from its definition, in fractions or with mpmath.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import mpmath
import numpy as np
import pytest
from mpmath import mpmathify as mp

from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.certified import delta_of
from safeselect.accounting.optimum.pairs import Masses, certain

pytestmark = pytest.mark.claim("C2")
STEP = Fraction(1, 4)
CURVE = np.array([0.5, 0.21875, 0.0625, 0.0])  # convex in x, at least (1 - x)+
BITS = 120


def profile(values: np.ndarray = CURVE, bits: int = BITS, *, upper: bool = True) -> Profile:
    return Profile.of(certain(bits, upper=upper), values, STEP)


def chord(place: int, share: mpmath.mpf) -> mpmath.mpf:
    """The loss where so much of the cell, in x, lies to the left."""
    step = mp(STEP)
    return step * place + mpmath.log1p(share * mpmath.expm1(step))


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("share", ["1/10", "1/2", "9/10"])
def test_an_epsilon_is_read_on_the_chord(place, share):
    here, there = (Fraction(float(value)) for value in CURVE[place : place + 2])
    found = profile().epsilon(here + (there - here) * Fraction(share))
    with mpmath.workdps(40):
        true = chord(place, mp(Fraction(share)))
        assert true * (1 - mpmath.mpf(10) ** -30) <= mp(found)
        assert mp(found) <= true * (1 + mpmath.mpf(10) ** -15)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("share", ["1/10", "1/2", "9/10"])
def test_a_delta_is_read_on_the_chord(place, share):
    epsilon = STEP * (place + Fraction(share))
    assert on_the_chord(place, share, delta_of(profile(), epsilon), BITS)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("share", ["1/10", "1/2", "9/10"])
def test_a_curve_on_another_grid_is_its_chords(place, share):
    found = Fraction(int(profile().between(STEP * (place + Fraction(share)))), 1 << BITS)
    assert on_the_chord(place, share, found, BITS)


def on_the_chord(place: int, share: str, found: Fraction, bits: int) -> bool:
    """Whether a delta is that of the chord, or next to nothing more."""
    here, there = (Fraction(float(value)) for value in CURVE[place : place + 2])
    with mpmath.workdps(50):
        part = mpmath.expm1(mp(STEP * Fraction(share))) / mpmath.expm1(mp(STEP))
        true = mp(here) + mp(there - here) * part
        return bool(true - mpmath.mpf(2) ** (1 - bits) < mp(found) < true + mpmath.mpf(10) ** -25)


@pytest.mark.parametrize("upper", [True, False])
def test_a_sum_is_rounded_to_its_side(upper):
    """With 6 bits each rounding is seen; the masses and the curve are exact numbers of 6 bits."""
    masses = Masses(0, [13, 7, 3], 5 if upper else 0, 6, upper)
    values = np.array([0.5, 0.21875, 0.0625, 0.046875, 0.03125])
    found = Profile.of(masses, values, STEP)
    curve = [Fraction(float(v)) for v in values]
    for place in (2, 3, 4):
        exact = sum(Fraction(w, 64) * curve[place - j] for j, w in enumerate(masses.weights))
        exact = exact * 64 + masses.infinite
        assert found.at(place) == (ceil(exact) if upper else floor(exact))
        assert exact.denominator > 1


@pytest.mark.parametrize("upper", [True, False])
def test_floats_are_rounded_to_their_side(upper):
    found = profile(np.array([0.3, 0.1, 0.01]), 10, upper=upper).values
    exact = [Fraction(value) * 1024 for value in (0.3, 0.1, 0.01)]
    assert found[:3] == [ceil(value) if upper else floor(value) for value in exact]


def test_a_profile_stays_level_beyond_its_curve():
    found = profile(np.array([0.5, 0.21875, 0.0625]))
    assert [int(found.at(place)) << 4 for place in (2, 3, 9)] == [1 << BITS] * 3


def test_a_profile_far_out_is_read_as_near():
    """Places at which the curve is 1 are not listed; here all are, in fractions."""
    curve = [Fraction(float(v)) for v in CURVE]
    for upper in (True, False):
        weights = [0] * 200 + [1 << 18, 1 << 19]
        found = Profile.of(Masses(-2, weights, 3 if upper else 0, 20, upper), CURVE, STEP)
        assert len(found.below) < 70
        for place in (0, 140, 197, 199, 201):
            with mpmath.workdps(30):
                total = mpmath.mpf(3 if upper else 0)
                for loss, weight in ((198, 1 << 18), (199, 1 << 19)):
                    s = place - loss
                    f = mp(curve[abs(s)]) if abs(s) < 4 else mpmath.mpf(0)
                    if s < 0:
                        f = 1 - mpmath.exp(mp(STEP) * s) * (1 - f)
                    total += weight * f
                error = mpmath.mpf(int(found.at(place))) - total
                assert (-1e-9 if upper else -5) < error < (5 if upper else 1e-9)
