"""The laws of Gaussian noise on the integers: enclosed, drawn word by word, and private."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from mpmath import mpmathify as number

from safeselect import GaussianDP
from safeselect.engine.gaussian import (
    DiscreteGaussian,
    GaussianLaw,
    RoundedGaussian,
    draw_symmetric,
)

LAWS = {"discrete_gaussian": DiscreteGaussian, "rounded_gaussian": RoundedGaussian}
SIZES = ["1/1000000000000000000000000", "1/50", "1/4", "10/3", "25", "2001", "60000"]


def exact_tail(name: str, squared: Fraction, d: int) -> mpmath.mpf:
    """P(|X| >= d), from the definition, by mpmath."""
    s = number(squared)
    if name == "rounded_gaussian":
        return mpmath.erfc((mpmath.mpf(d) - mpmath.mpf(1) / 2) / mpmath.sqrt(2 * s))
    whole = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s)))  # the sum of all weights
    if d <= 30 and s > 30:
        return 1 - sum(_weight(x, s) for x in range(1 - d, d)) / whole
    reach = d + int(mpmath.sqrt(2 * s * mpmath.mp.prec)) + 3
    return 2 * sum(_weight(x, s) for x in range(d, reach)) / whole


def _weight(x: int, s: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * s))


def chance(law: GaussianLaw, x: int, size: int = 128) -> Fraction:
    """P(X = x) from the enclosures of the law, to about 2**-(size - 4)."""
    middle = [
        Fraction(sum(law.threshold(d, size)), 2 ** (size + 1)) if d else Fraction(1)
        for d in (abs(x), abs(x) + 1)
    ]
    return (middle[0] - middle[1]) / (2 if x else 1)


@pytest.mark.parametrize("squared", SIZES)
@pytest.mark.parametrize("name", LAWS)
def test_thresholds_are_enclosed_tightly(name: str, squared: str) -> None:
    law = LAWS[name](Fraction(squared))
    deviations = max(1, int(Fraction(squared) ** Fraction(1, 2)))
    for size in (72, 128, 192):
        with mpmath.workprec(size + 400):
            for d in (1, 2, 3, 1 + deviations, 1 + 4 * deviations, 2 + 20 * deviations):
                low, high = law.threshold(d, size)
                exact = exact_tail(name, Fraction(squared), d) * mpmath.mpf(2) ** size
                assert low <= exact <= high
                assert high - low <= 3


class Known:
    """Words that are given, and further digits that are remembered."""

    def __init__(self, words: list[int], seed: int) -> None:
        self._parts = [np.array(words, dtype=np.uint64).tobytes(), bytes(len(words))]
        self._random = random.Random(seed)
        self.drawn: list[int] = []

    def fill(self, buffer: memoryview) -> None:
        buffer[:] = self._parts.pop(0)

    def take(self, count: int) -> int:
        assert count == 64
        self.drawn.append(self._random.getrandbits(64))
        return self.drawn[-1]


@pytest.mark.claim("C1")
@pytest.mark.parametrize("squared", ["1/4", "10/3", "30"])
@pytest.mark.parametrize("name", LAWS)
def test_a_magnitude_is_the_number_of_thresholds_above(name: str, squared: str) -> None:
    """All words beside every threshold, in the tail too, with the digits that were drawn after."""
    law = LAWS[name](Fraction(squared))
    with mpmath.workprec(400):
        exact = [mpmath.mpf(1)]
        while exact[-1] > mpmath.mpf(2) ** -260:
            exact.append(exact_tail(name, Fraction(squared), len(exact)))
        exact += [mpmath.mpf(0)]
        edges = [int(mpmath.floor(tail * 2**64)) for tail in exact[1:]]
        tried = {edge + more for edge in edges for more in (-2, -1, 0, 1, 2)} | {0, 1, 2**64 - 1}
        refined = 0
        for seed in (1, 2):
            for word in sorted(word for word in tried if 0 <= word < 2**64):
                bits = Known([word], seed)
                (found,) = draw_symmetric(1, law, bits).tolist()
                v, size = word, 64
                for more in bits.drawn:
                    v, size = v << 64 | more, size + 64
                refined += bool(bits.drawn)
                scale = mpmath.mpf(2) ** -size
                assert found >= 0  # the sign bits are zero
                assert v * scale <= exact[found]
                assert (v + 1) * scale <= exact[found] + mpmath.mpf(2) ** -380
                assert v * scale >= exact[found + 1] - mpmath.mpf(2) ** -380
        assert refined >= len(edges) / 2  # ties were met


def test_signs_are_fair_bits_of_their_own() -> None:
    law, words = RoundedGaussian(Fraction(100)), [2**62] * 4
    bits = Known(words, 1)
    bits._parts[1] = bytes([0, 1, 2, 255])
    plus, minus, again, below = draw_symmetric(4, law, bits).tolist()
    assert plus == again == -minus == -below > 0


@pytest.mark.claim("C2")
@pytest.mark.parametrize("squared", ["1", "25", "1/4"])
@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
def test_rounded_noise_is_gaussian_private_and_discrete_noise_is_not(
    squared: str, epsilon: str
) -> None:
    """The hockey-stick divergence between q and q + 1, by adding up all outcomes."""
    sigma_squared = Fraction(squared)
    promised = GaussianDP(1 / sigma_squared).delta(epsilon)
    excess = {name: _excess(LAWS[name](sigma_squared), epsilon) for name in LAWS}
    assert excess["rounded_gaussian"] <= promised + Fraction(1, 2**90)
    if squared == "1" and epsilon != "1/2":
        assert excess["discrete_gaussian"] > promised * Fraction(103, 100)


def _excess(law: DiscreteGaussian | RoundedGaussian, epsilon: str) -> Fraction:
    reach = 15 * (int(law.sigma_squared) // 3 + 3)
    with mpmath.workprec(300):
        growth = Fraction(int(mpmath.exp(number(Fraction(epsilon))) * 2**200), 2**200)
    chances = [chance(law, x) for x in range(-reach, reach + 1)]
    return sum((max(Fraction(0), p - growth * q) for p, q in pairwise(chances)), Fraction(0))
