"""Certified noise for whole arrays to 2**-15 nat: a table of quantiles with straight lines between.

A uniform number V is folded, U = V below 1/2 and 1 - V above, and written U = 2**-(z+1) (1 + f)
with z leading zeros and f in [0, 1).  In each octave the noise Q is tabulated at 2**6 points of f
and taken as linear between them.  In all three laws |d2Q/dU2| <= 1 / U**2: with h = -ln(1 - U) or
-ln U it is 1 / U**2 or 1 / (1 - U)**2, and for Gumbel noise (1 - h) / ((1 - U) h)**2 below 1/2 and
|1 - h| / (U h)**2 above.  So within an octave the second derivative in f is at most 1, and a line
over a step of 2**-6 is off by at most 2**-12 / 8 = 2**-15 nat.

Values are integers in units of 2**-32 nat.  Where U < 2**-32 nothing is tabulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safeselect.noise.arrays import Numbers
from safeselect.noise.laws import Law
from safeselect.noise.logarithm import DIGITS

__all__ = [
    "ERROR",
    "LOSS",
    "REACH",
    "UNIT_BITS",
    "UNKNOWN",
    "FineTable",
    "fine_noise",
    "fine_table",
]

UNIT_BITS = 32
_POINTS_BITS = 6
ERROR = (1 << UNIT_BITS - 15) + 16
"""Units by which a tabulated noise may be off: the line, and 16 for roundings (2 for the points, 1
for the place between them, 2 for the digits of V beyond the 64 that are known)."""

REACH = 64
"""Nats: tabulated noise lies within -23 .. 23, so scores farther apart are decided without it."""

LOSS = 1 << 11
"""Units by which a distance of 2 * REACH nats may come out too small: see `scale.scale_of`."""

UNKNOWN = 1 << 60
"""Stands for a noise that the table does not cover; larger than any that it does."""

_OCTAVES = 32  # leading zeros 1 .. 31; none has 0, because U < 1/2, so 0 stands for 32 and more


@dataclass(frozen=True, slots=True)
class FineTable:
    """All arrays are read-only.

    Args:
        zeros: uint8, by 16 digits of U: how many zeros they begin with.
        values: int64, by side of 1/2, leading zeros and point: the noise in units.
        slopes: int64, likewise: how much the noise changes up to the next point.
    """

    zeros: NDArray[np.uint8]
    values: NDArray[np.int64]
    slopes: NDArray[np.int64]


@lru_cache(maxsize=3)
def fine_table(law: Law) -> FineTable:
    """Build the table of a law, by one quantile a point."""
    points = 1 << _POINTS_BITS
    values = np.zeros((2, _OCTAVES, points), dtype=np.int64)
    slopes = np.zeros((2, _OCTAVES, points), dtype=np.int64)
    for side in (0, 1):
        for zeros in range(1, _OCTAVES):
            nodes = [_value(law, side, zeros, i) for i in range(points + 1)]
            values[side, zeros] = nodes[:-1]
            slopes[side, zeros] = np.diff(np.array(nodes, dtype=np.int64))
    values[:, 0] = UNKNOWN
    zeros_of = np.array([16 - word.bit_length() for word in range(1 << 16)], dtype=np.uint8)
    table = FineTable(zeros_of, np.reshape(values, -1), np.reshape(slopes, -1))
    for array in (table.zeros, table.values, table.slopes):
        array.flags.writeable = False
    return table


def _value(law: Law, side: int, zeros: int, point: int) -> int:
    """The noise at U = 2**-(zeros + 1) * (1 + point / 2**6), in units, within 2 of the true one."""
    bits = _POINTS_BITS + zeros + 1
    u = (1 << _POINTS_BITS) + point
    return law.quick((1 << bits) - u if side else u, bits) >> DIGITS - UNIT_BITS


def fine_noise(table: FineTable, words: Numbers, out: NDArray[np.int64]) -> None:
    """Write Q(V) in units, up to ERROR, for V in [word, word + 1] / 2**64; UNKNOWN if not covered.

    Args:
        words: uint64, contiguous; overwritten.
        out: int64, the same shape.

    Reveals: the same calls for all words, whatever they are.
    """
    side = np.right_shift(words, np.uint64(63))
    # Folding is taking the complement where the first digit is one: XOR with 0 - 1 = all ones.
    np.bitwise_xor(words, np.negative(side), out=words)
    # Skip 16 leading zeros at once where there are so many, then those that are left.
    far = np.multiply(np.less(words, np.uint64(1 << 48)), np.uint64(16))
    np.left_shift(words, far, out=words)
    # NumPy 1 takes no unsigned indices of 64 bits.
    leading = np.right_shift(words, np.uint64(48)).view(np.int64)
    near = np.take(table.zeros, leading).astype(np.uint64)
    octave = np.bitwise_and(np.add(far, near, out=far), np.uint64(_OCTAVES - 1), out=far)
    np.left_shift(words, np.add(near, np.uint64(1), out=near), out=words)
    point = np.right_shift(words, np.uint64(64 - _POINTS_BITS), out=near)
    np.add(np.left_shift(side, np.uint64(5), out=side), octave, out=side)
    np.add(point, np.left_shift(side, np.uint64(_POINTS_BITS), out=side), out=point)
    index = point.view(np.int64)
    np.left_shift(words, np.uint64(_POINTS_BITS), out=words)
    np.right_shift(words, np.uint64(32), out=words)
    # |slope| < 2**27 and the place between two points has 32 digits: 59 together.
    np.multiply(np.take(table.slopes, index), words.view(np.int64), out=out)
    np.right_shift(out, np.int64(32), out=out)
    np.add(out, np.take(table.values, index), out=out)
