"""Certified coarse noise: an upper bound of each candidate's noise by its leading digits.

A candidate's uniform number V begins with a 16-bit word, and noise falls as V grows.  So the noise
at the least V that begins with the word bounds the noise, whatever digits follow.  It is read off
the fine table, once per possible word.

Words below 2**5 leave the noise too uncertain (without a bound for word 0).  These *tail* words,
one in 2048, are lengthened by 64 digits at once.  Their noise is bounded in steps of 1/64 nat: the
smallest step u with S(u/64) <= V is found by counting certified thresholds, 74 digits fine and
rounded upwards.

Both tables depend on the law alone.  For a rate they are turned into *keys*, in units of a grid
step times a power of two, so that a key is had by shifting and adding a score.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safeselect.exact.rate import Decay
from safeselect.noise.fine import ERROR, REACH, UNIT_BITS, fine_noise, fine_table
from safeselect.noise.laws import Law

__all__ = ["STEPS_PER_NAT", "TAIL_BITS", "TAIL_DIGITS", "Keys", "Table", "keys", "table"]

STEPS_PER_NAT = 64
TAIL_BITS = 5
TAIL_DIGITS = 63
_LAST = 3328  # 52 nats: S is below 2**-74 there, in every law
_PRECISION = 128
_STEP_BITS = UNIT_BITS - 6  # a step of 1/64 nat in units
_KEY_BITS = 9  # a unit of a key is below 2**-9 nat, and not below 2**-10 nat


@dataclass(frozen=True, slots=True)
class Table:
    """Upper bounds of the noise less the law's `lowest`, in units of `fine`; read-only arrays.

    Args:
        words: uint64, by word; 0 for tail words, which says nothing, and 1 or more for others.
        tail: uint64, ascending: thresholds in units of 2**-74, for the lengthened tail words.
        tail_bounds: uint64, by how many thresholds are not above V; with none there is no bound.
    """

    words: NDArray[np.uint64]
    tail: NDArray[np.uint64]
    tail_bounds: NDArray[np.uint64]


@lru_cache(maxsize=8)
def table(law: Law, width: int = 16, tail_bits: int = TAIL_BITS) -> Table:
    """Build the table of a law; `width` and `tail_bits` differ from the defaults in tests only.

    Requires: 0 <= tail_bits < width <= 16.
    Exactness: every threshold is rounded up, and ERROR is added to what the fine table says, so a
        bound is never too small.
    """
    digits = width - tail_bits + TAIL_DIGITS
    ends = [
        min(_threshold(law, u, digits), 1 << TAIL_DIGITS) for u in range(_LAST, law.lowest - 1, -1)
    ]
    noise = np.empty(1 << width, dtype=np.int64)
    words = np.arange(1 << width, dtype=np.uint64)
    fine_noise(fine_table(law), np.left_shift(words, np.uint64(64 - width)), noise)
    noise += ERROR - (law.lowest << _STEP_BITS)
    noise[: 1 << tail_bits] = 0
    bounds = np.arange(len(ends), -1, -1, dtype=np.uint64)
    result = Table(
        noise.astype(np.uint64),
        np.array(ends, dtype=np.uint64),
        np.left_shift(bounds, np.uint64(_STEP_BITS)),
    )
    for array in (result.words, result.tail, result.tail_bounds):
        array.flags.writeable = False
    return result


def _threshold(law: Law, steps: int, bits: int) -> int:
    """An integer of at least 2**bits * S(steps / 64), rounded up."""
    mantissa, exponent = law.survival(steps, _PRECISION).as_mantissa_exp()
    # The mantissa has 128 digits, and S is below 2: the shift is to the right.
    return -(-int(mantissa) >> -(int(exponent) + bits))


@dataclass(frozen=True, slots=True)
class Keys:
    """A law's table for a rate: noise less `lowest` is at most a key less 1, in 2**-shift steps.

    The 1 makes up for what a distance loses where the shift is negative.

    Args:
        words, tail_bounds: uint32, by word and by thresholds as in `Table`; 0 for tail words.
        shift: how far distances in grid steps are shifted up, or, if negative, down.
        reach: so many grid steps are worth REACH nats or more.
        bits: a distance of 2 * reach and a bound together are below 2**bits.
    """

    words: NDArray[np.uint32]
    tail_bounds: NDArray[np.uint32]
    shift: int
    reach: int
    bits: int


@lru_cache(maxsize=16)
def keys(law: Law, decay: Decay, width: int = 16, tail_bits: int = TAIL_BITS) -> Keys:
    """Turn the table of a law into keys: a quarter of a megabyte, in less than a millisecond.

    Exactness: a key is rounded up, and by less than two units and a 2**-24th of the noise.
        Keys fit 32 bits: 2 * reach are 2**31 units where a step is worth most, else below 2**20.
    """
    low, high = decay.nats(128).fractions()
    # 2**(e - 1) <= high < 2**e for e = shift - _KEY_BITS, because its denominator is a power of 2.
    shift = high.numerator.bit_length() - high.denominator.bit_length() + _KEY_BITS + 1
    unit = Fraction(2) ** (shift - UNIT_BITS) / low  # how many units of a key one of the table has
    # Bounds have 38 digits, and factor has 26: together 64.
    back = 25 - unit.numerator.bit_length() + unit.denominator.bit_length()
    factor = np.uint64(int(unit * (1 << back)) + 1)
    source = table(law, width, tail_bits)
    words, tail_bounds = (
        np.add(np.right_shift(np.multiply(bounds, factor), np.uint64(back)), np.uint64(2))
        for bounds in (source.words, source.tail_bounds)
    )
    words[: 1 << tail_bits] = 0
    reach = int(REACH / low) + 1
    most = _shifted(2 * reach, shift) + int(np.max(tail_bounds))
    result = Keys(
        words.astype(np.uint32), tail_bounds.astype(np.uint32), shift, reach, most.bit_length()
    )
    for array in (result.words, result.tail_bounds):
        array.flags.writeable = False
    return result


def _shifted(number: int, shift: int) -> int:
    return number << shift if shift >= 0 else number >> -shift
