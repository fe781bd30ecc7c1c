"""What is fixed before any score is read: the public plan of a ranking, and its random numbers.

**The plan.**  Two calls with equal plans and equally many candidates do equal work.

The contender lemma of `docs/mathematics.md`, section 10, says how many contenders suffice to put j
candidates in order.  Outside the `steep` last words a key is less than WINDOW / 2**16 nat above Y
(`allowances`).  The noise has a hazard rate of at most 1 a nat, also given that no steep word was
drawn.  So j + m or more candidates without a steep word have keys that reach the j-th largest Y
with probability at most P(Bin(j + m - 1, WINDOW / 2**16) >= m).  A candidate with a steep word has
less noise than any without one.  Where its key reaches the j-th largest Y, fewer than j candidates
without a steep word have scores as high.  So m or more candidates with steep words have keys that
reach the j-th largest Y with probability at most P(Bin(j + m - 1, steep / 2**16) >= m).

**Weights** are public: Y_i = rate * score_i + ln w_i + Q(V_i) nats.  With Gumbel noise candidate i
then wins with probability proportional to w_i rho**-score_i.  Only ratios of weights matter.  The
logarithms of all ratios to the least weight are bounded at once, and a bound adds them rounded up.
Those of the contenders are enclosed, and `certified_order` adds both ends.

**The draws.**  Every candidate gets a 16-bit word, the leading digits of its uniform number V.
Tail words get 64 digits more, so that every candidate's noise has a bound.  A fixed number of
*slots* of further digits is drawn too; `rankings` gives them to the few candidates that can still
win.  The leading digits and the scores decide which candidate gets a slot.  The digits of V are
independent, so a slot's digits are as uniform as digits drawn for that candidate from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import repeat
from math import ceil, comb, isqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.allowances import (
    FINE_WINDOW,
    LOG_ERROR,
    LOSS,
    RARE_FINE,
    RARE_STEEP,
    RARE_WINDOW,
    REACH,
    UNIT_BITS,
    WEIGHTED_FINE_WINDOW,
    WEIGHTED_WINDOW,
    WINDOW,
)
from safeselect.engine.arrays import Indices, Numbers, picked, random_lanes, take, to_integers, word
from safeselect.engine.laws import (
    DIGITS,
    EXPONENTIAL,
    QUICK_PRECISION,
    Known,
    Law,
    ln_2,
    minus_logs,
)
from safeselect.engine.tables import TAIL_BITS, TAIL_DIGITS, bound_table, noise_table, read_noise
from safeselect.exact.interval import Interval, NoiseRate
from safeselect.randomness.bits import Bits

_ONE = Fraction(1)

DIRECT_LIMIT, QUICK_LIMIT = 24, 48
"""Up to so many candidates, each is given a slot: arrays would take longer.  The second is for
slots of 64 digits whose noise takes one logarithm."""

FINE_LIMIT = 1 << 12
"""Up to so many candidates, the noise of each is read off the fine table: see `tables`."""

GUARD = 72
"""Extra digits of the rate: a score has 64 bits, so rate * score keeps 8 beyond the precision."""

_DIGITS = 168  # behind the point of a rate's lower bound: it has 128 or more, above 2**-40


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """A distance of d grid steps, d <= 2 * reach, counts for ((d >> shift) * factor) >> back units.

    All numbers are public.  Nothing overflows.  d >> shift and factor have 32 bits at most, unless
    one step is worth 2**31 units or more; then 2 * reach steps are worth less than 2**55 units.
    """

    reach: int
    shift: int
    factor: int
    back: int

    def units(self, distance: int) -> int:
        """How many units one distance is worth."""
        return ((distance >> self.shift) * self.factor) >> self.back

    def apply(self, distances: Numbers) -> None:
        """Replace distances, uint64, by units."""
        if self.shift:
            np.right_shift(distances, word(self.shift), out=distances)
        np.multiply(distances, word(self.factor), out=distances)
        if self.back:
            np.right_shift(distances, word(self.back), out=distances)


def fixed_point(noise_rate: NoiseRate, unit_bits: int, reach: int) -> FixedPoint:
    """The noise rate for units of 2**-unit_bits nat and distances of `reach` nats both ways.

    Exactness: the units are never too many.  The last shift loses less than 1.  `shift` is zero or
        leaves 31 digits of 2 * reach, and `factor` has 31 digits or is exact, so each of them loses
        less than a 2**-30th part of 2 * reach nats.
    """
    nats, _ = noise_rate.scaled(_DIGITS)
    steps = (reach << _DIGITS) // nats + 1
    shift = max(0, (2 * steps).bit_length() - 32)
    unit = nats << unit_bits + shift  # times 2**-_DIGITS
    back = max(0, 32 + _DIGITS - unit.bit_length())
    return FixedPoint(steps, shift, unit << back >> _DIGITS, back)


class Plan(NamedTuple):
    """The public numbers of a ranking.

    Args:
        law, noise_rate: the law of the noise, and the noise rate.
        k: how many to rank.
        ranked: how many must be put in order: k, or k + 1 with gaps.
        contenders: how many candidates are given a slot, if there are that many.
        direct, quick: up to so many candidates, each is given one; the second if none is removed.
        slot_bits: digits of a slot.
        precision: enclosures are integers in units of 2**-precision nats.
        rate: encloses the nats of one grid step; see `rate`.
        gap_unit: the unit of the gaps in grid steps, worth 2**-40 nats or more.  The slots then
            decide the floors but with probability 2**-42 (docs/mathematics.md, section 11).
        fine_contenders: how many candidates are given a slot where the fine table has all noise.
        fixed_rate: the score's part of a noisy score, in units of `tables`; at most `loss` too
            small.
        loss: LOSS for the reach of `fixed_rate`.
        spread: nats by which logarithms of weights may differ; 0 without weights.
        weights: public weights of the candidates, or None.
    """

    law: Law
    noise_rate: NoiseRate
    k: int
    ranked: int
    contenders: int
    direct: int
    quick: int
    slot_bits: int
    precision: int
    rate: tuple[int, int]
    gap_unit: Fraction
    fine_contenders: int
    fixed_rate: FixedPoint
    loss: int
    spread: int
    weights: Weights | None = None


@lru_cache(maxsize=64)
def plan(
    law: Law, k: int, noise_rate: NoiseRate, gaps: bool, gap_unit: Fraction = _ONE, spread: int = 0
) -> Plan:
    """Compute the plan of a ranking, but for the weights themselves.

    With weights the reach grows by their spread: so a candidate whose score is clipped is still as
    far from the `ranked` best as without weights.  A bound adds ln w rounded up, so the windows
    grow by a unit and LOG_ERROR; LOSS grows with the reach.
    """
    ranked = k + gaps
    slot_bits = 128 if gaps or k > 256 else 64
    # The l-th and the next differ by less than h nats with probability l * h at most.  Enclosures
    # are a few units wide.  So all neighbours are told apart but with probability 2**-42.
    precision = 144 if gaps else 48 + 2 * ranked.bit_length()
    fine = WEIGHTED_FINE_WINDOW if spread else FINE_WINDOW
    contenders = _contenders(law, ranked, WEIGHTED_WINDOW if spread else WINDOW)
    direct, is_quick = max(contenders, DIRECT_LIMIT), law is EXPONENTIAL and slot_bits == 64
    return Plan(
        law=law,
        noise_rate=noise_rate,
        k=k,
        ranked=ranked,
        contenders=contenders,
        direct=direct,
        quick=max(direct, QUICK_LIMIT) if is_quick else direct,
        slot_bits=slot_bits,
        precision=precision,
        rate=rate(noise_rate, precision),
        gap_unit=gap_unit,
        # The table does not cover a noise with probability 2**-31.  It does not cover more than two
        # of FINE_LIMIT with probability below 2**-59.  That and the excess are below 2**-41
        # together.
        fine_contenders=ranked + (_excess(ranked, fine, RARE_FINE) - 1) + 2,
        fixed_rate=fixed_point(noise_rate, UNIT_BITS, REACH + spread),
        loss=LOSS * -(-(REACH + spread) // REACH),
        spread=spread,
    )


@lru_cache(maxsize=256)
def rate(noise_rate: NoiseRate, precision: int) -> tuple[int, int]:
    """Integers that enclose the nats of a grid step times 2**(precision + GUARD)."""
    return noise_rate.scaled(precision + GUARD)


def _contenders(law: Law, ranked: int, window: int) -> int:
    """How many candidates can still be among the `ranked` first, but with probability 2**-41.

    `_excess` says how many are too many, so each term takes one less.
    """
    if ranked > 1000:  # far above both bounds, and without binomials of a thousand digits
        return ranked + ranked // 2 + ranked // 64 + 16
    near, steep = _excess(ranked, window, RARE_WINDOW), _excess(ranked, law.steep, RARE_STEEP)
    return ranked + (near - 1) + (steep - 1)


@lru_cache(maxsize=256)
def _excess(ranked: int, words: int, rarity: int) -> int:
    """The least m with P(Bin(ranked + m - 1, words / 2**16) >= m) <= 2**-rarity, by a union bound.

    The probability is at most the expected number of sets of m trials that all succeed.
    """
    m = 1
    while comb(ranked + m - 1, m) * words**m > (1 << 16 * m) >> rarity:
        m += 1
    return m


Cells = NDArray[Any]
"""Numbers as parameters are read, uint64, float64 or fractions: a float is what it prints."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weights:
    """Weights of n candidates, none zero and not all equal.

    Args:
        cells: the weights.
        least: the place of the least weight.
        units: int64, shape (n,): the logarithms of the ratios to the least weight, in units of
            `tables`, at most LOG_ERROR too large and not too small.
        spread: nats, a whole number: no ratio has a larger logarithm.
        kept: what `keys` found.
    """

    cells: Cells
    least: int
    units: Indices
    spread: int
    kept: dict[Fraction, Numbers]

    @classmethod
    def of(cls, weights: Cells) -> Self | None:
        """Take positive weights; None where all are equal, so that they change nothing.

        Requires: none is more than 2**4096 times another; bounds of `tables` have room for that.
            Floats are normal.
        Exactness: of the units, see `_write_logs`; LOG_ERROR has room for two such errors.
        """
        least, most = int(np.argmin(weights)), int(np.argmax(weights))
        if weights[least] == weights[most]:
            return None
        is_small = weights.dtype.kind == "u" and weights[most] < min(len(weights), _LOGS)
        different = np.arange(int(weights[most]) + 1) if is_small else weights
        units = np.empty(len(different), dtype=np.int64)
        for start in range(0, units.size, _LOGS):
            block = slice(start, start + _LOGS)
            _write_logs(different[block], units[block])
        units = take(units, weights.astype(np.int64)) if is_small else units
        units += (LOG_ERROR >> 1) - int(units[least])
        found = cls(weights, least, units, 0, {})
        return replace(found, spread=1 + (found.exact_log(most, 64)[1] >> 64))

    def exact_log(self, place: int, precision: int) -> tuple[int, int]:
        """Integers (low, high) with low <= ln w * 2**precision <= high <= low + 2."""
        weight, least = (Fraction(str(self.cells.item(each))) for each in (place, self.least))
        return Interval.of(weight / least, precision + 32).log().scaled(precision)

    def logs(self, candidates: list[int], precision: int) -> list[tuple[int, int]]:
        """The enclosures of the candidates' ln w, in units of 2**-precision nats.

        Exactness: the quick ones are off by twice the 2**-52nd part of a weight and twice the error
            of `minus_logs`, together by less than 2**-50.9.
        Reveals: nothing; the steps are the same for all candidates.
        """
        if precision > QUICK_PRECISION:
            return [self.exact_log(place, precision) for place in candidates]
        given = map(self.cells.item, [*candidates, self.least])
        tops = [_leading(*weight.as_integer_ratio()) for weight in given]
        logs = minus_logs([(mantissa, 53) for mantissa, _ in tops])
        *found, own = [e * ln_2() - log for log, (_, e) in zip(logs, tops, strict=True)]
        cut, error = DIGITS - precision, 1 << max(0, precision - 50)
        return [((log - own >> cut) - error, (log - own >> cut) + error + 1) for log in found]

    def keys(self, nats: Fraction) -> Numbers:
        """Each candidate's ln w in units of so many nats, 2**-10 to 2**-9: uint32, rounded up.

        Exactness: by less than 1.01 units.  The first shift loses 2**-22 nat and the factor a
            2**-29th part, of 2840 nats at most; products have 64 digits.
        """
        if nats not in self.kept:
            factor = ceil(Fraction(1, 1 << 22) / nats * 2**42)
            found = np.empty(self.units.size, dtype=np.uint32)
            for start in range(0, found.size, _LOGS):
                block = slice(start, start + _LOGS)
                wide = np.multiply((self.units[block] >> 10) + 1, factor).view(np.uint64)
                np.add(wide >> np.uint64(42), 1, out=found[block], casting="unsafe")
            self.kept[nats] = found
        return self.kept[nats]


