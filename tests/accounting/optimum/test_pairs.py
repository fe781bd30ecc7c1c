"""Laws of losses as integers: their products, and their chords."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mpmathify as mp

from safeselect import LaplaceDominated
from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.pairs import Masses, chords, dots, product

pytestmark = pytest.mark.claim("C2")
FAST = settings(derandomize=True, deadline=None, max_examples=40)
WEIGHTS = st.lists(st.integers(0, 2**40), min_size=1, max_size=12)


def by_hand(one: Masses, other: Masses) -> dict[int, Fraction]:
    """The convolution in fractions."""
    scale = 1 << one.bits
    found: dict[int, Fraction] = {}
    for i, p in enumerate(one.weights, one.first):
        for j, q in enumerate(other.weights, other.first):
            found[i + j] = found.get(i + j, Fraction(0)) + Fraction(p, scale) * Fraction(q, scale)
    return found


def misses(one: Masses, other: Masses, lost: int) -> bool:
    """Whether a product is not on its side of the exact one: at some loss or beyond it."""
    exact, found = by_hand(one, other), product(one, other, lost)
    sign = 1 if one.upper else -1
    infinite = Fraction(one.infinite + other.infinite, 1 << one.bits)
    for loss in range(min(exact), max(exact) + 1):
        beyond = infinite + sum(p for j, p in exact.items() if j >= loss)
        weights = sum(w for j, w in enumerate(found.weights, found.first) if j >= loss)
        ours = Fraction(weights + found.infinite, 1 << one.bits)
        if sign * (ours - beyond) < 0:
            return True
    return False


@given(WEIGHTS, WEIGHTS, st.booleans(), st.sampled_from([0, 5, 2**20]))
@example([2**30, 2**39, 2**30], [2**29, 2**39, 2**29], True, 2**20)  # both tails are cut
@FAST
def test_a_product_is_on_its_side_of_the_exact_one(ours, theirs, upper, lost):
    """At each loss: no less above, no more below, of that loss or more; with cut tails too."""
    one = Masses(-3, ours, 7 if upper else 0, 40, upper)
    other = Masses(2, theirs, 0, 40, upper)
    assert not misses(one, other, lost)
    found, exact = product(one, other, 0), by_hand(one, other)
    for loss, weight in enumerate(found.weights, found.first):
        assert abs(Fraction(weight, 1 << 40) - exact[loss]) <= Fraction(1, 1 << 40)


def profile_of(law: Masses, step: Fraction, s: mpmath.mpf) -> mpmath.mpf:
    scale = mpmath.mpf(2) ** law.bits
    terms = (
        w * max(0, 1 - mpmath.exp(s - mp(step) * j)) for j, w in enumerate(law.weights, law.first)
    )
    return (mpmath.fsum(terms) + law.infinite) / scale


def test_a_profile_is_read_as_it_is_defined():
    """At a place, through the curve, as the sum over all losses."""
    step = Fraction(1, 8)
    law = chords(LaplaceDominated("3/4"), step, 6, 128)
    import numpy as np

    values = np.array([0.25, 0.125, 0.0625, 0.0])
    profile = Profile.of(law, values, step)
    with mpmath.workdps(40):
        for place in range(12):
            total = mpmath.mpf(law.infinite)
            for j, w in enumerate(law.weights, law.first):
                n = place - j
                f = mpmath.mpf(float(values[min(abs(n), 3)]))
                if n < 0:
                    shrunk = mpmath.exp(mp(step) * n)
                    f = 1 - shrunk + shrunk * f
                total += w * f
            assert abs(profile.at(place) - total) < mpmath.mpf(2) ** 16


def test_dots_of_any_convex_values_are_their_chords():
    """Even values of no law: a mixture of two hockey sticks between the places."""
    step, bits = Fraction(1, 4), 100
    with mpmath.workdps(40):

        def f(s):
            x = mpmath.exp(s)
            return max(0, 1 - x / 2) / 2 + max(0, 1 - 2 * x / 3) / 2

        places = range(-8, 6)
        values = [int(mpmath.ceil(f(mp(step) * n) * 2**bits)) for n in places]
        law = dots(values, -8, step, bits, upper=True)
        for n in places:
            assert abs(profile_of(law, step, mp(step) * n) - f(mp(step) * n)) < mpmath.mpf(2) ** -80
            assert profile_of(law, step, mp(step) * (n + 0.5)) >= f(mp(step) * (n + 0.5))
