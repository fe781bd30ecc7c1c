"""The coarse tables, complete: every word and every threshold, against integer Taylor series."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from lattice_oracle import survival_bounds

from safeselect.lattice.laws import EXPONENTIAL, GUMBEL, LAPLACE, Law
from safeselect.lattice.thresholds import TAIL_BITS, TAIL_DIGITS, table

LAWS = [EXPONENTIAL, LAPLACE, GUMBEL]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


@cache
def survival(law: str, steps: int) -> tuple[int, int]:
    """Enclose 2**160 * S(steps / 64)."""
    low, high = survival_bounds(law, Fraction(steps, 64))
    return (low.numerator << 160) // low.denominator, -(
        -(high.numerator << 160) // high.denominator
    )


@pytest.mark.claim("C1")
@each_law
def test_every_word_is_bounded_and_tightly(law: Law) -> None:
    result = table(law)
    for word in range(1, 1 << 16):
        steps = law.lowest + int(result.counts[word])
        assert survival(law.name, steps)[1] <= word << 144
        assert survival(law.name, steps - 1)[0] > word << 144


@each_law
def test_every_word_is_narrow_unless_it_is_a_tail_word_or_steep(law: Law) -> None:
    result = table(law)
    for word in range(1 << TAIL_BITS, (1 << 16) - law.steep):
        steps = law.lowest + int(result.counts[word])
        # 64 times the noise is above steps - 3 for every digit that can follow the word.
        assert survival(law.name, steps - 3)[0] >= (word + 1) << 144


@each_law
def test_every_tail_threshold_is_the_ceiling(law: Law) -> None:
    result = table(law)
    assert np.all(result.tail[:-1] <= result.tail[1:])
    for number, threshold in enumerate(reversed(result.tail.tolist())):
        low, high = survival(law.name, law.lowest + number)
        shift = 160 - (16 - TAIL_BITS + TAIL_DIGITS)
        exact = {-(-low >> shift), -(-high >> shift)}
        assert len(exact) == 1
        assert threshold == min(exact.pop(), 1 << TAIL_DIGITS)


@each_law
@pytest.mark.parametrize("width", [2, 4, 6])
def test_small_tables_are_right_too(law: Law, width: int) -> None:
    result = table(law, width, 0)
    for word in range(1, 1 << width):
        steps = law.lowest + int(result.counts[word])
        assert survival(law.name, steps)[1] <= word << (160 - width)


@each_law
def test_keys_are_never_zero_and_fit(law: Law) -> None:
    result = table(law)
    assert result.counts.min() >= 1
    assert result.counts[0] == result.top <= 4096
    assert not result.counts.flags.writeable
    assert not result.tail.flags.writeable
