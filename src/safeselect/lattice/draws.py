"""The random half of a ranking: drawn from public numbers alone, before any score is looked at.

Every candidate gets a 16-bit word, the leading digits of its uniform number V.  Tail words get 64
digits more at once, so that a bound of every candidate's noise is known.  Besides, a fixed number
of *slots* of further digits is drawn; `rank` hands them to the few candidates that can still win.
Digits of V are independent, so digits that are handed out by what the leading ones and the scores
say are as uniform as digits drawn for that candidate in the first place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from safeselect.lattice.arrays import BitSource, Numbers, fill, to_integers
from safeselect.lattice.fine import FineTable, fine_noise
from safeselect.lattice.largest import block_size
from safeselect.lattice.thresholds import TAIL_BITS, TAIL_DIGITS, Table

__all__ = ["Draws", "draw_noise", "draw_slots", "draw_words"]

CHUNK = 1 << 17  # words a request
_TAIL_CHUNK = 1 << 20
_TAIL_EXTRA = 64
_EMPTY = np.empty(0, dtype=np.uint16)


@dataclass(frozen=True, slots=True)
class Draws:
    """Random numbers for n candidates and for the slots.

    Args:
        words: uint16, n + 1 of them; the last belongs to nobody and takes the padding.
        counts: uint16, n + 1: noise <= (table.first + counts) / 64 nats.
        width: digits of a word.
        tails: candidate -> the 64 digits that follow its word, for tail words.
        endless: candidates whose noise has no bound yet; empty but with probability n * 2**-74.
        slots: further digits, `slot_bits` each.
        slot_bits: digits of a slot.
        noise: int64, n, in units of `fine`, up to its ERROR, where it was worked out for all; then
            words are uint64, n, and counts are not needed.
    """

    words: Numbers
    counts: NDArray[np.uint16]
    width: int
    tails: dict[int, int]
    endless: list[int]
    slots: list[int]
    slot_bits: int
    noise: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def without_words(cls, slots: list[int], slot_bits: int) -> Draws:
        """One slot for every candidate; for so few of them that words would save nothing."""
        return cls(_EMPTY, _EMPTY, 0, {}, [], slots, slot_bits)

    def uniform(self, candidate: int, word: int, slot: int) -> tuple[int, int]:
        """The digits of V that are known of a candidate that is given a slot: (v, bits).

        Reveals: the same steps for every candidate; whether its word is a tail word picks numbers.
        """
        more = _TAIL_EXTRA * (candidate in self.tails)
        word = (word << more) | self.tails.get(candidate, 0)
        return (word << self.slot_bits) | slot, self.width + more + self.slot_bits


def draw_slots(count: int, bits_each: int, bits: BitSource) -> list[int]:
    """Draw `count` uniform integers of `bits_each` bits, a multiple of 64, in one request."""
    lanes = np.empty(count * bits_each // 64, dtype=np.uint64)
    fill(lanes, bits)
    numbers = to_integers(lanes)
    if bits_each == 64:
        return numbers
    step = bits_each // 64
    return [
        sum(lane << (64 * j) for j, lane in enumerate(numbers[i : i + step]))
        for i in range(0, len(numbers), step)
    ]


def draw_noise(n: int, table: FineTable, bits: BitSource, few: int, slot_bits: int) -> Draws:
    """Draw 64 digits for each of n candidates and work out their noise; and `few` slots.

    Bits: 64 a candidate, and the slots, which may be of no digits: 64 are mostly enough.
    """
    slots = draw_slots(few, slot_bits, bits) if slot_bits else [0] * few
    words, noise = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int64)
    fill(words, bits)
    fine_noise(table, np.copy(words), noise)
    return Draws(words, _EMPTY, 64, {}, [], slots, slot_bits, noise)


def draw_words(n: int, table: Table, bits: BitSource, slots: list[int], slot_bits: int) -> Draws:
    """Draw a word for each of n candidates and bound each candidate's noise.

    Method: requests of 2**17 words each; see `_lengthen` for the tail words.
    Bits: 16 a candidate, and 64 for each of the padded tail words, one in 800 candidates.
    """
    words = np.zeros(n + 1, dtype=np.uint16)
    counts = np.empty(n + 1, dtype=np.uint16)
    result = Draws(words, counts, table.width, {}, [], slots, slot_bits)
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        fill(words[start:stop], bits)
    piece = block_size(n)  # `take` widens its indices to 64 bits in memory of its own
    for start in range(0, n, piece):
        stop = min(start + piece, n)
        np.take(table.counts, words[start:stop], out=counts[start:stop], mode="wrap")
    for start in range(0, n, _TAIL_CHUNK):
        _lengthen(result, start, min(start + _TAIL_CHUNK, n), table, bits)
    return result


def _lengthen(draws: Draws, start: int, stop: int, table: Table, bits: BitSource) -> None:
    """Draw 64 digits more for every tail word of a chunk and bound the noise by them.

    Reveals: nothing of the scores.  The number of tail words is hidden by padding to a public
        capacity, eight standard deviations and 40 above the mean.  By Bernstein's inequality a
        second round has probability below 2**-60 for 2**20 words, 2**-53 for 10**8 candidates.
    """
    mean = -(-(stop - start) >> (table.width - TAIL_BITS))
    capacity = mean + 8 * (isqrt(mean) + 1) + 40
    found = start + np.flatnonzero(np.less(draws.words[start:stop], np.uint16(1 << TAIL_BITS)))
    for first in range(0, max(found.size, 1), capacity):
        part = found[first : first + capacity]
        index = np.full(capacity, draws.words.size - 1, dtype=np.int64)
        index[: part.size] = part
        extra = np.empty(capacity, dtype=np.uint64)
        fill(extra, bits)
        # V = (word, extra, ...) in binary digits; 63 of them follow the leading zeros.
        digits = np.left_shift(
            np.take(draws.words, index).astype(np.uint64), np.uint64(TAIL_DIGITS - TAIL_BITS)
        )
        np.bitwise_or(
            digits,
            np.right_shift(extra, np.uint64(_TAIL_EXTRA - TAIL_DIGITS + TAIL_BITS)),
            out=digits,
        )
        below = np.searchsorted(table.tail, digits, side="right")
        np.put(draws.counts, index, np.subtract(table.top, below))
        draws.tails.update(zip(to_integers(index), to_integers(extra), strict=True))
        none = index[below == 0]
        draws.endless.extend(none[none < draws.words.size - 1].tolist())
