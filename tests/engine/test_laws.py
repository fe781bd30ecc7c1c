"""The enclosures of the noise, against integer Taylor series."""

from __future__ import annotations

from fractions import Fraction

import gmpy2
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import quantile, survival, survival_bounds

from safeselect.engine.laws import DIGITS, EXPONENTIAL, GUMBEL, LAPLACE, UNBOUNDED, Law, enclose

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]


def holds(law: Law, v: int, bits: int, scale: int) -> bool:
    """S(high) <= v / 2**bits and (v + 1) / 2**bits <= S(low), which is the claim of `enclose`."""
    low, high = enclose(law, v, bits, scale)
    above = survival_bounds(law.name, Fraction(high, 1 << scale))[1]
    below = survival_bounds(law.name, Fraction(low, 1 << scale))[0]
    return above <= Fraction(v, 1 << bits) and below >= Fraction(v + 1, 1 << bits)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_cell_is_enclosed(law: Law, data: st.DataObject) -> None:
    bits = data.draw(st.sampled_from([3, 5, 16, 64, 80, 144]))
    size = data.draw(st.integers(1, bits - 1))
    v = data.draw(st.integers(1, (1 << size) - 1)) % ((1 << bits) - 2) + 1
    v = data.draw(st.sampled_from([v, (1 << bits) - 1 - v]))
    if 0 < v < (1 << bits) - 1:
        assert holds(law, v, bits, data.draw(st.sampled_from([20, 50, 56, 80, 144])))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_the_quick_quantile(law: Law, data: st.DataObject) -> None:
    """Within 2**-60, also next to both ends, against MPFR's logarithm to 150 digits."""
    bits = data.draw(st.sampled_from([5, 64, 80]))
    near = data.draw(st.integers(1, bits - 1).flatmap(lambda size: st.integers(1, 2**size - 1)))
    v = data.draw(st.sampled_from([near, 2**bits - near]))
    mantissa, exponent = law.quantile(v, bits, 500).as_mantissa_exp()
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    assert abs(Fraction(*law.quick([(v, bits)]), 2**DIGITS) - exact) < Fraction(1, 2**60)


def exactly(number: gmpy2.mpfr) -> mpmath.mpf:
    mantissa, exponent = number.as_mantissa_exp()
    return mpmath.mpf(int(mantissa)) * mpmath.mpf(2) ** int(exponent)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("bits", "precision"), [(10, 60), (64, 96), (80, 160)])
def test_a_quantile_is_never_too_small_and_hardly_too_large(law: Law, bits, precision) -> None:
    with mpmath.workdps(120):
        for number in range(1, 100):
            v = number * 2 ** (bits - 10) + number  # on both sides of 1/2 with the next
            for each in (v, 2**bits - v):
                room = exactly(law.quantile(each, bits, precision)) - quantile(
                    law.name, mpmath.mpf(each) / 2**bits
                )
                assert 0 <= room < mpmath.mpf(2) ** (9 - precision)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_survival_is_never_too_small_and_hardly_too_large(law: Law) -> None:
    with mpmath.workdps(120):
        for steps in range(law.lowest, 3000, 7):
            ratio = exactly(law.survival(steps, 64)) / survival(law.name, mpmath.mpf(steps) / 64)
            assert 1 <= ratio < 1 + mpmath.mpf(2) ** -50


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("scale", [40, 96])
def test_the_ends_are_not_bounded(law: Law, scale: int) -> None:
    """Noise has no bound where V may be 0, and no lower one where V may be 1."""
    low, high = enclose(law, 0, 8, scale)
    assert low == -UNBOUNDED
    assert high >= UNBOUNDED
    low, high = enclose(law, 255, 8, scale)
    assert low == -UNBOUNDED
    with mpmath.workdps(60):
        exact = quantile(law.name, mpmath.mpf(255) / 256) * mpmath.mpf(2) ** scale
        assert 0 <= high - exact <= 2 + mpmath.mpf(1) / 16


def test_the_context_of_the_thread_does_not_matter() -> None:
    expected = [enclose(law, 12345, 64, 80) for law in LAWS]
    with gmpy2.context(precision=5, round=gmpy2.RoundUp):
        assert [enclose(law, 12345, 64, 80) for law in LAWS] == expected
