"""One step of the adaptive optimum, in floats: on its side of every offset."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from safeselect.accounting.optimum.curve import Curve, backward, start

pytestmark = pytest.mark.claim("C2")
STEP = Fraction(1, 4)


def step_by_hand(values: np.ndarray, step: float, cells: int, place: int, offset: float) -> float:
    """One step at a place, for any offset, of the chords of values at 0, 1, ...; level beyond."""

    def chord(s: float) -> float:
        if s < 0:
            return 1 - np.exp(s) + np.exp(s) * chord(-s)
        n = int(s / step)
        if n + 1 >= len(values):
            return values[-1]
        share = np.expm1(s - n * step) / np.expm1(step)
        return values[n] + share * (values[n + 1] - values[n])

    e, s = cells * step, place * step
    p = (1 - np.exp(offset - e)) / (1 - np.exp(-e))
    return p * chord(s - offset) + (1 - p) * chord(s + e - offset)


@pytest.mark.parametrize("cells", [3, 40, 130])
@pytest.mark.parametrize("dented", [False, True])
def test_a_step_bounds_every_offset(cells, dented):
    """Between the places, too, and for values that are not quite convex."""
    generator, step = np.random.default_rng(cells), Fraction(3, 4 * cells)
    width, length = float(step), 4 * cells
    x = np.exp(width * np.arange(length))
    knots, weights = np.exp(generator.uniform(0, 3, 6)), generator.dirichlet(np.ones(6))
    values = sum(w * np.maximum(1 - x / k, 0) for w, k in zip(weights, knots, strict=True))
    values = np.maximum(values, 1 - x)
    if dented:
        values = values * (1 + 1e-3 * generator.random(length))
        values = np.maximum.accumulate(values[::-1])[::-1]
    found, slack = backward(Curve(step, values, np.zeros(length)), cells, 1, 5 * cells), 0.0
    for place in generator.integers(0, 3 * cells, 12).tolist():
        offsets = np.linspace(0, cells * width, 20 * cells + 1)
        true = max(step_by_hand(values, width, cells, place, t) for t in offsets)
        assert found.upper[place] >= true * (1 - 1e-12)
        slack = max(slack, found.upper[place] / max(true, 1e-9) - 1)
    assert slack < 2 / cells


def test_a_curve_is_a_profile():
    """At least (1 - x)+, falling, convex in x up to the bound's own slack; lower below upper."""
    curve = backward(start(Fraction(1, 64)), 64, 5, 10**6)
    x = np.exp(np.arange(len(curve.upper)) / 64)
    for side in (curve.upper, curve.lower):
        assert (np.diff(side) <= 0).all()
        slopes = np.diff(side) / np.diff(x)
        assert (np.diff(slopes) >= -1e-6 * np.abs(slopes[:-1])).all()
    assert (curve.lower <= curve.upper).all()
    # Nothing beyond the sum of the ranges but what was added to be safe.
    assert curve.upper[-1] <= 1e-200


def test_a_step_in_floats_is_on_both_sides_of_the_exact_one():
    """Nothing is gained or lost on a level curve, so roundings are all that is left."""
    for level in (0.1, 0.7, 1e-7, 3e-100):
        found = backward(Curve(STEP, np.full(12, level), np.full(12, level)), 3, 1, 9)
        assert (found.upper[3:] >= level).all()
        assert (found.upper[3:] <= level * (1 + 2**-40)).all()
        assert (found.lower[3:7] <= level).all()
        assert (found.lower[3:7] >= level * (1 - 2**-40)).all()


def test_a_curve_that_is_cut_stays_level():
    curve = Curve(STEP, np.array([0.5, 0.21875, 0.0625]), np.zeros(3))
    assert (backward(curve, 2, 1, 9).upper >= 0.0625).all()
