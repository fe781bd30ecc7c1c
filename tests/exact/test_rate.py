"""The noise rate: its enclosures hold it, and its limits are those of the engine."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from safeselect.errors import ParameterError
from safeselect.exact.interval import MAX_RATE, MIN_RATE, NoiseRate

RATES = [
    NoiseRate(Fraction(1, 3)),
    NoiseRate(MIN_RATE),
    NoiseRate(MAX_RATE),
    NoiseRate(Fraction(2, 7), Fraction(1, 2)),
    NoiseRate(Fraction(1), Fraction(2**20 - 1, 2**20)),
]


def nats(noise_rate):
    base = noise_rate.base
    one = (
        mpmath.mpf(1)
        if base is None
        else -mpmath.log(mpmath.mpf(base.numerator) / base.denominator)
    )
    return one * noise_rate.rate.numerator / noise_rate.rate.denominator


@pytest.mark.parametrize("noise_rate", RATES, ids=str)
def test_enclosures_hold_the_rate_and_its_powers(noise_rate):
    with mpmath.workdps(120):
        true = nats(noise_rate)
        low, high = noise_rate.scaled(200)
        assert low <= true * mpmath.mpf(2) ** 200 <= high <= low + 2
        for numerator, level in ((1, 0), (3, 5), (-1, 0), (29_000, 0)):
            if abs(true * numerator) > 10**4:  # beyond what numbers of a reasonable size hold
                continue
            power = mpmath.exp(-true * numerator / 2**level)
            least, most = noise_rate.power(numerator, level, 128).fractions()
            assert mpmath.mpf(least.numerator) / least.denominator <= power
            assert power <= mpmath.mpf(most.numerator) / most.denominator
            assert most - least < most / 2**128


def test_limits_are_kept_and_named():
    for rate, base in (
        (MIN_RATE / 2, None),
        (MAX_RATE * 2, None),
        (Fraction(1), 1 - Fraction(1, 2**80)),
    ):
        with pytest.raises(ParameterError, match="between 2\\*\\*-40 and 2\\*\\*20"):
            NoiseRate(rate, base)


def test_equal_rates_are_one_key():
    assert {NoiseRate(Fraction(1, 2)): 1}[NoiseRate(Fraction(2, 4))] == 1
    assert NoiseRate(Fraction(1)) != NoiseRate(Fraction(1), Fraction(1, 2))
