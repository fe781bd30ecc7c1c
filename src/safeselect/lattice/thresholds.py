"""Certified coarse noise: an upper bound of each candidate's noise, in steps of 1/64 nat.

A candidate's uniform number V begins with a 16-bit word.  Noise falls as V grows, so the smallest
step u with S(u/64) <= word / 2**16 bounds the noise from above, whatever digits follow.  Finding u
is counting certified thresholds ceil(2**bits * S(u/64)) above the word, once per possible word.

Words below 2**5 leave the noise too uncertain (without a bound for word 0).  These *tail* words,
one in 2048, are lengthened by 64 digits at once and then bounded by the same thresholds, 74 digits
fine.  Both ways of counting read the same list, computed once in MPFR rounded upwards.
The lists depend on the law alone, not on a rate, so there are three of them in a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safeselect.lattice.laws import Law

__all__ = ["STEPS_PER_NAT", "TAIL_BITS", "TAIL_DIGITS", "Table", "table"]

STEPS_PER_NAT = 64
TAIL_BITS = 5
TAIL_DIGITS = 63
_LAST = 3328  # 52 nats: S is below 2**-74 there, in every law
_PRECISION = 128


@dataclass(frozen=True, slots=True)
class Table:
    """Upper bounds of the noise by the leading digits of V; all arrays are read-only.

    Args:
        first: the bound in steps that a count of zero stands for.
        counts: uint16, by word: noise <= (first + counts[word]) / 64 nats, and counts >= 1.
            For tail words (below 2**5) the entry says nothing and is always replaced.
        tail: uint64, ascending: the thresholds in units of 2**-74, for the lengthened tail words.
        width: digits of a word.
        top: the largest count, which means that there is no bound at all.
    """

    first: int
    counts: NDArray[np.uint16]
    tail: NDArray[np.uint64]
    width: int
    top: int


@lru_cache(maxsize=8)
def table(law: Law, width: int = 16, tail_bits: int = TAIL_BITS) -> Table:
    """Build the table of a law; `width` and `tail_bits` differ from the defaults in tests only.

    Requires: 0 <= tail_bits < width <= 16.
    Exactness: every threshold is rounded up, so a bound is never too small; too large by one step
        only where a threshold is an integer to 160 bits.
    """
    fine = width - tail_bits + TAIL_DIGITS
    thresholds = [_threshold(law, u, fine) for u in range(law.lowest, _LAST + 1)]
    words = np.arange(1 << width, dtype=np.int64)
    coarse = np.array([-(-t >> (fine - width)) for t in reversed(thresholds)], dtype=np.int64)
    counts = len(coarse) - np.searchsorted(coarse, words, side="right")
    ends = [min(t, 1 << TAIL_DIGITS) for t in reversed(thresholds)]
    result = Table(
        law.lowest, counts.astype(np.uint16), np.array(ends, dtype=np.uint64), width, len(ends)
    )
    result.counts.flags.writeable = False
    result.tail.flags.writeable = False
    return result


def _threshold(law: Law, steps: int, bits: int) -> int:
    """An integer of at least 2**bits * S(steps / 64), rounded up."""
    mantissa, exponent = law.survival(steps, _PRECISION).as_mantissa_exp()
    shift = int(exponent) + bits
    return -((-int(mantissa) << max(shift, 0)) >> max(-shift, 0))
