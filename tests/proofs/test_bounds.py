"""The tables of bounds and of keys, every entry, beside interval arithmetic that shares no code.

mpmath's intervals enclose the noise at the least V of each word, and the tail at each step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any

import mpmath
import numpy as np
import proved
import pytest
from effort import LONG

pytestmark = pytest.mark.claim("C1")

Interval = Any

IV = mpmath.ctx_iv.MPIntervalContext()
IV.prec = 90

RATES = [Fraction(1, 3), Fraction(1), Fraction(1, 10**6), Fraction(1000), Fraction(355, 113)]


def exponential(v: Interval) -> Interval:
    return -IV.log(v)


def laplace(v: Interval) -> Interval:
    return -IV.log(2 * v) if v.b <= 0.5 else IV.log(2 * (1 - v))


def gumbel(v: Interval) -> Interval:
    return -IV.log(-IV.log(1 - v))


QUANTILES: dict[str, Callable[[Interval], Interval]] = {
    "exponential": exponential,
    "laplace": laplace,
    "gumbel": gumbel,
}
TAILS: dict[str, Callable[[Interval], Interval]] = {
    "exponential": lambda x: IV.exp(-x),
    "laplace": lambda x: IV.exp(-x) / 2 if x.a >= 0 else 1 - IV.exp(x) / 2,
    "gumbel": lambda x: 1 - IV.exp(-IV.exp(-x)),
}


def above(x: Interval) -> int:
    """The least integer that is not below the upper end."""
    sign, mantissa, exponent, _ = x._mpi_[1]
    return ceil((-1) ** sign * int(mantissa) * Fraction(2) ** exponent)


def below(x: Interval) -> int:
    """The largest integer that is not above the lower end."""
    sign, mantissa, exponent, _ = x._mpi_[0]
    return floor((-1) ** sign * int(mantissa) * Fraction(2) ** exponent)


@contextmanager
def wide() -> Iterator[None]:
    """More digits, for a while."""
    before, IV.prec = IV.prec, 400
    try:
        yield
    finally:
        IV.prec = before


@cache
def noise(law: str) -> tuple[int, ...]:
    """2**64 times the noise at the least V of each word that is no tail word, rounded up."""
    words = range(32, 1 << 16)
    return tuple(above(QUANTILES[law](IV.mpf(word) / 2**16) * 2**64) for word in words)


@pytest.mark.slow("every word of every law")
@pytest.mark.parametrize("law", QUANTILES)
def test_no_bound_of_a_word_is_too_small(law: str) -> None:
    """In units of 2**-32 nat, from the law's lowest place on."""
    table, lowest = proved.bounds(law), proved.lowest(law)
    found = table.word_bounds.tolist()[32:]
    for word, (bound, most) in enumerate(zip(found, noise(law), strict=True), 32):
        assert bound + (lowest << 26) << 32 >= most, word


@pytest.mark.slow("every word of every law")
@pytest.mark.parametrize("law", QUANTILES)
@pytest.mark.parametrize("rate", RATES if LONG else RATES[:2], ids=str)
def test_no_key_of_a_word_is_too_small(law: str, rate: Fraction) -> None:
    """A key less one is at least the noise above the lowest place, in 2**-shift steps."""
    keys, lowest = proved.keys(law, rate), proved.lowest(law)
    unit = 2**64 * rate / Fraction(2) ** keys.shift
    for word, (key, most) in enumerate(
        zip(keys.word_bounds.tolist()[32:], noise(law), strict=True)
    ):
        assert (key - 1) * unit >= most - (lowest << 58), word + 32


@pytest.mark.parametrize("law", QUANTILES)
def test_no_threshold_of_a_tail_word_is_too_small(law: str) -> None:
    """A tail word's bound is the first step whose tail, rounded up, V reaches."""
    table, lowest = proved.bounds(law), proved.lowest(law)
    thresholds = table.tail_thresholds.tolist()
    assert thresholds == sorted(thresholds)
    steps = range(lowest + len(thresholds) - 1, lowest - 1, -1)
    for step, threshold in zip(steps, thresholds, strict=True):
        tail = above(TAILS[law](IV.mpf(step) / 64) * 2**74)
        assert threshold >= min(tail, 2**63), step
    # No threshold reached is no bound; the next ones fall by 1/64 nat each, to the lowest place.
    bounds = table.tail_bounds.tolist()
    assert bounds[1:] == [step - lowest << 26 for step in steps]


