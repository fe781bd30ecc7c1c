"""The public numbers: what a key may lose, how many contenders suffice, how far padding goes."""

from __future__ import annotations

from fractions import Fraction
from math import comb, isqrt

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect.lattice.draws import tail_capacity
from safeselect.lattice.fine import ERROR, LOSS, REACH, UNIT_BITS
from safeselect.lattice.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.lattice.plan import GUARD, WINDOW, _contenders, plan, rate
from safeselect.samplers.decay import Decay

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
RARE = Fraction(1, 2**42)

rates = st.one_of(
    st.integers(-40, 20).map(lambda e: Fraction(2) ** e),
    st.fractions(Fraction(1, 2**40), Fraction(2**20), max_denominator=2**41),
    st.integers(1, 2**20).map(Fraction),
).filter(lambda r: Fraction(1, 2**40) <= r <= 2**20)


@given(rates, st.data())
@settings(max_examples=300, deadline=None)
def test_a_distance_loses_little_and_nothing_overflows(
    rate_: Fraction, data: st.DataObject
) -> None:
    public = plan(EXPONENTIAL, 1, Decay(rate_), False).fine
    distance = data.draw(st.integers(0, 2 * public.reach) | st.just(2 * public.reach))
    assert (distance >> public.shift) * public.factor < 2**64
    assert 0 <= rate_ * 2**UNIT_BITS * distance - public.units(distance) <= LOSS
    assert public.reach * rate_ >= REACH


def test_the_window_of_the_lemma() -> None:
    """A word's width (`test_thresholds`), the fine table's error, and two units of a key."""
    nats = Fraction(1, 32) + Fraction(2 * ERROR, 2**UNIT_BITS) + 2 * Fraction(1, 2**9)
    assert nats < Fraction(WINDOW, 2**16)


@given(rates, st.sampled_from([None, Fraction(1, 2), Fraction(2, 3)]), st.sampled_from([48, 144]))
@settings(max_examples=100, deadline=None)
def test_the_rate_is_enclosed(number: Fraction, base: Fraction | None, scale: int) -> None:
    if base is not None and not Fraction(1, 2**38) < number < 2**19:
        return
    low, high = rate(Decay(number, base), scale)
    with mpmath.workdps(150):
        exact = mpmath.mpf(number.numerator) / number.denominator
        if base is not None:
            exact *= -mpmath.log(mpmath.mpf(base.numerator) / base.denominator)
        assert low <= exact * 2 ** (scale + GUARD) <= high
    assert high - low <= 2


def tail(trials: int, chance: Fraction, least: int) -> Fraction:
    """P(Bin(trials, chance) >= least), in full."""
    return 1 - sum(
        (comb(trials, j) * chance**j * (1 - chance) ** (trials - j) for j in range(least)),
        Fraction(0),
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("need", [1, 2, 10, 11, 101])
def test_contenders_suffice_by_the_lemma(law: Law, need: int) -> None:
    extra = _contenders(law, need) - need
    chance, steep = Fraction(WINDOW, 2**16), Fraction(law.steep, 2**16)
    # Some way of splitting the extra contenders between the two kinds keeps more of them rare.
    assert any(
        tail(need + m, chance, m + 1) <= RARE
        and tail(need + extra - m, steep, extra - m + 1) <= RARE
        for m in range(extra + 1)
    )
    assert extra <= 20 + need


def chernoff(trials: int, chance: float, least: int) -> mpmath.mpf:
    """An upper bound of P(Bin(trials, chance) >= least) above the mean."""
    a = mpmath.mpf(least) / trials
    divergence = a * mpmath.log(a / chance) + (1 - a) * mpmath.log((1 - a) / (1 - chance))
    return mpmath.exp(-trials * divergence)


@pytest.mark.parametrize("need", [1001, 10**4, 10**6])
def test_contenders_suffice_for_many(need: int) -> None:
    half, rest = need // 2, need // 64 + 16
    assert _contenders(LAPLACE, need) == need + half + rest
    assert chernoff(need + half - 1, WINDOW / 2**16, half) < mpmath.mpf(2) ** -42
    assert chernoff(need + rest - 1, 32 / 2**16, rest) < mpmath.mpf(2) ** -42


def test_padding_is_far_enough() -> None:
    """Bernstein: P(count > mean + t) <= exp(-t**2 / (2 (mean + t / 3))), over whole releases."""

    def bound(mean: int) -> mpmath.mpf:
        t = mpmath.mpf(8 * (isqrt(mean) + 1) + 40)
        return mpmath.exp(-(t**2) / (2 * (mean + t / 3)))

    # Tail words: one in 2048 of up to 10**8.
    for n in [*range(1, 2**21, 2**9), 10**7, 10**8]:
        mean = -(-n // 2048)
        assert tail_capacity(n) == mean + 8 * (isqrt(mean) + 1) + 40
        assert bound(mean) < mpmath.mpf(2) ** -46
    # Marked words: at most 2**17 at a time and one in 100; 6 digits, 8 times for 10**6 numbers.
    assert 48 * max(bound(mean) for mean in range(1, 1311)) < mpmath.mpf(2) ** -44


def test_plans_are_kept_and_told_apart() -> None:
    one, same = (plan(GUMBEL, 3, Decay(Fraction(1, 2)), False) for _ in range(2))
    assert one is same
    assert plan(GUMBEL, 3, Decay(Fraction(1, 2)), True) != one
    assert plan(LAPLACE, 3, Decay(Fraction(1, 2)), False) != one
