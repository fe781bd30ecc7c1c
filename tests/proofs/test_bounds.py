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
        assert threshold >= min(above(TAILS[law](IV.mpf(step) / 64) * 2**74), 2**63), step
    # No threshold reached is no bound; the next ones fall by 1/64 nat each, to the lowest place.
    assert table.tail_bounds.tolist()[1:] == [step - lowest << 26 for step in steps]


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
    octaves = [each for bit in range(3, bits - 1) for each in (1 << bit, one - (1 << bit))]
    return ends + octaves + [one * i // 97 for i in range(1, 97)]


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
    # At the ends of (0, 1) there is no bound on one side.
    assert proved.enclosed(law, 0, bits, precision)[1] > 1 << 10_000
    assert proved.enclosed(law, (1 << bits) - 1, bits, precision)[0] < -(1 << 10_000)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1000), Fraction(355, 113)], ids=str)
@pytest.mark.parametrize("kind", ["exponential", "laplace"])
def test_the_noise_of_a_session_is_enclosed(kind: str, rate: Fraction) -> None:
    """In parts of a step: both ends, whatever the rate and the denominator of public numbers."""
    with wide():
        for v in places(96):
            low, high = proved.drawn_noise(kind, rate, v, 96, 64, 7)
            unit = IV.mpf(2) ** 64 * 7 * rate.denominator / rate.numerator
            ends = (QUANTILES[kind](IV.mpf(each) / 2**96) * unit for each in (v, v + 1))
            at_left, at_right = ends
            assert low <= below(at_right), v
            assert above(at_left) <= high, v


@pytest.mark.parametrize("precision", [48, 64])
def test_logarithms_of_weights_are_enclosed(precision: int) -> None:
    """Both ends for a decision, and, rounded up, the parts of noisy scores and of keys."""
    values = [*map(Fraction, ("1", "3/2", "1000000000", "1/7", "1", "2"))]
    weights, least = proved.weights_of(values), min(values)
    assert proved.weights_of([Fraction(5)] * 3) is None
    with wide():
        ratios = [each / least for each in values]
        logs = [IV.log(IV.mpf(each.numerator) / each.denominator) for each in ratios]
        ends = zip(weights.logs(list(range(6)), precision), logs, strict=True)
        assert all(
            a <= below(log * 2**precision) <= above(log * 2**precision) <= b for (a, b), log in ends
        )
        for found, log in zip(weights.units.tolist(), logs, strict=True):
            assert above(log * 2**32) <= found <= above(log * 2**32) + 2**11
        for found, log in zip(weights.keys(Fraction(1, 700)).tolist(), logs, strict=True):
            assert above(log * 700) <= found <= above(log * 700) + 2
        assert weights.spread >= above(max(logs, key=lambda each: each.b))


@pytest.mark.slow("noise by intervals")
@pytest.mark.parametrize("bits", [16, 64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("law", QUANTILES)
def test_whoever_is_left_out_lies_below_the_ceiling(law: str, weighted: bool, bits: int) -> None:
    """Y of everybody but the contenders and who was removed, for rates from 1/10**6 to 1000.

    V is the least that begins with the digits drawn, where the bound is tight.  Noise that the
    table of 64 digits lacks has no bound: then nobody is certified.
    """
    n, chance = 300, random.Random(law)
    for rate, removed in zip([*RATES, RATES[1]], [[], [0, 7], [5], [1], [0], [299]], strict=True):
        v = [chance.randrange(32 << bits - 16, 1 << bits) for _ in range(n)]
        if bits == 16:
            v[::10] = [chance.randrange(1, 32) for _ in range(0, n, 10)]
        apart = max(int(20 / rate), 4)
        scores = [2**63 + chance.randrange(apart) for _ in range(n)]
        for place in removed:
            scores[place] += apart
        values = [Fraction(chance.randrange(1, 9)) for _ in range(n)] if weighted else None
        weights = proved.weights_of(values)
        places_, ceiling = proved.left_out(law, rate, v, bits, scores, weights, removed)
        assert ceiling is not None
        assert len(set(places_)) == 4
        assert not set(places_) & set(removed)
        least, bound = ceiling
        for i in set(range(n)) - set(places_) - set(removed):
            tail = v[i] < 32  # its further digits are a one and zeros
            noise = QUANTILES[law]((IV.mpf(v[i]) + (IV.mpf(1) / 2 if tail else 0)) / 2**bits)
            if values is not None:
                noise += IV.log(IV.mpf(values[i].numerator) / min(values).numerator)
            noise += IV.mpf(rate.numerator) * (scores[i] - least) / rate.denominator
            assert above(noise * 2**32) <= bound, (rate, i)


@pytest.mark.parametrize("first", [3, 40])
@pytest.mark.parametrize("bits", [16, 64])
def test_who_is_removed_is_no_contender(bits: int, first: int) -> None:
    """Not even where all others are as far behind as can be; words of tails and others."""
    v = [first << bits - 16 if i % 2 else 1 << bits - 1 for i in range(300)]
    removed = list(range(1, 300, 2))
    found, _ = proved.left_out("exponential", Fraction(1), v, bits, [0] * 300, None, removed)
    assert len({i for i in found if i % 2 == 0}) == 4


def test_noise_without_a_bound_leaves_no_ceiling() -> None:
    """Of 64 digits, of which the first 32 are zeros: the table lacks it, however low the score."""
    v, scores = [1 << 63] * 40, [2**63] * 40
    v[:9], scores[:9] = [1 << 20] * 9, [2**63 - 5] * 9
    found, ceiling = proved.left_out("exponential", Fraction(1), v, 64, scores, None, [])
    assert set(found) < set(range(9))
    assert ceiling is not None
    assert ceiling[1] > 1 << 10_000


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2), Fraction(1, 1000)], ids=str)
def test_a_geometric_number_is_the_whole_part(rate: Fraction) -> None:
    """Of exponential noise at this rate, which 128 digits of V know."""
    with wide():
        for v in (v for v in places(128) if 1 << 64 < v < (1 << 128) - (1 << 64)):
            steps = proved.whole(rate, v)
            ends = [-IV.log(IV.mpf(each) / 2**128) for each in (v, v + 1)]
            scaled = [each * rate.denominator / rate.numerator for each in ends]
            assert below(scaled[1]) <= steps <= above(scaled[0]), v
            assert steps == below(scaled[0]), v


