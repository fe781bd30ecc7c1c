"""Distances in grid steps as units of noise: never too many, hardly too few, and no overflow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import RATES

from safeselect.engine.allowances import LOSS, REACH, UNIT_BITS
from safeselect.engine.draws import fixed_point
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")


@given(RATES, st.data())
@settings(max_examples=300, deadline=None)
def test_a_distance_loses_little_and_nothing_overflows(
    rate_: Fraction, data: st.DataObject
) -> None:
    public = fixed_point(NoiseRate(rate_), UNIT_BITS, REACH)
    distance = data.draw(st.integers(0, 2 * public.reach) | st.just(2 * public.reach))
    assert (distance >> public.shift) * public.factor < 2**64
    assert 0 <= rate_ * 2**UNIT_BITS * distance - public.units(distance) <= LOSS
    assert public.reach * rate_ >= REACH


@pytest.mark.parametrize("spread", [0, 1, 37, 700, 2773, 2839])
def test_nothing_overflows_however_far_weights_reach(spread: int) -> None:
    """A reach that is no power of two, at rates that are and are not."""
    for exponent in range(-40, 21):
        for rate_ in (Fraction(2) ** exponent, Fraction(2) ** exponent * Fraction(5, 7)):
            if rate_ >= Fraction(1, 2**40):
                public = fixed_point(NoiseRate(rate_), UNIT_BITS, REACH + spread)
                assert (2 * public.reach >> public.shift) * public.factor < 2**64


@pytest.mark.parametrize("rate", [Fraction(1, 2**40), Fraction(1, 3), Fraction(5), Fraction(2**20)])
def test_arrays_are_scaled_like_numbers(rate: Fraction) -> None:
    public = fixed_point(NoiseRate(rate), UNIT_BITS, REACH)
    assert REACH <= public.reach * rate < REACH + 2 * rate
    distances = [0, 1, 2, public.reach, 2 * public.reach - 1, 2 * public.reach]
    array = np.array(distances, dtype=np.uint64)
    public.apply(array)
    assert array.tolist() == [public.units(each) for each in distances]
