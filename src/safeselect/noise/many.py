"""Many independent selections at once: m rows of n scores, one winner a row, exactly.

Law: in every row that of `rank`: the winner is the largest of rate * score + Q(V) nats.

Coarse for all, exact for few.  Of every V 64 digits are drawn and turned into noise to 2**-15 nat
(`fine`).  A row is *clear* if its best stands out by more than all errors together.  The rows that
stand out least, a public number of them, are settled exactly, each by its few best candidates, who
get further digits.  Afterwards it is certified that all other rows are clear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from safeselect.exact.rate import Decay
from safeselect.noise.arrays import BitSource, Indices, Numbers, fill, to_integers
from safeselect.noise.fine import ERROR, LOSS, UNIT_BITS, UNKNOWN, fine_noise, fine_table
from safeselect.noise.laws import EXPONENTIAL, GUMBEL, Law
from safeselect.noise.plan import Plan, plan, rate
from safeselect.noise.rank import decide
from safeselect.noise.select import best_and_rest
from safeselect.randomness.bits import REFINEMENTS, exhausted

__all__ = ["exponential_many", "gumbel_many"]

_BLOCK = 1 << 15  # candidates that are worked on at once, so that they stay in the cache
_FEW = 4  # candidates with which a row is settled
_CLEAR = 2 * ERROR + LOSS
_SCALE = 80  # enclosures to 2**-77 nat: 2**14 rows are all decided but with probability 2**-60

Values = NDArray[np.int64]


def exponential_many(steps: Numbers, decay: Decay, bits: BitSource) -> Indices:
    """Select one candidate in each row by permute-and-flip.

    Args:
        steps: uint64, shape (m, n), scores in grid steps; only differences within a row matter.
        decay: rho, as for `exponential_top`.
        bits: where random bytes come from.

    Returns:
        int64, shape (m,): the place of each row's winner.

    Exactness: the law of `exponential_top` in every row, independently.
    Bits: 64 a candidate, and 64 for each of the few best in the rows that are settled.
    Reveals: requests and calls follow from m, n and decay, but with probability below 2**-40 for
        each block of about 2**15 candidates.
    """
    return _many(EXPONENTIAL, steps, decay, bits)


def gumbel_many(steps: Numbers, decay: Decay, bits: BitSource) -> Indices:
    """Select one candidate in each row by the exponential mechanism; else as `exponential_many`."""
    return _many(GUMBEL, steps, decay, bits)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The public numbers of a batch.

    Args:
        rows: how many rows are worked on at once.
        capacity: how many of them are settled.
        single: the plan of one ranking.
    """

    rows: int
    capacity: int
    single: Plan


@lru_cache(maxsize=64)
def batch_plan(law: Law, n: int, decay: Decay) -> BatchPlan:
    """Work out the plan of a batch with n candidates a row."""
    single = replace(plan(law, 1, decay, False), scale=_SCALE, rate=rate(decay, _SCALE))
    rows = max(1, _BLOCK // n)
    return BatchPlan(rows, _capacity(n, rows), single)


def _capacity(n: int, rows: int) -> int:
    """The least c such that more than c rows are unclear with probability below 2**-41.

    A row is unclear if its second comes within _CLEAR of its best: by the contender lemma
    (`docs/mathematics.md`) with probability below _CLEAR / 2**32 times 1.01, because noise read off
    straight lines has a hazard rate within 1 % of the true one; or if a V is not covered, with
    probability n * 2**-31.  Then a union bound over sets of c + 1 rows.
    """
    chance = _CLEAR + _CLEAR // 100 + 1 + 2 * n
    c = 0
    while comb(rows, c + 1) * chance ** (c + 1) > (1 << UNIT_BITS * (c + 1)) >> 41:
        c += 1
    return min(c, rows)


def _many(law: Law, steps: Numbers, decay: Decay, bits: BitSource) -> Indices:
    rows, n = steps.shape
    public = batch_plan(law, n, decay)
    winners = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, public.rows):
        # Candidates along axis 0, so that the best of every row is found column by column.
        block = np.ascontiguousarray(np.transpose(steps[start : start + public.rows]))
        count = block.shape[1]
        words = np.empty((n, count), dtype=np.uint64)
        more = np.empty((min(public.capacity, count), min(_FEW, n)), dtype=np.uint64)
        fill(words, bits)
        fill(more, bits)
        winners[start : start + count] = combine_many(block, words, more, public, bits)
    return winners


