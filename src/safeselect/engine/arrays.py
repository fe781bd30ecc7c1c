"""Array operations that do not branch on values: filling, and choosing the m largest.

`np.partition`, `np.sort` and `np.nonzero` branch on values: one differing element can change their
time tenfold.  The functions here find the m-th largest value first, and then the places.  They only
compare, count, add up and store: each call passes once over all elements and does the same to each.
The calls, their shapes and their number follow from the size, m, the dtype and `bits`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safeselect.randomness.bits import Bits

Array = NDArray[Any]
Integers = NDArray[np.integer[Any]]
Numbers = NDArray[np.unsignedinteger[Any]]
Indices = NDArray[np.int64]

# These are the methods themselves.  On few numbers, NumPy's functions of these names spend most of
# the time before they call the methods.
argmax = np.ndarray.argmax
clip = np.ndarray.clip
largest_of = np.maximum.reduce
take = np.ndarray.take

_PEEL_LIMIT = 32  # up to so many maxima are quicker one after another than a threshold bit by bit


@lru_cache(maxsize=256)
def word(number: int) -> Numbers:
    """A public number as an array of no dimension: NumPy takes longer with its scalars."""
    found = np.array(number, dtype=np.uint64)
    found.flags.writeable = False
    return found


def fill(array: Array, bits: Bits) -> None:
    """Overwrite a contiguous array with random bytes; the byte order of a word does not matter."""
    view: Any = array  # a buffer; before Python 3.12 the type of arrays does not say so
    bits.fill(memoryview(view).cast("B"))


def random_lanes(shape: int | tuple[int, ...], bits: Bits) -> NDArray[np.uint64]:
    """Draw an array of uniform integers of 64 bits, in one request."""
    lanes = np.empty(shape, dtype=np.uint64)
    fill(lanes, bits)
    return lanes


def to_integers(array: Array) -> list[int]:
    """The elements as Python integers."""
    view: Any = array
    return memoryview(view).tolist()


def picked(array: Array, places: list[int]) -> list[int]:
    """The elements at these places as Python integers; the places are secret addresses."""
    view: Any = array
    cells = memoryview(view)
    return [cells[place] for place in places]


def mth_largest(values: Integers, m: int, bits: int | None = None) -> Any:
    """Return the m-th largest value, equal ones counted singly, as a scalar of the dtype.

    Requires: 1 <= m <= values.size, one dimension; values in 0 .. 2**bits - 1 if `bits` is given.
    Method: bit by bit, or one maximum after another.
    Reveals: nothing; see the module.
    """
    level, none, steps = _steps(values.dtype, bits)
    if 2 * m <= len(steps):  # a maximum costs about as much as two bits
        return largest_of(_peeled(values, m - 1)[1])
    reached = np.empty(values.size, dtype=np.bool_)
    for step in steps:
        # The level rises by a step if m values or more reach the new level.  NumPy scalars have
        # one size whatever their value, so this arithmetic is the same for all.
        np.greater_equal(values, level ^ step, out=reached)
        level ^= (none, step)[int(np.count_nonzero(reached)) >= m]
    return level


def top_places(values: Integers, m: int, bits: int | None = None) -> Indices:
    """Return the places of m of the largest values, ascending; of equal ones the first.

    Requires: as for `mth_largest`.
    Reveals: nothing; see the module.  Which slot an element is stored to is a secret address.
    """
    places = np.arange(values.size, dtype=np.int64)
    if values.size == m:
        return places
    level = mth_largest(values, m, bits)
    chosen, equal = np.greater(values, level), np.equal(values, level)
    # Chosen are all values above the level, fewer than m, and the first of those equal to it.
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


def best_and_rest(values: Integers, m: int, bits: int | None = None) -> tuple[Indices, int]:
    """Return the places of m of the largest values, and the largest of the rest.

    Without a rest, the second result is the least number of the dtype.

    Requires: as for `mth_largest`; m values above the least number of the dtype.
    Reveals: nothing; see the module.  The places are secret addresses.
    """
    if m <= _PEEL_LIMIT:
        places, rest = _peeled(values, m)
    else:
        places, rest = top_places(values, m, bits), np.copy(values)
        np.put(rest, places, np.array([_least(values.dtype)], dtype=values.dtype))
    return places, int(largest_of(rest))


def _peeled(values: Integers, m: int) -> tuple[Indices, Integers]:
    """The places of m maxima, and the values with the least number of the dtype at these places."""
    rest, places = values.copy(), np.empty(m, dtype=np.int64)
    least = _least(values.dtype)
    for i in range(m):
        places[i] = place = argmax(rest)
        rest[place] = least
    return places, rest


@lru_cache(maxsize=16)
def _least(dtype: np.dtype[Any]) -> int:
    """The least number of the dtype."""
    return int(np.iinfo(dtype).min)


@lru_cache(maxsize=16)
def _steps(dtype: np.dtype[Any], bits: int | None) -> tuple[Any, Any, tuple[Any, ...]]:
    """The least value, zero, and the steps upwards, each of which flips a bit.

    Flipping the sign bit leads from the least number to zero.  The other bits are still zero then.
    """
    kind, limits = dtype.type, np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    size = most.bit_length() if bits is None else bits
    steps = tuple(kind(1 << i) for i in reversed(range(size)))
    if bits is None and least < 0:
        return kind(least), kind(0), (kind(least), *steps)
    return kind(0), kind(0), steps