@pytest.mark.parametrize("law", QUANTILES)
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_no_key_of_a_tail_word_is_too_small(law: str, rate: Fraction) -> None:
    table, keys = proved.bounds(law), proved.keys(law, rate)
    unit = 2**32 * rate / Fraction(2) ** keys.shift
    pairs = zip(keys.tail_bounds.tolist(), table.tail_bounds.tolist(), strict=True)
    assert all((key - 1) * unit >= bound for key, bound in pairs)


@pytest.mark.parametrize("law", QUANTILES)
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_tail_words_have_no_key_and_the_reach_is_64_nats(law: str, rate: Fraction) -> None:
    keys = proved.keys(law, rate)
    assert not np.any(keys.word_bounds[:32])
    assert keys.reach * rate >= 64 > (keys.reach - 2) * rate
    most = int(2 * keys.reach * Fraction(2) ** keys.shift) + int(keys.tail_bounds.max())
    assert most < 1 << keys.bits <= 1 << 32
    # What the law calls its lowest place lies below the noise of every word.
    assert (TAILS[law](IV.mpf(proved.lowest(law)) / 64)).a > 1 - mpmath.mpf(2) ** -16


# ------------------------------------------------------------------- enclosures and their digits
def places(bits: int) -> list[int]:
    """Leading digits of V: near 0, near 1/2, near 1, and some between."""
    one = 1 << bits
    ends = [1, 2, 3, one // 2 - 2, one // 2 - 1, one // 2, one // 2 + 1, one - 3, one - 2]
    return ends + [one * i // 97 for i in range(1, 97)]


@pytest.mark.parametrize("law", QUANTILES)
@pytest.mark.parametrize(("bits", "precision"), [(16, 40), (64, 50), (80, 52), (144, 128)])
def test_an_enclosure_holds_the_noise_at_both_ends(law: str, bits: int, precision: int) -> None:
    """Noise falls as V grows, so its ends are those of the cell."""
    with wide():
        for v in places(bits):
            low, high = proved.enclosed(law, v, bits, precision)
            unit = IV.mpf(2) ** precision
            at_left, at_right = (
                QUANTILES[law](IV.mpf(each) / 2**bits) * unit for each in (v, v + 1)
            )
            assert low <= below(at_right), v
            assert above(at_left) <= high, v


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2), Fraction(1, 1000)], ids=str)
def test_a_geometric_number_is_the_whole_part(rate: Fraction) -> None:
    """Of exponential noise at this rate, which 128 digits of V know."""
    with wide():
        for v in places(128)[9:]:
            steps = proved.whole(rate, v)
            ends = [-IV.log(IV.mpf(each) / 2**128) for each in (v, v + 1)]
            scaled = [each * rate.denominator / rate.numerator for each in ends]
            assert below(scaled[1]) <= steps <= above(scaled[0]), v
            assert steps == below(scaled[0]), v


@pytest.mark.parametrize("law", QUANTILES)
@pytest.mark.parametrize("first", range(4))
def test_every_tail_word_is_found_and_bounded(law: str, first: int) -> None:
    """A word below 32 is a tail word; its bound is that of its 64 further digits, and close."""
    table, lowest = proved.bounds(law), proved.lowest(law)
    n = 4099
    drawn = proved.drawn(law, n, first)
    tails = [i for i, word in enumerate(drawn.words.tolist()) if word < 32]
    assert drawn.tails.tolist()[: len(tails)] == tails
    assert set(drawn.tails.tolist()[len(tails) :]) == {n}
    assert len(tails) > 100
    told = zip(tails, drawn.tail_counts.tolist(), drawn.extra.tolist(), strict=False)
    with wide():
        for place, count, extra in told:
            bound = int(table.tail_bounds[count]) + (lowest << 26)
            v = drawn.words.tolist()[place] << 64 | extra
            if v and count:
                most = above(QUANTILES[law](IV.mpf(v) / 2**80) * 2**32)
                assert most <= bound <= most + (1 << 27), place


def test_a_candidate_has_its_own_digits() -> None:
    """Its word, 64 digits more if that is a tail word, and of its slot as many as there is room."""
    drawn = proved.drawn("exponential", 4099, 1)
    words, tails = drawn.words.tolist(), drawn.tails.tolist()
    asked = [0, tails[0], 1, tails[3], 4098, tails[1]]
    slots = [random.Random(place).getrandbits(64) for place in asked]
    for place, slot, (v, bits) in zip(asked, slots, drawn.known(asked, slots), strict=True):
        digits = f"{words[place]:016b}"
        if words[place] < 32:
            digits += f"{drawn.extra.tolist()[tails.index(place)]:064b}"
        else:
            digits += f"{slot:064b}"
        assert (f"{v:0{bits}b}", bits) == (digits, 80), place