def combine_many(
    block: Numbers, words: Numbers, more: Numbers, public: BatchPlan, bits: BitSource
) -> Indices:
    """The winners of a block of rows; `block` and `words` have shape (n, rows).

    Draws bits only for rows that neither the words nor `more` settle.
    Reveals: the same calls for all scores and words but with probability below 2**-40.
    """
    noisy = np.empty(block.shape, dtype=np.int64)
    fine_noise(fine_table(public.single.law), np.copy(words), noisy)
    best = np.max(block, axis=0)
    short = np.subtract(best, block)
    # Cut at the reach: whoever is farther behind cannot win unless its noise is not covered.
    np.minimum(short, np.uint64(public.single.fine.reach), out=short)
    public.single.fine.apply(short)
    np.subtract(noisy, short.view(np.int64), out=noisy)
    winners, margins = _best_and_margin(noisy)
    settled, _ = best_and_rest(np.negative(margins), more.shape[0])
    _settle_rows(settled, winners, block, words, noisy, more, public, bits)
    np.put(margins, settled, np.int64(UNKNOWN))
    if np.min(margins) < _CLEAR:  # with probability below 2**-41: see `_capacity`
        unclear = np.flatnonzero(np.less(margins, _CLEAR))
        more = np.empty((unclear.size, more.shape[1]), dtype=np.uint64)
        fill(more, bits)
        _settle_rows(unclear, winners, block, words, noisy, more, public, bits)
    return winners


def _settle_rows(
    rows: Indices,
    winners: Indices,
    block: Numbers,
    words: Numbers,
    noisy: Values,
    more: Numbers,
    public: BatchPlan,
    bits: BitSource,
) -> None:
    """Settle some rows; each gets a row of `more`."""
    n, few = block.shape[0], more.shape[1]
    rest = np.take(noisy, rows, axis=1)
    best = np.empty((few, rows.size), dtype=np.int64)
    for place in range(few):
        np.argmax(rest, axis=0, out=best[place])
        np.put_along_axis(rest, best[place : place + 1], np.int64(-2 * UNKNOWN), axis=0)
    ceilings = to_integers(np.max(rest, axis=0))
    found = [
        _settle(candidates, scores, digits, extra, ceiling if few < n else None, public, bits)
        for candidates, scores, digits, extra, ceiling in zip(
            *(
                np.transpose(each).tolist()
                for each in (best, np.take(block, rows, axis=1), np.take(words, rows, axis=1))
            ),
            more.tolist(),
            ceilings,
            strict=True,
        )
    ]
    np.put(winners, rows, np.array(found, dtype=np.int64))


def _best_and_margin(noisy: Values) -> tuple[Indices, Values]:
    """The largest of each column, and by how much it exceeds the second largest."""
    winners = np.argmax(noisy, axis=0)
    places = np.expand_dims(winners, 0)
    best = np.max(noisy, axis=0)
    if noisy.shape[0] == 1:
        return winners, np.full(noisy.shape[1], UNKNOWN, dtype=np.int64)
    np.put_along_axis(noisy, places, np.int64(-UNKNOWN), axis=0)
    margins = np.subtract(best, np.max(noisy, axis=0))
    np.put_along_axis(noisy, places, np.expand_dims(best, 0), axis=0)
    # A best that is not covered by the table stands out by nothing.
    np.multiply(margins, np.less(best, UNKNOWN >> 1), out=margins)
    return winners, margins


def _settle(
    candidates: list[int],
    scores: list[int],
    digits: list[int],
    extra: list[int],
    ceiling: int | None,
    public: BatchPlan,
    bits: BitSource,
) -> int:
    """The winner of one row: exact enclosures for its few best, a bound for all others.

    Exactness: digits once drawn stay.  If the bound decides nothing, all candidates take part.
    """
    known = {i: (digits[i] << 64 | slot, 128) for i, slot in zip(candidates, extra, strict=True)}
    rest = None if ceiling is None else (max(scores), ceiling + ERROR)
    scale = public.single.scale
    for _ in range(REFINEMENTS):
        found = decide(
            candidates,
            [scores[i] for i in candidates],
            [known[i] for i in candidates],
            rest,
            public.single,
            scale,
        )
        if found is not None:
            return found.indices[0]
        candidates, rest, scale = list(range(len(scores))), None, scale + 64
        for i in candidates:
            v, size = known.get(i, (digits[i], 64))
            known[i] = (v << 64 | bits.take(64), size + 64)
    raise exhausted()
