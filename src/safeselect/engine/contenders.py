"""The contenders: the few candidates that can still be first, with the largest upper bounds.

Fixed work finds the m largest of n numbers: the maxima of groups, then the members of the best
groups.  Every array here may be secret.  The calls, their shapes and their number follow from n,
the plan, how many contenders are wanted and how many candidates were removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safeselect.engine.allowances import ERROR, REACH, UNIT_BITS
from safeselect.engine.arrays import (
    Indices,
    Numbers,
    best_and_rest,
    clip,
    largest_of,
    mth_largest,
    take,
    to_integers,
    top_places,
    word,
)
from safeselect.engine.draws import GUARD, Draws, Plan
from safeselect.engine.laws import UNBOUNDED
from safeselect.engine.tables import UNKNOWN, Keys, keys

GROUP = 32
_BLOCK = 1 << 15  # its arrays, and the table of bounds, fit 1 MiB: the smallest second-level caches
_DIRECT = 1 << 12

Kind = type[np.unsignedinteger[Any]]

Ceiling = tuple[int, int]
"""(score, u): Y < rate * score + u / 2**32 nats for all candidates that are left out."""

Read = Callable[[slice | Indices, Numbers], Numbers]
"""read(where, out): the numbers at a slice or at indices, in `out` (of that size) or elsewhere.

