"""The m largest of some numbers, by calls that treat every number alike.

`np.partition`, `np.sort` and `np.nonzero` branch on values: one differing element changes their time
tenfold.  Here the m-th largest value is found first, and the places afterwards, by comparing,
counting, adding up and storing only: kernels that pass once over all elements and never branch on
them.  The number of calls and their shapes follow from the size, m, the dtype and `bits`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safeselect.lattice.arrays import Indices

__all__ = ["mth_largest", "top_places"]

Integers = NDArray[np.integer[Any]]


def mth_largest(values: Integers, m: int, bits: int | None = None) -> int:
    """Return the m-th largest value, equal ones counted singly.

    Requires: 1 <= m <= values.size, one dimension; values in 0 .. 2**bits - 1 if `bits` is given.
    Reveals: nothing; see the module.
    """
    return int(_level(values, m, bits))


def top_places(values: Integers, m: int, bits: int | None = None) -> Indices:
    """Return the places of m of the largest values, ascending; of equal ones the first.

    Requires: as for `mth_largest`.
    Reveals: nothing; see the module.  Which slot an element is stored to is a secret address.
    """
    size = values.size
    places = np.arange(size, dtype=np.int64)
    if size == m:
        return places
    level = _level(values, m, bits)
    chosen, equal = np.greater(values, level), np.equal(values, level)
    # All above the level, fewer than m, and the first of those equal to it.
    missing = m - int(np.count_nonzero(chosen))
    slots = np.cumsum(equal, dtype=np.int64)
    np.bitwise_and(equal, np.less_equal(slots, np.int64(missing)), out=equal)
    np.bitwise_or(chosen, equal, out=chosen)
    # The chosen ones go to slots 1 .. m in turn, each of the others to slot 0.
    np.cumsum(chosen, dtype=np.int64, out=slots)
    np.multiply(slots, chosen, out=slots)
    result = np.empty(m + 1, dtype=np.int64)
    np.put(result, slots, places)
    return result[1:]


def _level(values: Integers, m: int, bits: int | None) -> Any:
    """The m-th largest value as a scalar of the dtype: bit by bit, or one maximum after another."""
    level, none, steps = _steps(values.dtype.type, bits)
    if 2 * m <= len(steps):  # a maximum costs about as much as two bits
        rest = np.copy(values)
        for _ in range(m - 1):
            np.put(rest, np.argmax(rest), level)
        return np.max(rest)
    reached = np.empty(values.size, dtype=np.bool_)
    for step in steps:
        # The largest level that m or more reach: a step is taken if they reach the next, too.
        # NumPy scalars have one size whatever their value, so the arithmetic is the same for all.
        np.greater_equal(values, level ^ step, out=reached)
        level ^= (none, step)[int(np.count_nonzero(reached)) >= m]
    return level


@lru_cache(maxsize=16)
def _steps(kind: type[np.integer[Any]], bits: int | None) -> tuple[Any, Any, tuple[Any, ...]]:
    """The least value, zero, and the steps upwards, each by flipping a bit that is not yet set.

    For signed numbers the first step leads from the least to zero: it flips the sign alone.
    """
    limits = np.iinfo(kind)
    steps = [kind(1 << i) for i in reversed(range(min(bits or 64, int(limits.max).bit_length())))]
    if bits is not None or not limits.min:
        return kind(0), kind(0), tuple(steps)
    return kind(limits.min), kind(0), (kind(limits.min), *steps)
