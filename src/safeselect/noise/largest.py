"""The m largest of n numbers by fixed work: maxima of groups, then the members of the best groups.

Every array here may be secret.  The calls, their shapes and their number follow from n and m alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from safeselect.noise.arrays import Indices, Numbers
from safeselect.noise.select import best_and_rest, top_places

__all__ = ["GROUP", "Read", "block_size", "largest"]

GROUP = 32
_BLOCK = 1 << 16
_DIRECT = 1 << 12

Read = Callable[[slice | Indices, Numbers], Numbers]
"""read(where, out): the numbers at a slice or at indices, in `out` (of that size) or elsewhere.

Asked for `block_size(n)` numbers at most."""


def largest(
    n: int, m: int, read: Read, dtype: type[np.unsignedinteger[Any]], bits: int | None = None
) -> tuple[Indices, Numbers]:
    """Return the indices and the values of some of n numbers, the m largest among them.

    Args:
        bits: a public bound that saves time, all numbers below 2**bits; 0 then stands for nothing.

    Requires: 1 <= m <= n.
    Exactness: at least m of the numbers returned are as large as any that is left out.  The m best
        groups hold them, because a group left out has a maximum no larger than m others.
    Reveals: nothing; every call passes over its numbers without branching on them (see `select`).
        An index is returned once, but for n - 1, which may come again with the value 0; or, with
        `bits`, where fewer than m numbers are positive.
    """
    block = block_size(n)
    if n <= _DIRECT or n < 4 * GROUP * m:
        return np.arange(n, dtype=np.int64), _in_blocks(n, block, read, dtype)
    groups = _best(_maxima(n, block, read, dtype), m, bits)
    width = block // GROUP
    # Group g holds one column of a block: g // width blocks, then column g % width, 32 rows.
    blocks = np.floor_divide(groups, width)
    firsts = np.add(groups, np.multiply(blocks, block - width))
    members = _members(firsts, width)
    valid = np.less(members, n)
    np.minimum(members, n - 1, out=members)
    values = _in_blocks(members.size, block, read, dtype, members)
    np.multiply(values, valid, out=values)
    return members, values


def block_size(n: int) -> int:
    """The size of a block, a power of two: large enough to be quick, small beside the input.

    What a call allocates in all stays below the size of its input, so that the allocator keeps
    the memory for the next call instead of asking the system for fresh pages each time.
    """
    return min(_BLOCK, 1 << max(n // 3, _DIRECT).bit_length() - 1)


def _in_blocks(
    size: int,
    block: int,
    read: Read,
    dtype: type[np.unsignedinteger[Any]],
    members: Indices | None = None,
) -> Numbers:
    """All numbers, or those at some indices; there may be more than `read` has room for."""
    values = np.empty(size, dtype=dtype)
    for start in range(0, size, block):
        where = slice(start, min(start + block, size))
        out = values[where]
        np.copyto(out, read(where if members is None else members[where], out))
    return values


def _maxima(n: int, block: int, read: Read, dtype: type[np.unsignedinteger[Any]]) -> Numbers:
    """The maximum of each group, with zeros for what lies beyond n."""
    count = -(-n // block)
    width = block // GROUP
    result = np.empty(count * width, dtype=dtype)
    scratch = np.zeros(block, dtype=dtype)
    for number in range(count):
        start, stop = number * block, min((number + 1) * block, n)
        part = read(slice(start, stop), scratch[: stop - start])
        if stop - start < block:
            np.copyto(scratch[: stop - start], part)
            scratch[stop - start :] = 0
            part = scratch
        out = result[number * width : (number + 1) * width]
        np.max(np.reshape(part, (GROUP, width)), axis=0, out=out)
    return result


def _best(values: Numbers, m: int, bits: int | None) -> Indices:
    """The indices of m of the largest; groups again while there are many."""
    columns = values.size // GROUP
    if values.size <= _DIRECT or columns * GROUP != values.size or columns < 4 * m:
        return _top(values, m, bits)
    groups = _best(np.max(np.reshape(values, (GROUP, columns)), axis=0), m, bits)
    members = _members(groups, columns)
    return np.take(members, _top(np.take(values, members), m, bits))


def _top(values: Numbers, m: int, bits: int | None) -> Indices:
    # Keys have a bound, and zeros among them stand for nothing: then the quicker way will do.
    return top_places(values, m) if bits is None else best_and_rest(values, m, bits)[0]


def _members(firsts: Indices, stride: int) -> Indices:
    """The indices first, first + stride, ... of each group."""
    offsets = np.arange(0, GROUP * stride, stride, dtype=np.int64)
    return np.reshape(np.add(np.reshape(firsts, (-1, 1)), offsets), (-1,))