def _leading(above: int, below: int) -> tuple[int, int]:
    """53 leading digits of a positive ratio, and an exponent: rounded down."""
    exponent = above.bit_length() - below.bit_length() - 53
    mantissa = (above << max(0, -exponent)) // (below << max(0, exponent))  # 53 digits or 54
    more = mantissa >> 53
    return mantissa >> more, exponent + more


def _write_logs(weights: Cells, out: Indices) -> None:
    """Write ln w in units of `tables`, up to the same number for all; too small, if anything.

    Exactness: w is m * 2**e but for a 2**-52nd part, 2**52 <= m < 2**53.  A line of `_log_table` is
        at most 2**-20 / 8 nat too low; all roundings are 4 units, for exponents of up to 4200.
    """
    if weights.dtype.kind != "O":
        words = weights.astype(np.float64).view(np.int64)
        exponents = words >> 52
    else:
        tops = [_leading(*weight.as_integer_ratio()) for weight in weights]
        words, exponents = np.array(tops, dtype=np.int64).T
    values, slopes, ln2 = _log_table()
    cells = words >> 42 & 1023
    np.multiply(exponents, ln2, out=out)
    out >>= 12
    out += take(values, cells)
    words >>= 10
    words &= (1 << 32) - 1
    words *= take(slopes, cells)
    words >>= 32
    out += words


