"""The fine table: never off by more than it says, against independent quantiles."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from lattice_oracle import quantile

from safeselect.engine.allowances import ERROR, UNIT_BITS
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.engine.tables import UNKNOWN, noise_table, read_noise

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def noise(law: Law, words: list[int]) -> list[int]:
    array = np.array(words, dtype=np.uint64)
    out = np.empty(array.size, dtype=np.int64)
    read_noise(noise_table(law), array, out)
    return out.tolist()


def words_of_every_octave() -> list[int]:
    """At, just beside and midway between the points of every octave, on both sides of 1/2."""
    folded = []
    for zeros in range(1, 32):
        top = 63 - zeros
        for point in range(64):
            start, half = (64 + point) << top - 6, 1 << top - 7
            folded += [start, start + 1, start + half - 1, start + half, start + half // 2]
    return folded + [2**64 - 1 - u for u in folded]


@each_law
def test_every_octave_is_within_the_error(law):
    with mpmath.workdps(40):
        words, worst = words_of_every_octave(), mpmath.mpf(0)
        for word, value in zip(words, noise(law, words), strict=True):
            low = quantile(law.name, mpmath.ldexp(mpmath.mpf(word + 1), -64))
            high = quantile(law.name, mpmath.ldexp(mpmath.mpf(word), -64))
            assert value - ERROR <= mpmath.ldexp(low, UNIT_BITS), word
            assert mpmath.ldexp(high, UNIT_BITS) <= value + ERROR, word
            worst = max(worst, abs(mpmath.ldexp(low, UNIT_BITS) - value))
        # The bound is no idle one: somewhere the noise is nearly as far off.
        assert worst > 0.9 * ERROR


@each_law
def test_what_is_too_near_the_ends_is_unknown(law):
    few = [0, 1, 2**31, 2**32 - 1]
    assert set(noise(law, few + [2**64 - 1 - u for u in few])) == {UNKNOWN}
    assert UNKNOWN not in noise(law, [2**32, 2**64 - 1 - 2**32])


@each_law
def test_the_bound_on_the_second_derivative(law):
    """U**2 |d2Q/dU2| <= 1, on which the error rests, at points that cover (0, 1/2]."""
    with mpmath.workdps(40):
        for side in (0, 1):

            def folded(u, side=side):
                return quantile(law.name, 1 - u if side else u)

            for i in range(1, 120):
                u = mpmath.mpf(2) ** (-mpmath.mpf(i) / 4 - 1) * (1 - mpmath.mpf(10) ** -12)
                second = mpmath.diff(folded, u, 2, h=u * mpmath.mpf(10) ** -10)
                assert abs(second) * u**2 <= 1 + mpmath.mpf(10) ** -6
