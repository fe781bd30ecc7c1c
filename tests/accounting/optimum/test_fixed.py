"""Fixed pairs on a grid: their profiles between those of both sides."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from effort import LONG
from mpmath import mpmathify as mp

from safeselect import LaplaceDominated, PureDP
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.optimum.fixed import pairs_above, pairs_below
from safeselect.accounting.optimum.pairs import Masses
from safeselect.accounting.optimum.problem import BLOCK, ROW
from safeselect.accounting.optimum.upper import Grid

pytestmark = pytest.mark.claim("C2")


def true_profile(pair, s: mpmath.mpf) -> mpmath.mpf:
    """Hockey-stick divergence at e**s, for every s."""
    if s < 0:
        return 1 - mpmath.exp(s) + mpmath.exp(s) * true_profile(pair, -s)
    if isinstance(pair, GaussianDP):
        mu = mpmath.sqrt(mp(pair.mu_squared))
        return mpmath.ncdf(mu / 2 - s / mu) - mpmath.exp(s) * mpmath.ncdf(-mu / 2 - s / mu)
    e = mp(pair.epsilon)
    if s >= e:
        return mpmath.mpf(0)
    if isinstance(pair, LaplaceDominated):
        return 1 - mpmath.exp((s - e) / 2)
    return (mpmath.exp(e) - mpmath.exp(s)) / (1 + mpmath.exp(e))


def profile_of(law: Masses, step: Fraction, s: mpmath.mpf) -> mpmath.mpf:
    scale = mpmath.mpf(2) ** law.bits
    terms = (
        w * max(0, 1 - mpmath.exp(s - mp(step) * j)) for j, w in enumerate(law.weights, law.first)
    )
    return (mpmath.fsum(terms) + law.infinite) / scale


@pytest.mark.parametrize(
    ("pair", "step"),
    [
        (PureDP("1/2"), "1/10"),
        (PureDP("1/2"), "1/7"),
        (LaplaceDominated("1/2"), "1/16"),
        (LaplaceDominated("0.7"), "1/16"),
        (GaussianDP("1/4"), "1/64"),
        (GaussianDP(4), "1/16"),
        (GaussianDP(4), "1/64"),  # atoms at every fourth step
    ],
)
def test_chords_bound_a_profile_from_both_sides(pair, step):
    """Above everywhere; below once moved; on the grid exactly."""
    step = Fraction(step)
    grid = Grid(step, 128, Fraction(1, 2**70), 32, BLOCK, ROW)
    ((upper, _),) = pairs_above([(pair, 1)], grid)
    ((lower, _),), shift = pairs_below([(pair, 1)], grid)
    with mpmath.workdps(45):
        widest = mpmath.mpf(0)
        for n in range(-60, 61, 1 if LONG else 5):
            s = mpmath.mpf(n) / 23
            true, above = true_profile(pair, s), profile_of(upper, step, s)
            below = profile_of(lower, step, s + mp(shift))
            assert below <= true + mpmath.mpf(10) ** -30
            assert above >= true - mpmath.mpf(10) ** -30
            widest = max(widest, above - below)
        assert widest < 3 * float(step)
