"""Random thresholds J with P(J <= n) = p_n: a key with n users is kept if n >= J.

Method: inversion.  U is a uniform integer of `table.bits` bits and J the least n with U < p_n.
The leading 64 bits of U decide, unless they equal those of a row; then the rest is drawn.  So the
law is exactly that of the table.
Reveals: one request for all leading bits, whose size follows from how many thresholds are asked
for; another one with probability 2**-64 for each row of the table and each threshold.
"""

from __future__ import annotations

import hmac
from bisect import bisect_right
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safeselect.noise.arrays import random_lanes
from safeselect.partitions.table import KeepTable
from safeselect.randomness.bits import Bits

SEED_BYTES = 32
_LEADING = 64
_BLOCK = 512  # bits of one SHA-512
_DOMAIN = b"safeselect/partition/1\x00"  # so that no other use of the seed has the same input


def draw_thresholds(table: KeepTable, count: int, bits: Bits) -> NDArray[np.int64]:
    """Draw independent thresholds: int64, from 1 to `table.certain`.

    Bits: 64 each.
    """
    leads = _leading(table)
    words = random_lanes(count, bits)
    found = np.searchsorted(leads, words, side="right")  # at least 1: the first row is 0
    for place in np.flatnonzero(np.equal(np.take(leads, found - 1), words)).tolist():
        low = table.bits - _LEADING
        found[place] = _threshold(table, int(words[place]) << low | bits.take(low))
    return found.astype(np.int64)


def keyed_threshold(table: KeepTable, seed: bytes, item: str) -> int:
    """Return the threshold of this key under a secret seed: always the same one.

    U is the leading bits of HMAC-SHA-512 over the key's text, in blocks that are counted.
    It does not depend on the number of users.
    """
    message = b"s" + item.encode("utf-8", "surrogatepass")
    blocks = -(-table.bits // _BLOCK)
    drawn = b"".join(
        hmac.digest(seed, _DOMAIN + block.to_bytes(4, "big") + message, "sha512")
        for block in range(blocks)
    )
    return _threshold(table, int.from_bytes(drawn, "big") >> (blocks * _BLOCK - table.bits))


def _threshold(table: KeepTable, uniform: int) -> int:
    """The least n with uniform < p_n; the last row is above every uniform number."""
    return bisect_right(table.rows, uniform)


@lru_cache(maxsize=16)
def _leading(table: KeepTable) -> NDArray[np.uint64]:
    """The leading 64 bits of all rows but the last, ascending."""
    leads = np.array([row >> (table.bits - _LEADING) for row in table.rows[:-1]], dtype=np.uint64)
    leads.flags.writeable = False
    return leads