@cache
def _log_table() -> tuple[Indices, Indices, int]:
    """ln(1 + cell / 2**10) for each cell, and what it grows by to the next; and 2**12 ln 2.

    In units of `tables`, rounded down.
    """
    ends = minus_logs([((1 << 10) + cell, 10) for cell in range(1025)])
    nodes = np.array([-end >> DIGITS - UNIT_BITS for end in ends], dtype=np.int64)
    return nodes[:-1], np.diff(nodes), ln_2() >> DIGITS - UNIT_BITS - 12


_LOGS = 1 << 14  # how many logarithms are found at once, so that they stay in the cache
_CHUNK = 1 << 17  # how many words are searched for tail words at once
_TAIL_EXTRA = 64
_NO_WORDS = np.empty(0, dtype=np.uint64)
_NONE = np.empty(0, dtype=np.int64)


class Draws(NamedTuple):
    """Random numbers for n candidates and for the slots.

    Args:
        slots: further digits, `slot_bits` each.
        slot_bits: digits of a slot.
        width, tail_bits: digits of a word; tail words are below 2**tail_bits.
        words: uint16, shape (n,); uint64 where the noise of all candidates was computed.
        noise: int64, shape (n,), in units of `tables`, off by at most its ERROR; only where the
            noise of all candidates was computed.
        tails: int64, the candidates with tail words, padded with n.
        tail_counts: int64, of the same shape: their bounds; see `tables.BoundTable`.
        extra: uint64, of the same shape: the 64 digits that follow their words.
        endless: the candidates whose noise has no bound; empty but with probability 2**-45.
    """

    slots: list[int]
    slot_bits: int
    width: int = 0
    tail_bits: int = TAIL_BITS
    words: Numbers = _NO_WORDS
    noise: NDArray[np.int64] = _NONE
    tails: Indices = _NONE
    tail_counts: Indices = _NONE
    extra: Numbers = _NO_WORDS
    endless: Sequence[int] = ()

    def known(self, candidates: list[int], slots: list[int]) -> list[Known]:
        """The known digits of V of some candidates, once each has been given a slot.

        A tail word already has 64 further digits, so it uses that many digits fewer of its slot.
        Reveals: nothing; the steps are the same for all candidates.  Whether a word is a tail word
            only picks numbers.
        """
        if not self.words.size:
            return list(zip(slots, repeat(self.slot_bits)))
        words = picked(self.words, candidates)
        if not self.tails.size:
            return list(map(self._joined, words, slots))
        which = np.array(candidates, dtype=np.int64)
        # The tails ascend, so a candidate's own place is the first that is not below it.
        places = np.minimum(np.searchsorted(self.tails, which), self.tails.size - 1)
        is_tail = np.equal(np.take(self.tails, places), which)
        more = to_integers(np.multiply(is_tail, np.int64(_TAIL_EXTRA)))
        extra = to_integers(np.multiply(np.take(self.extra, places), is_tail))
        return list(map(self._joined, words, slots, more, extra))

    def _joined(self, word: int, slot: int, more: int = 0, extra: int = 0) -> Known:
        """A word, `more` digits of its own and the rest of the slot."""
        digits = (word << more | extra) << self.slot_bits - more
        return digits | slot >> more, self.width + self.slot_bits


