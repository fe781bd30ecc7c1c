"""How a bound is read off a profile: on chords, rounded to its side, with nothing left out.

Each value is worked out again here from its definition, in fractions or with mpmath.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import mpmath
import numpy as np
import pytest

from safeselect import (
    BoundedRange,
    GaussianDP,
    LaplaceDominated,
    ParameterError,
    ZeroConcentratedDP,
    calibrate,
    compose,
)
from safeselect.accounting import DiscreteGaussian, DiscreteLaplace, compose_delta, composed_epsilon
from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.curve import Curve, backward
from safeselect.accounting.optimum.pairs import Masses, certain

pytestmark = pytest.mark.claim("C2")

STEP = Fraction(1, 4)
CURVE = np.array([0.5, 0.21875, 0.0625, 0.0])  # convex in x, at least (1 - x)+
BITS = 120


def profile(values: np.ndarray = CURVE, bits: int = BITS, *, upper: bool = True) -> Profile:
    return Profile.of(certain(bits, upper=upper), values, STEP)


def mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


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
    found = profile().delta(epsilon)
    assert on_the_chord(place, share, found, BITS)


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


def test_a_step_in_floats_is_on_both_sides_of_the_exact_one():
    """Nothing is gained or lost on a level curve, so roundings are all that is left."""
    for level in (0.1, 0.7, 1e-7, 3e-100):
        curve = Curve(STEP, np.full(12, level), np.full(12, level))
        found = backward(curve, 3, 1, 9)
        assert (found.upper[3:] >= level).all()
        assert (found.upper[3:] <= level * (1 + 2**-40)).all()
        assert (found.lower[3:7] <= level).all()
        assert (found.lower[3:7] >= level * (1 - 2**-40)).all()


def test_a_curve_that_is_cut_stays_level():
    curve = Curve(STEP, np.array([0.5, 0.21875, 0.0625]), np.zeros(3))
    assert (backward(curve, 2, 1, 9).upper >= 0.0625).all()


def test_a_profile_stays_level_beyond_its_curve():
    found = profile(np.array([0.5, 0.21875, 0.0625]))
    assert [int(found.at(place)) << 4 for place in (2, 3, 9)] == [1 << BITS] * 3


def test_what_a_law_leaves_out_counts():
    atoms = DiscreteGaussian(2).atoms(60)
    assert atoms.beyond > 0
    beyond = max(high for _, high in atoms.losses) + 1
    assert atoms.above([beyond]) == [atoms.beyond]
    assert sum(high for _, high in atoms.masses) + atoms.beyond >= 1 << 60


# --------------------------------------------------------------------------------------- far out


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


@pytest.mark.slow("a product of long laws")
def test_lists_of_a_thousand_million_end():
    """Losses of tens of millions of steps, of which no list of places is made."""
    parts = [(DiscreteLaplace("1/7", 2), 5000), (DiscreteLaplace("1/5"), 10**9)]
    found = composed_epsilon([*parts, (LaplaceDominated("1/2"), 6)], "1/10", Fraction(1, 100))
    assert 19_000_000 < found < 21_000_000


def test_deltas_too_small_to_be_stated_are_the_least():
    least = Fraction(1, 2**4000)
    for epsilon in (10**4, 10**6, 10**30):
        assert GaussianDP(1).delta(epsilon) == least
    assert least < GaussianDP(1).delta(70) < Fraction(1, 2**3000)
    noise = [ZeroConcentratedDP("0.01"), GaussianDP(9)]
    assert compose_delta(noise, 10**6).guarantee.delta == least
    large = [*noise, BoundedRange(10**30)]
    assert compose_delta(large, 10**30 + 10**29).guarantee.delta == least
    with pytest.raises(ParameterError, match="no delta below 1 is proved"):
        compose_delta(large, 10**6)
    assert compose([GaussianDP(1)] * 2, "1e-300").guarantee.epsilon < 60


@pytest.mark.parametrize(
    "parts",
    [
        [(GaussianDP(10**12), 513), (LaplaceDominated("23/7"), 2)],
        [(LaplaceDominated(3), 10**15), (BoundedRange(1), 10**15)],
        [(LaplaceDominated(3), 10**8), (GaussianDP(10**7), 2)],
    ],
)
def test_lists_whose_exponentials_no_number_holds_have_a_bound(parts):
    for delta in ("1e-30", "0.1"):
        found = composed_epsilon(parts, delta, Fraction(1, 100))
        assert 10**6 < found < 10**16
    few = [part for part, _ in parts]
    assert compose(few, "1e-30", "1e-2").guarantee.epsilon > 0
    with pytest.raises(ParameterError, match="no delta below 1 is proved"):
        compose_delta([GaussianDP(10**12), LaplaceDominated(1)], 1)


@pytest.mark.parametrize("epsilon", [2**26, 2**27, 2**30, 2**45, 2**50, 10**100])
def test_totals_whose_exponentials_no_number_holds_are_calibrated(epsilon: int) -> None:
    """The guess of a search must end, too."""
    for family in (BoundedRange, LaplaceDominated):
        each = calibrate(family, k=2, epsilon=epsilon, delta="1e-6")
        assert each >= Fraction(epsilon, 2)
        assert compose([family(each)] * 2, "1e-6").guarantee.epsilon <= epsilon
        rate = calibrate(family, k=2, rho=epsilon)
        assert 0 < 2 * family(rate).zcdp.rho <= epsilon
    below, above = GaussianDP(2**30).delta(2**26), GaussianDP(2**30).delta(2**26 + 1)
    assert 0 < above <= 1
    assert below <= 1
    near = GaussianDP(2 * epsilon).delta(epsilon)
    assert Fraction(49, 100) < near < Fraction(51, 100)
