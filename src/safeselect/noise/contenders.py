"""Who can still be among the first: the few candidates whose noise bounds are largest.

Every array here may be secret.  The calls, their shapes and their number follow from n, the plan,
how many contenders are wanted and how many candidates were removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safeselect.noise.arrays import Indices, Numbers, part, to_integers
from safeselect.noise.draws import Draws
from safeselect.noise.fine import ERROR, LOSS, REACH, UNIT_BITS, UNKNOWN
from safeselect.noise.largest import block_size, largest
from safeselect.noise.laws import UNBOUNDED
from safeselect.noise.plan import GUARD, Plan
from safeselect.noise.select import best_and_rest, mth_largest
from safeselect.noise.thresholds import Keys, keys

__all__ = ["contenders"]

Ceiling = tuple[int, int]
"""(score, u): Y < rate * score + u / 2**32 nats for all who are left out."""


def contenders(
    steps: Numbers, draws: Draws, plan: Plan, count: int, removed: Sequence[int]
) -> tuple[list[int], Ceiling | None]:
    """Return `count` contenders, or all there are, and a bound on Y of all the others.

    Exactness: a score is first moved into level - reach .. level + reach, where level is the
        need-th largest.  Moving up makes a bound larger, so it stays true.  Moving down happens to
        fewer than `need` candidates, and they remain above all whose noise is bounded; should one
        be left out all the same, there is no bound.
    Reveals: nothing; calls and shapes follow from n, the plan, the count and len(removed).
    """
    if steps.size - len(removed) <= count:
        absent = frozenset(removed)
        return [i for i in range(steps.size) if i not in absent], None
    gone = np.array(removed, dtype=np.int64)
    np.put(steps, gone, np.uint64(0))
    level = _level(steps, plan.need)
    find = _by_noise if draws.noise.size else _by_keys
    return find(steps, draws, plan, count, level, gone)


def _by_noise(
    steps: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], Ceiling]:
    """The contenders by noisy scores to 2**-15 nat."""
    near = _Near.to(level, plan.fine.reach, plan.need, steps.size)
    distances = np.empty(steps.size, dtype=np.uint64)
    near.distances(steps, distances)
    plan.fine.apply(distances)
    noisy = np.add(draws.noise, distances.view(np.int64))
    np.put(noisy, gone, np.int64(-UNKNOWN))
    places, rest = best_and_rest(noisy, count)
    # Who was moved down, or has noise that is not covered, lies above: it has no bound.
    limit = plan.fine.units(level - near.low) + (REACH >> 1 << UNIT_BITS)
    bound = (rest + ERROR + LOSS, UNBOUNDED)[rest >= limit]
    return to_integers(places), (near.low, bound)


def _by_keys(
    steps: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], Ceiling]:
    """The contenders by keys; what is removed gets the key 0, all others 1 or more.

    Exactness: candidates with tail words are passed over with keys that are too small, and join
        the best with their own in the end.  So at least count + 1 of those that take part then have
        keys as large as any that is left out: the largest key not chosen bounds them all.
    """
    public = keys(plan.law, plan.decay, draws.width, draws.tail_bits)
    block = block_size(steps.size)
    near = _Near.to(level, public.reach, plan.need, block, public.shift)
    distances, bounds = np.empty(block, dtype=np.uint64), np.empty(block, dtype=np.uint32)
    np.put(draws.words, gone, np.uint16(0))  # a tail word, so the key is the distance: 0

    def read(where: slice | Indices, out: Numbers) -> Numbers:
        wide, noise = distances[: out.size], bounds[: out.size]
        near.distances(part(steps, where), wide)
        np.copyto(out, wide, casting="unsafe")  # keys fit, so nothing is cut off
        np.take(public.words, part(draws.words, where), out=noise, mode="wrap")
        return np.add(out, noise, out=out)

    places, values = largest(steps.size, count + 1, read, np.uint32, public.bits)
    plain = np.greater_equal(np.take(draws.words, places), np.uint16(1 << draws.tail_bits))
    np.multiply(values, plain, out=values)
    tails, tail_values = _tail_keys(steps, draws, public, near, gone)
    every = np.concatenate((places, tails))
    best, rest = best_and_rest(np.concatenate((values, tail_values)), count, public.bits)
    # A key counts from `lowest`, which is in 1/64 nat.  In units of `fine`, rounded up:
    units = -(-rest * plan.rate[1] >> GUARD + plan.scale - UNIT_BITS + public.shift)
    return to_integers(np.take(every, best)), (near.low, units + (plan.law.lowest << UNIT_BITS - 6))


def _tail_keys(
    steps: Numbers, draws: Draws, public: Keys, near: _Near, gone: Indices
) -> tuple[Indices, Numbers]:
    """The candidates with tail words and their keys; the key 0 for the padding and what is gone."""
    places = np.minimum(draws.tails, steps.size - 1)
    wide = np.take(steps, places)
    near.distances(wide, wide)
    values = wide.astype(np.uint32)
    np.add(values, np.take(public.tail_bounds, draws.tail_counts), out=values)
    np.multiply(values, np.less(draws.tails, steps.size), out=values)
    if gone.size:
        present = np.all(np.not_equal(np.expand_dims(places, 1), gone), axis=1)
        np.multiply(values, present, out=values)
    return places, values


@dataclass(frozen=True, slots=True)
class _Near:
    """Scores near a level: those beyond low .. high are moved there.

    Args:
        lows, highs: the ends, over and over: NumPy is quicker with arrays than with scalars.
            Without highs no score exceeds `high`.
        shift: distances are in 2**-shift grid steps, rounded down where that is more than one.
    """

    low: int
    lows: Numbers
    highs: Numbers | None
    shift: int

    @classmethod
    def to(cls, level: int, reach: int, need: int, size: int, shift: int = 0) -> _Near:
        """Within the reach of the need-th largest score, for up to `size` scores at once."""
        low, high = max(level - reach, 0), min(level + reach, (1 << 64) - 1)
        lows = np.full(size, low, dtype=np.uint64)
        return cls(low, lows, np.full(size, high, np.uint64) if need > 1 else None, shift)

    def distances(self, scores: Numbers, out: Numbers) -> None:
        """Write how far each score, once moved, lies above low."""
        np.maximum(scores, self.lows[: out.size], out=out)
        if self.highs is not None:
            np.minimum(out, self.highs[: out.size], out=out)
        np.subtract(out, np.uint64(self.low), out=out)
        if self.shift > 0:
            np.left_shift(out, np.uint64(self.shift), out=out)
        elif self.shift < 0:
            np.right_shift(out, np.uint64(-self.shift), out=out)


def _level(steps: Numbers, need: int) -> int:
    """The need-th largest score."""
    if need == 1:
        return int(np.max(steps))

    def read(where: slice | Indices, out: Numbers) -> Numbers:
        return part(steps, where)

    return mth_largest(largest(steps.size, need, read, np.uint64)[1], need)
