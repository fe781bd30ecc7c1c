"""The random half of a ranking: drawn from public numbers alone, before any score is read.

Every candidate gets a 16-bit word, the leading digits of its uniform number V.  Tail words get 64
digits more, so that every candidate's noise has a bound.  A fixed number of *slots* of further
digits is drawn too; `rankings` gives them to the few candidates that can still win.  The leading
digits and the scores decide which candidate gets a slot.  The digits of V are independent, so a
slot's digits are as uniform as digits drawn for that candidate from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safeselect.noise.arrays import Indices, Numbers, picked, random_lanes, to_integers
from safeselect.noise.laws import Law
from safeselect.noise.plan import DIRECT_LIMIT, FINE_LIMIT, Plan
from safeselect.noise.tables import TAIL_BITS, TAIL_DIGITS, bound_table, noise_table, read_noise
from safeselect.randomness.bits import Bits

_CHUNK = 1 << 17  # how many words are searched for tail words at once
_TAIL_EXTRA = 64
_NO_WORDS = np.empty(0, dtype=np.uint64)
_NONE = np.empty(0, dtype=np.int64)


Known = tuple[int, int]
"""The known digits of V: (v, bits) for v / 2**bits <= V <= (v + 1) / 2**bits."""


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
            return [(slot, self.slot_bits) for slot in slots]
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
    if available <= max(plan.contenders, DIRECT_LIMIT):
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
