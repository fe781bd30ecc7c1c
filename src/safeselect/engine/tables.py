"""Certified tables of noise, by the leading digits of V: fine, coarse, and as keys for a rate.

The fine table has the noise to 2**-15 nat: quantiles with straight lines between.

A uniform number V is folded, U = V below 1/2 and 1 - V above, and written U = 2**-(z+1) (1 + f)
with z leading zeros and f in [0, 1).  In each octave the noise Q is tabulated at 2**6 points of f
and interpolated linearly between them.  In all three laws |d2Q/dU2| <= 1 / U**2: the derivative is
1 / U**2 or 1 / (1 - U)**2, and for Gumbel noise (1 - h) / ((1 - U) h)**2 below 1/2, where
h = -ln(1 - U), and |1 - h| / (U h)**2 above, where h = -ln U.  So within an octave the second
derivative in f is at most 1, and a line over a step of 2**-6 is off by at most 2**-12 / 8 = 2**-15
nat.

Values are integers in units of 2**-32 nat.  The table does not cover U < 2**-32.

The coarse table has an upper bound of each candidate's noise.

A candidate's uniform number V begins with a 16-bit word, and noise falls as V grows.  So the noise
at the least V that begins with the word bounds the noise, whatever digits follow.  It is read off
the fine table, once for each possible word.

Words below 2**5 leave the noise too uncertain (word 0 gives no bound at all).  These *tail* words,
one in 2048, get 64 more digits at once.  Their noise is bounded in steps of 1/64 nat.  The bound is
the smallest step u with S(u/64) <= V.  Counting certified thresholds finds it; these have 74 digits
and are rounded upwards.

The tables depend on the law alone.  For a noise rate they are turned into *keys*, in units of a
grid step times a power of two.  So a candidate's key is its shifted score plus a table entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.allowances import ERROR, KEY_BITS, REACH, UNIT_BITS
from safeselect.engine.arrays import Array, Numbers, take, word
from safeselect.engine.laws import DIGITS, Law
from safeselect.exact.interval import NoiseRate

_POINTS_BITS = 6
UNKNOWN = 1 << 60
"""Stands for noise that the table does not cover; larger than all noise in the table."""

_OCTAVES = 32  # leading zeros 1 .. 31; none has 0, because U < 1/2, so 0 stands for 32 and more

TAIL_BITS = 5
TAIL_DIGITS = 63
_LAST = 3328  # 52 nats: S is below 2**-74 there, in every law
_PRECISION = 128
_STEP_BITS = UNIT_BITS - 6  # a step of 1/64 nat in units


@dataclass(frozen=True, slots=True)
class NoiseTable:
    """All arrays are read-only.

    Args:
        zeros: uint8, by 16 digits of U: how many zeros they begin with.
        values: int64, by side of 1/2, leading zeros and point: the noise in units.
        slopes: int64, likewise: how much the noise changes up to the next point.
    """

    zeros: NDArray[np.uint8]
    values: NDArray[np.int64]
    slopes: NDArray[np.int64]


@cache
def noise_table(law: Law) -> NoiseTable:
    """Build the table of a law, by one quantile a point."""
    points = 1 << _POINTS_BITS
    values = np.zeros((2, _OCTAVES, points), dtype=np.int64)
    slopes = np.zeros((2, _OCTAVES, points), dtype=np.int64)
    for side in (0, 1):
        for zeros in range(1, _OCTAVES):
            # At U = u / 2**bits = 2**-(zeros + 1) * (1 + point / 2**6), within 2 of the true noise.
            bits = _POINTS_BITS + zeros + 1
            places = [(1 << bits) - u if side else u for u in range(points, 2 * points + 1)]
            noises = law.quick([(v, bits) for v in places])
            nodes = [noise >> DIGITS - UNIT_BITS for noise in noises]
            values[side, zeros] = nodes[:-1]
            slopes[side, zeros] = np.diff(np.array(nodes, dtype=np.int64))
    values[:, 0] = UNKNOWN
    zeros_of = np.array([16 - word.bit_length() for word in range(1 << 16)], dtype=np.uint8)
    return NoiseTable(*_read_only(zeros_of, np.reshape(values, -1), np.reshape(slopes, -1)))


def _read_only(*arrays: Array) -> tuple[Array, ...]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


def read_noise(table: NoiseTable, words: Numbers, out: NDArray[np.int64]) -> None:
    """Write Q(V) in units, up to ERROR, for V in [word, word + 1] / 2**64; UNKNOWN if not covered.

    Args:
        words: uint64, contiguous; overwritten.
        out: int64, the same shape.

    Reveals: the same calls for all words, whatever they are.
    """
    # Folding takes the complement where the first digit is one: XOR with all ones.
    side = np.right_shift(words.view(np.int64), np.int64(63)).view(np.uint64)
    np.bitwise_xor(words, side, out=words)
    # Skip 16 leading zeros at once where there are that many, then the remaining zeros.
    far = np.multiply(np.less(words, word(1 << 48)), word(16))
    np.left_shift(words, far, out=words)
    # NumPy 1 refuses unsigned indices of 64 bits.
    leading = np.right_shift(words, word(48)).view(np.int64)
    near = take(table.zeros, leading).astype(np.uint64)
    octave = np.bitwise_and(np.add(far, near, out=far), word(_OCTAVES - 1), out=far)
    np.left_shift(words, np.add(near, word(1), out=near), out=words)
    point = np.right_shift(words, word(64 - _POINTS_BITS), out=near)
    np.add(point, np.left_shift(octave, word(_POINTS_BITS), out=octave), out=point)
    np.add(point, np.bitwise_and(side, word(_OCTAVES << _POINTS_BITS), out=side), out=point)
    index = point.view(np.int64)
    np.left_shift(words, word(_POINTS_BITS), out=words)
    np.right_shift(words, word(32), out=words)
    # |slope| < 2**27 and the place between two points has 32 digits: 59 together.
    np.multiply(take(table.slopes, index), words.view(np.int64), out=out)
    np.right_shift(out, np.int64(32), out=out)
    np.add(out, take(table.values, index), out=out)


@dataclass(frozen=True, slots=True)
class BoundTable:
    """Upper bounds of the noise less the law's `lowest`, in units of 2**-32 nat; read-only arrays.

    Args:
        word_bounds: uint64, by word; 1 or more, but 0 for tail words, where it is no bound.
        tail_thresholds: uint64, ascending, in units of 2**-74, for the lengthened tail words.
        tail_bounds: uint64, by how many thresholds are at most V; with none there is no bound.
    """

    word_bounds: NDArray[np.uint64]
    tail_thresholds: NDArray[np.uint64]
    tail_bounds: NDArray[np.uint64]


@lru_cache(maxsize=8)
def bound_table(law: Law, width: int = 16, tail_bits: int = TAIL_BITS) -> BoundTable:
    """Build the table of a law; `width` and `tail_bits` differ from the defaults in tests only.

    Requires: 0 <= tail_bits < width <= 16.
    Exactness: every threshold is rounded up, and ERROR is added to each value of the fine table.
        So no bound is too small.
    """
    digits = width - tail_bits + TAIL_DIGITS
    ends = [
        min(_threshold(law, u, digits), 1 << TAIL_DIGITS) for u in range(_LAST, law.lowest - 1, -1)
    ]
    noise = np.empty(1 << width, dtype=np.int64)
    words = np.arange(1 << width, dtype=np.uint64)
    read_noise(noise_table(law), np.left_shift(words, np.uint64(64 - width)), noise)
    noise += ERROR - (law.lowest << _STEP_BITS)
    noise[: 1 << tail_bits] = 0
    steps = np.arange(len(ends), -1, -1, dtype=np.uint64)
    tail_bounds = np.left_shift(steps, np.uint64(_STEP_BITS))
    thresholds = np.array(ends, dtype=np.uint64)
    return BoundTable(*_read_only(noise.astype(np.uint64), thresholds, tail_bounds))


def _threshold(law: Law, steps: int, bits: int) -> int:
    """An integer of at least 2**bits * S(steps / 64), rounded up."""
    mantissa, exponent = law.survival(steps, _PRECISION).as_mantissa_exp()
    # The mantissa has 128 digits, and S is below 2: the shift is to the right.
    return -(-int(mantissa) >> -(int(exponent) + bits))


@dataclass(frozen=True, slots=True)
class Keys:
    """A law's table for a rate: noise less `lowest` is at most a key less 1, in 2**-shift steps.

    The 1 makes up for the rounding of a distance where the shift is negative.

    Args:
        word_bounds, tail_bounds: uint32, by word (0 for tail words) and by thresholds, as in
            `BoundTable`.
        shift: how far distances in grid steps are shifted up, or, if negative, down.
        reach: a number of grid steps that are worth REACH nats or more.
        bits: a distance of 2 * reach, a bound and a weight add up to less than 2**bits.
        nats: a lower bound of what one unit is worth.
    """

    word_bounds: NDArray[np.uint32]
    tail_bounds: NDArray[np.uint32]
    shift: int
    reach: int
    bits: int
    nats: Fraction


@lru_cache(maxsize=16)
def keys(
    law: Law, noise_rate: NoiseRate, width: int = 16, tail_bits: int = TAIL_BITS, spread: int = 0
) -> Keys:
    """Turn the table of a law into keys: a quarter of a megabyte, in less than a millisecond.

    Exactness: a key is rounded up, and by less than two units and a 2**-24th of the noise.
        Keys fit 32 bits: 2 * reach are 2**31 units where a step is worth most, else below 2**20.
        A spread of weights, 2840 nats at most, adds less than 3 * 2**22 units.
    """
    low, high = noise_rate.nats(128).fractions()
    # 2**(e - 1) <= high < 2**e for e = shift - KEY_BITS, because its denominator is a power of 2.
    shift = high.numerator.bit_length() - high.denominator.bit_length() + KEY_BITS + 1
    unit = Fraction(2) ** (shift - UNIT_BITS) / low  # the table's unit in units of a key
    # Bounds have 38 digits, and factor has 26: together 64.
    back = 25 - unit.numerator.bit_length() + unit.denominator.bit_length()
    factor = np.uint64(int(unit * (1 << back)) + 1)
    source = bound_table(law, width, tail_bits)
    words, tail_bounds = (
        np.add(np.right_shift(np.multiply(bounds, factor), np.uint64(back)), np.uint64(2))
        for bounds in (source.word_bounds, source.tail_bounds)
    )
    words[: 1 << tail_bits] = 0
    reach, nats = int((REACH + spread) / low) + 1, low / Fraction(2) ** shift
    most = int(2 * reach * Fraction(2) ** shift) + int(np.max(tail_bounds)) + int(spread / nats) + 2
    words, tail_bounds = _read_only(words.astype(np.uint32), tail_bounds.astype(np.uint32))
    return Keys(words, tail_bounds, shift, reach, most.bit_length(), nats)
