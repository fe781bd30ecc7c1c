"""The public numbers: how many contenders suffice, how far padding goes."""

from __future__ import annotations

from fractions import Fraction
from math import comb, isqrt

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import RATES

from safeselect.engine.allowances import WINDOW
from safeselect.engine.draws import FINE_LIMIT, GUARD, _contenders, _excess, rate, tail_capacity
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
RARE = Fraction(1, 2**42)


@given(RATES, st.sampled_from([None, Fraction(1, 2), Fraction(2, 3)]), st.sampled_from([48, 144]))
@settings(max_examples=100, deadline=None)
def test_the_rate_is_enclosed(number: Fraction, base: Fraction | None, scale: int) -> None:
    if base is not None and not Fraction(1, 2**38) < number < 2**19:
        return
    low, high = rate(NoiseRate(number, base), scale)
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
    extra = _contenders(law, need, WINDOW) - need
    chance, steep = Fraction(WINDOW, 2**16), Fraction(law.steep, 2**16)
    # Some way of splitting the extra contenders between the two kinds keeps more of them rare.
    assert any(
        tail(need + m, chance, m + 1) <= RARE
        and tail(need + extra - m, steep, extra - m + 1) <= RARE
        for m in range(extra + 1)
    )
    assert extra <= 20 + need


def test_an_excess_and_noise_that_is_not_covered_are_rare_together() -> None:
    uncovered = comb(FINE_LIMIT, 3) * Fraction(1, 2**31) ** 3
    assert uncovered < Fraction(1, 2**59)
    for words in (5, 6):
        for need in (*range(1, 200), *range(200, FINE_LIMIT, 37), FINE_LIMIT):
            excess = _excess(need, words, 41)
            most = comb(need + excess - 1, excess) * Fraction(words, 2**16) ** excess
            assert most + uncovered < Fraction(1, 2**41)


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
