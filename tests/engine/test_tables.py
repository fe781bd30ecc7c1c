"""The coarse tables, complete: every word, and every threshold against integer Taylor series."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import RATES, quantile

from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.engine.tables import TAIL_BITS, bound_table, keys
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def noise(law: Law, word: int, width: int = 16) -> mpmath.mpf:
    """Q(word / 2**width) above `lowest`, in units of 2**-32 nat."""
    nats = quantile(law.name, mpmath.ldexp(mpmath.mpf(word), -width))
    return mpmath.ldexp(nats - mpmath.mpf(law.lowest) / 64, 32)


@cache
def plain_noise(law: Law) -> list[mpmath.mpf]:
    """The noise at every word but the tail words, to 20 digits."""
    with mpmath.workdps(20):
        return [noise(law, word) for word in range(1 << TAIL_BITS, 1 << 16)]


@each_law
def test_every_word_is_narrow_unless_it_is_a_tail_word_or_steep(law: Law) -> None:
    ends = plain_noise(law)[: (1 << 16) - (1 << TAIL_BITS) - law.steep + 1]
    assert max(a - b for a, b in pairwise(ends)) <= 1 << 27  # 1/32 nat


@each_law
def test_tail_words_say_nothing_and_others_something(law: Law) -> None:
    result, public = bound_table(law), keys(law, NoiseRate(Fraction(1, 3)))
    for words in (result.word_bounds, public.word_bounds):
        assert not words[: 1 << TAIL_BITS].any()
        assert words[1 << TAIL_BITS :].min() >= 1


@given(st.sampled_from(LAWS), RATES)
@settings(max_examples=60, deadline=None)
def test_a_key_is_rounded_up_by_two_units_at_most(law: Law, rate: Fraction) -> None:
    public, source = keys(law, NoiseRate(rate)), bound_table(law)
    unit = rate / Fraction(2) ** public.shift  # nats
    assert Fraction(1, 2**10) <= unit < Fraction(1, 2**9)
    assert 64 <= public.reach * rate < 64 + rate + Fraction(1, 2**20)
    some = [1 << TAIL_BITS, 1000, 40000, 65535]
    for bounds, found, where in (
        (source.word_bounds, public.word_bounds, some),
        (source.tail_bounds, public.tail_bounds, [0, 7, len(source.tail_thresholds)]),
    ):
        for i in where:
            # One unit more than the noise, for what a distance may have lost by a shift down.
            exact = Fraction(int(bounds[i]), 2**32) / unit
            assert 1 <= int(found[i]) - exact <= 2 + exact / 2**24
    # Nothing overflows, and who is moved down to 2 * reach lies above all who are not.
    near, far = (int(distance * rate / unit) for distance in (public.reach, 2 * public.reach))
    most = int(public.tail_bounds.max())
    assert far + most < 1 << public.bits
    assert public.bits <= 32
    assert near + most <= far