def words_with_tails(seed: int) -> tuple[list[int], list[int]]:
    """Words of 4099 candidates, every twentieth of which is a tail word, and 300 further digits."""
    chance = random.Random(seed)
    words = [chance.randrange(32 if i % 20 == 0 else 1 << 16) for i in range(4099)]
    return words, [chance.getrandbits(64) for _ in range(300)]


@pytest.mark.parametrize("law", QUANTILES)
def test_every_tail_word_is_found_and_bounded(law: str) -> None:
    """A word below 32 is a tail word; its bound is that of its 64 further digits, and close."""
    table, lowest = proved.bounds(law), proved.lowest(law)
    words, extra = words_with_tails(1)
    drawn = proved.drawn(law, words, extra)
    tails = [i for i, word in enumerate(words) if word < 32]
    assert drawn.words.tolist() == words
    assert drawn.tails.tolist() == tails + [len(words)] * (300 - len(tails))
    assert len(tails) > 200
    assert not drawn.endless
    with wide():
        for place, count, digits in zip(tails, drawn.tail_counts.tolist(), extra, strict=False):
            bound = int(table.tail_bounds[count]) + (lowest << 26)
            most = above(QUANTILES[law](IV.mpf(words[place] << 64 | digits) / 2**80) * 2**32)
            assert most <= bound <= most + (1 << 27), place


@pytest.mark.parametrize(
    ("room", "first", "endless"), [(300, 1, [0]), (150, 1, [0, "more"]), (150, 2**63, ["more"])]
)
def test_noise_without_a_bound_decides_nothing(
    room: int, first: int, endless: list[object]
) -> None:
    """A V of 79 zeros, and tail words for which there is no room, are told, and nobody wins."""
    words, extra = words_with_tails(2)
    words[0], extra[0] = 0, first
    tails = [i for i, word in enumerate(words) if word < 32]
    found = proved.drawn("exponential", words, extra[:room])
    expected = [0] if 0 in endless else []
    assert list(found.endless) == expected + (tails[room:] if "more" in endless else [])
    assert proved.open_ranking(found) is None


def test_a_candidate_has_its_own_digits() -> None:
    """Its word, 64 digits more if that is a tail word, and of its slot as many as there is room."""
    words, extra = words_with_tails(3)
    drawn = proved.drawn("exponential", words, extra)
    tails = drawn.tails.tolist()
    asked = [0, tails[0], 1, tails[3], 4098, tails[1]]
    slots = [random.Random(place).getrandbits(64) for place in asked]
    for place, slot, (v, bits) in zip(asked, slots, drawn.known(asked, slots), strict=True):
        digits = f"{words[place]:016b}"
        digits += f"{extra[tails.index(place)]:064b}" if words[place] < 32 else f"{slot:064b}"
        assert (f"{v:0{bits}b}", bits) == (digits, 80), place


@pytest.mark.parametrize(("removed", "room"), [([], 300), ([1], 100)])
def test_digits_are_drawn_on_demand_and_stay(removed: list[int], room: int) -> None:
    """What `Refine.v` takes refining for: digits once drawn stay, others follow, each of its own.

    First come the digits of the draw; whoever has no bound is looked at from the first round on.
    """
    words, extra = words_with_tails(4)
    words[0], words[1], extra[0], extra[1] = 0, 0, 1, 2
    drawn = proved.drawn("exponential", words, extra[:room])
    handed, rounds = proved.refined(drawn, removed, 3)
    last, places = dict[int, tuple[int, int]](), drawn.tails.tolist()
    for known in rounds:
        assert {0, 1, *drawn.endless} - set(removed) <= set(known)
        assert not set(known) & set(removed)
        for i, (v, bits) in known.items():
            own = f"{words[i]:016b}"
            own += f"{extra[places.index(i)]:064b}" if i in places else ""
            before, size = last.get(i, (int(own, 2), len(own)))
            assert bits > size, i
            assert v >> bits - size == before, i
        last |= known
    later = [v >> 64 * k & 2**64 - 1 for v, bits in last.values() for k in range((bits - 80) // 64)]
    assert len(set(later)) == len(later) > 3 * len(rounds[0])
    assert set(later) <= set(handed)