def draw(n: int, plan: Plan, bits: Bits, removed: int = 0) -> Draws:
    """Draw all that the ordinary path needs: words for all, one slot for each contender.

    Bits: 16 a candidate and one slot a contender; for few candidates one slot each and no words.
    Reveals: nothing; the requests follow from the arguments but with probability 2**-50.
    """
    available = n - removed
    if available <= (plan.direct if removed else plan.quick):
        return Draws(draw_slots(available, plan.slot_bits, bits), plan.slot_bits)
    if n <= FINE_LIMIT:
        return draw_noise(n, plan.law, bits, plan.fine_contenders, plan.slot_bits - 64)
    return draw_words(n, plan.law, bits, plan.contenders, plan.slot_bits)


def draw_slots(count: int, bits_each: int, bits: Bits) -> list[int]:
    """Draw `count` uniform integers of `bits_each` bits, a multiple of 64, in one request."""
    return _integers(random_lanes(count * bits_each // 64, bits), bits_each)


def _integers(lanes: NDArray[np.uint64], bits_each: int) -> list[int]:
    """Integers of `bits_each` bits made of 64-bit ones."""
    numbers = to_integers(lanes)
    if bits_each == 64:
        return numbers
    step = bits_each // 64
    return [
        sum(lane << (64 * j) for j, lane in enumerate(numbers[i : i + step]))
        for i in range(0, len(numbers), step)
    ]


def draw_noise(n: int, law: Law, bits: Bits, count: int, slot_bits: int) -> Draws:
    """Draw 64 digits for each of n candidates, compute their noise, and draw `count` slots.

    Bits: 64 a candidate, and the slots.  A slot may have no digits, because 64 are mostly enough.
    """
    lanes = random_lanes(n + count * slot_bits // 64, bits)
    words, noise = lanes[:n], np.empty(n, dtype=np.int64)
    read_noise(noise_table(law), words.copy(), noise)
    slots = _integers(lanes[n:], slot_bits) if slot_bits else [0] * count
    return Draws(slots, slot_bits, 64, words=words, noise=noise)


def tail_capacity(n: int) -> int:
    """How many tail words have room: the mean, eight standard deviations and 40 more.

    By Bernstein's inequality there are more tail words with probability below 2**-46 for
    n <= 10**8.
    """
    mean = -(-n >> (16 - TAIL_BITS))
    return mean + 8 * (isqrt(mean) + 1) + 40


def draw_words(n: int, law: Law, bits: Bits, count: int, slot_bits: int) -> Draws:
    """Draw a word for each of n candidates, 64 digits more for each tail word, and `count` slots.

    Bits: 16 a candidate, and 64 for each of the padded tail words, one in 800 candidates.
    Reveals: nothing of the scores.  A public capacity hides the number of tail words.
    """
    capacity, lanes = tail_capacity(n), count * slot_bits // 64
    numbers = random_lanes(lanes + capacity + -(-n // 4), bits)
    extra = numbers[lanes : lanes + capacity]
    words = numbers[lanes + capacity :].view(np.uint16)[:n]
    tails, beyond = np.full(capacity, n, dtype=np.int64), []
    filled = 0
    for start in range(0, n, _CHUNK):
        piece = words[start : start + _CHUNK]
        found = start + np.flatnonzero(np.less(piece, np.uint16(1 << TAIL_BITS)))
        room = found[: capacity - filled]
        tails[filled : filled + room.size] = room
        beyond += found[room.size :].tolist()
        filled += room.size
    # V = (word, extra, ...) in binary digits.  The line takes the 63 that follow the leading zeros.
    leading = np.take(words, np.minimum(tails, n - 1)).astype(np.uint64)
    digits = np.left_shift(leading, np.uint64(TAIL_DIGITS - TAIL_BITS))
    rest = np.right_shift(extra, np.uint64(_TAIL_EXTRA - TAIL_DIGITS + TAIL_BITS))
    counts = np.searchsorted(
        bound_table(law).tail_thresholds, np.bitwise_or(digits, rest), side="right"
    )
    # A noise has no bound if V has too many leading zeros (probability n * 2**-74), or if there is
    # no room for its tail word (see `tail_capacity`).
    none = tails[counts == 0]
    endless = none[none < n].tolist() + beyond
    slots = _integers(numbers[:lanes], slot_bits)
    return Draws(slots, slot_bits, 16, TAIL_BITS, words, _NONE, tails, counts, extra, endless)
