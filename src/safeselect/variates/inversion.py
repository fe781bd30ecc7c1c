"""Arrays of symmetric integer noise, by inversion: one word of 64 bits each through a table.

Law: V is uniform on (0, 1) and the magnitude is the number of thresholds T_1 > T_2 > ... above V,
T_d = P(|X| >= d); the sign is a fair coin.  A word is the leading 64 digits of V.  A word that no
threshold's enclosure touches decides the magnitude.  Any other word, and any in the tail beyond the
table, gets 64 more digits, and the thresholds are enclosed more closely, until they decide.  So the
law is exact.

Reveals: the size of the requests follows from n, except for refinements, whose probability is below
2**-40 a number.  Where a law has no table, each number is searched for, and the time follows from
the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safeselect.noise.arrays import fill, random_lanes
from safeselect.randomness.bits import Bits, exhausted, rounds

_WORD = 64
_SPARE = 8  # places beyond a word to which thresholds of the table are enclosed
_LAST = 20  # the table ends with the first threshold below 2**-44


class SymmetricLaw(Protocol):
    """A law of integers with P(X = x) = P(X = -x); hashable, because its table is kept."""

    def __hash__(self) -> int:
        """Equal laws have equal hashes."""

    @property
    def tabled(self) -> bool:
        """Whether a table is short enough; otherwise each number is searched for."""

    def threshold(self, d: int, size: int) -> tuple[int, int]:
        """Enclose P(|X| >= d) in units of 2**-size, d at least 1, to a few units."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Lower ends of the thresholds, ascending, in units of 2**-64.

    Args:
        leads: uint64, read-only.
        margin: a threshold lies less than so many units above its lower end, rounded up.
    """

    leads: NDArray[np.uint64]
    margin: np.uint64


def draw_symmetric(n: int, law: SymmetricLaw, bits: Bits) -> NDArray[np.int64]:
    """Draw n independent numbers of this law, int64.

    Bits: 72 each.
    """
    words = random_lanes(n, bits)
    signs = np.empty(n, dtype=np.uint8)
    fill(signs, bits)
    found = np.zeros(n, dtype=np.int64)
    unsure = np.ones(n, dtype=np.bool_)
    if law.tabled:
        table = _table(law)
        below = np.searchsorted(table.leads, words, side="right")
        found = np.subtract(table.leads.size, below).astype(np.int64)
        distance = np.subtract(words, np.take(table.leads, np.maximum(below, 1) - 1))
        unsure = np.logical_or(np.less(distance, table.margin), np.equal(below, 0))
    for place in np.flatnonzero(unsure).tolist():
        found[place] = _magnitude(int(words[place]), law, bits)
    # -x is the complement of x, and 1.
    minus = np.bitwise_and(signs, np.uint8(1)).astype(np.int64)
    return np.add(np.bitwise_xor(found, np.negative(minus)), minus)


@lru_cache(maxsize=8)
def _table(law: SymmetricLaw) -> _Table:
    leads: list[int] = []
    margin = d = 1
    while d == 1 or leads[-1] >> _LAST:
        low, high = law.threshold(d, _WORD + _SPARE)
        leads.append(low >> _SPARE)
        margin = max(margin, -(-high >> _SPARE) - leads[-1])
        d += 1
    # The last threshold is one of the tail, below which all words are searched for.
    ascending = np.array(leads[::-1], dtype=np.uint64)
    ascending.flags.writeable = False
    return _Table(ascending, np.uint64(margin))


def _magnitude(v: int, law: SymmetricLaw, bits: Bits) -> int:
    """The number of thresholds above V, whose leading digits are v."""
    size = _WORD
    for _ in rounds(_WORD):
        found = _surely_above(v, law, size)
        if law.threshold(found + 1, size)[1] <= v:
            return found
        v, size = v << _WORD | bits.take(_WORD), size + _WORD
    raise exhausted()


def _surely_above(v: int, law: SymmetricLaw, size: int) -> int:
    """The last d with T_d surely above every V that begins with v; 0 where there is none."""
    high = 1
    while law.threshold(high, size)[0] > v:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if law.threshold(middle, size)[0] > v else (low, middle)
    return low