One call asks for `block_size(n)` numbers at most."""


def contenders(
    scores_on_grid: Numbers, draws: Draws, plan: Plan, count: int, removed: Sequence[int]
) -> tuple[list[int], Ceiling | None]:
    """Return `count` contenders, or all there are, and a bound on Y of all the others.

    Exactness: every score is first clipped to level - reach .. level + reach, where level is the
        j-th largest score and j = `plan.ranked`.  Clipping up makes a bound larger, so it stays
        true.  Fewer than j scores are clipped down.  Their candidates remain above all candidates
        whose noise has a bound.  If such a candidate is left out all the same, no bound is
        returned.
    Reveals: nothing; calls and shapes follow from n, the plan, the count and len(removed).
    """
    if scores_on_grid.size - len(removed) <= count:
        absent = frozenset(removed)
        return [i for i in range(scores_on_grid.size) if i not in absent], None
    gone = np.array(removed, dtype=np.int64)
    if gone.size:
        np.put(scores_on_grid, gone, np.uint64(0))
    level = _level(scores_on_grid, plan.ranked)
    find = _by_noise if draws.noise.size else _by_keys
    return find(scores_on_grid, draws, plan, count, level, gone)


def _by_noise(
    scores_on_grid: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], Ceiling]:
    """The contenders by noisy scores, exact to 2**-15 nat."""
    near = _Near.to(level, plan.fixed_rate.reach, plan.ranked)
    distances = np.empty(scores_on_grid.size, dtype=np.uint64)
    near.distances(scores_on_grid, distances)
    plan.fixed_rate.apply(distances)
    noisy = np.add(draws.noise, distances.view(np.int64))
    if plan.weights is not None:
        np.add(noisy, plan.weights.units, out=noisy)
    if gone.size:
        np.put(noisy, gone, np.int64(-UNKNOWN))
    places, rest = best_and_rest(noisy, count)
    # A candidate that was clipped down, or whose noise is outside the table, lies above the limit.
    # It has no upper bound.
    limit = plan.fixed_rate.units(level - near.low) + ((REACH >> 1) + plan.spread << UNIT_BITS)
    bound = (rest + ERROR + plan.loss, UNBOUNDED)[rest >= limit]
    return to_integers(places), (near.low, bound)


def _by_keys(
    scores_on_grid: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], Ceiling]:
    """The contenders by keys; removed candidates get the key 0, all others 1 or more.

    Exactness: the first pass gives candidates with tail words keys that are too small.  In the end
        they join the best with their own keys.  So at least count + 1 of the candidates compared
        last have keys as large as any key left out.  The largest key not chosen bounds all others.
    """
    public = keys(plan.law, plan.noise_rate, draws.width, draws.tail_bits, plan.spread)
    weights = None if plan.weights is None else plan.weights.keys(public.nats)
    block = block_size(scores_on_grid.size)
    near = _Near.to(level, public.reach, plan.ranked, public.shift)
    distances, bounds = np.empty(block, dtype=np.uint64), np.empty(block, dtype=np.uint32)
    np.put(draws.words, gone, np.uint16(0))  # 0 is a tail word: the key is the distance, which is 0

    def read(where: slice | Indices, out: Numbers) -> Numbers:
        wide, noise = distances[: out.size], bounds[: out.size]
        near.distances(part(scores_on_grid, where), wide)
        np.copyto(out, wide, casting="unsafe")  # keys fit, so no digit is lost
        take(public.word_bounds, part(draws.words, where), out=noise, mode="wrap")
        np.add(out, noise, out=out)
        return out if weights is None else np.add(out, part(weights, where), out=out)

    places, values = largest(scores_on_grid.size, count + 1, read, np.uint32, public.bits)
    no_tails = np.greater_equal(np.take(draws.words, places), np.uint16(1 << draws.tail_bits))
    np.multiply(values, no_tails, out=values)
    tails, tail_values = _tail_keys(scores_on_grid, draws, public, near, gone)
    if weights is not None:
        # A key of 0 stays: it stands for no candidate.
        more = np.multiply(np.take(weights, tails), np.not_equal(tail_values, 0))
        np.add(tail_values, more, out=tail_values)
    every = np.concatenate((places, tails))
    best, rest = best_and_rest(np.concatenate((values, tail_values)), count, public.bits)
    # A key counts from `lowest`, which is in 1/64 nat.  The bound is in units of `tables`, rounded
    # up.
    units = -(-rest * plan.rate[1] >> GUARD + plan.precision - UNIT_BITS + public.shift)
    return to_integers(np.take(every, best)), (near.low, units + (plan.law.lowest << UNIT_BITS - 6))


def _tail_keys(
    scores_on_grid: Numbers, draws: Draws, public: Keys, near: _Near, gone: Indices
) -> tuple[Indices, Numbers]:
    """The candidates with tail words and their keys; padding and removed candidates have key 0."""
    places = np.minimum(draws.tails, scores_on_grid.size - 1)
    wide = np.take(scores_on_grid, places)
    near.distances(wide, wide)
    values = wide.astype(np.uint32)
    np.add(values, np.take(public.tail_bounds, draws.tail_counts), out=values)
    np.multiply(values, np.less(draws.tails, scores_on_grid.size), out=values)
    if gone.size:
        present = np.all(np.not_equal(np.expand_dims(places, 1), gone), axis=1)
        np.multiply(values, present, out=values)
    return places, values


@dataclass(frozen=True, slots=True)
class _Near:
    """Scores near a level: scores outside low .. high are clipped to the nearer end.

    Args:
        least, most: the ends, as arrays of no dimension.  Without `most` no score exceeds `high`.
        shift: distances are in 2**-shift grid steps, rounded down where that is more than one step.
    """

    low: int
    least: Numbers
    most: Numbers | None
    shift: int

    @classmethod
    def to(cls, level: int, reach: int, ranked: int, shift: int = 0) -> _Near:
        """Within the reach of the j-th largest score."""
        low, high = max(level - reach, 0), min(level + reach, (1 << 64) - 1)
        # `word` is for public numbers: it keeps them.
        most = np.array(high, np.uint64) if ranked > 1 else None
        return cls(low, np.array(low, np.uint64), most, shift)

    def distances(self, scores: Numbers, out: Numbers) -> None:
        """Write how far each score, once clipped, lies above low."""
        clip(scores, self.least, self.most, out=out)
        np.subtract(out, self.least, out=out)
        if self.shift > 0:
            np.left_shift(out, word(self.shift), out=out)
        elif self.shift < 0:
            np.right_shift(out, word(-self.shift), out=out)


def _level(scores_on_grid: Numbers, ranked: int) -> int:
    """The score in that place of the descending order."""
    if ranked == 1:
        return int(largest_of(scores_on_grid))
    _, values = largest(
        scores_on_grid.size, ranked, lambda where, _: part(scores_on_grid, where), np.uint64
    )
    return int(mth_largest(values, ranked))


def largest(
    n: int, m: int, read: Read, dtype: Kind, bits: int | None = None
) -> tuple[Indices, Numbers]:
    """Return the indices and the values of some of n numbers, the m largest among them.

    Args:
        bits: all numbers are below 2**bits: a public bound that saves time.  A 0 then stands for no
            candidate.

    Requires: 1 <= m <= n.
    Exactness: at least m of the numbers returned are as large as any that is left out.  The m best
        groups hold them, because the maximum of a group left out is no larger than m other maxima.
    Reveals: nothing; every call passes over its numbers without branching on them (see `arrays`).
        Every index is returned once, with two exceptions: n - 1 may come again with the value 0;
        and, with `bits`, any index may come again if fewer than m numbers are positive.
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

    A call allocates less in all than the size of its input.  So the allocator keeps the memory for
    the next call and does not ask the system for fresh pages each time.
    """
    return min(_BLOCK, 1 << max(n // 3, _DIRECT).bit_length() - 1)


def _in_blocks(
    size: int, block: int, read: Read, dtype: Kind, members: Indices | None = None
) -> Numbers:
    """All numbers, or those at some indices, read block by block."""
    values = np.empty(size, dtype=dtype)
    for start in range(0, size, block):
        where = slice(start, min(start + block, size))
        out = values[where]
        np.copyto(out, read(where if members is None else members[where], out))
    return values


def _maxima(n: int, block: int, read: Read, dtype: Kind) -> Numbers:
    """The maximum of each group; places beyond n count as zeros."""
    count = -(-n // block)
    width = block // GROUP
    result = np.empty(count * width, dtype=dtype)
    scratch = np.zeros(block, dtype=dtype)
    for number in range(count):
        start, stop = number * block, min((number + 1) * block, n)
        values = read(slice(start, stop), scratch[: stop - start])
        if stop - start < block:
            np.copyto(scratch[: stop - start], values)
            scratch[stop - start :] = 0
            values = scratch
        out = result[number * width : (number + 1) * width]
        largest_of(np.reshape(values, (GROUP, width)), axis=0, out=out)
    return result


def _best(values: Numbers, m: int, bits: int | None) -> Indices:
    """The indices of m of the largest values; many values are grouped once more."""
    columns = values.size // GROUP
    if values.size <= _DIRECT or columns * GROUP != values.size or columns < 4 * m:
        return _top(values, m, bits)
    groups = _best(largest_of(np.reshape(values, (GROUP, columns)), axis=0), m, bits)
    members = _members(groups, columns)
    return np.take(members, _top(np.take(values, members), m, bits))


def _top(values: Numbers, m: int, bits: int | None) -> Indices:
    # Keys have a bound, and a zero among them stands for no candidate: the quicker way is enough.
    return top_places(values, m) if bits is None else best_and_rest(values, m, bits)[0]


def _members(firsts: Indices, stride: int) -> Indices:
    """The indices first, first + stride, ... of each group."""
    offsets = np.arange(0, GROUP * stride, stride, dtype=np.int64)
    return np.reshape(np.add(np.reshape(firsts, (-1, 1)), offsets), (-1,))


def part(array: Numbers, where: slice | Indices) -> Numbers:
    """The elements in a slice, as a view, or at indices, as a copy."""
    return array[where] if isinstance(where, slice) else np.take(array, where)
