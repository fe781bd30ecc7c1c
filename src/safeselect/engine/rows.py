"""Many independent selections at once: m rows of n scores, one winner a row, exactly.

Law: in every row that of `rankings`: the winner is the largest of rate * score + Q(V) nats.

Coarse for all, exact for few.  64 digits of every V are drawn, and `tables` turns them into noise
to 2**-15 nat.  A row is *clear* if its best leads by more than all errors together.  The rows with
the smallest leads, a public number of them, are refined: the few best candidates of each get
further digits.  Afterwards the code certifies that all other rows are clear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.allowances import ERROR, RARE_ROWS, UNIT_BITS
from safeselect.engine.arrays import Indices, Numbers, best_and_rest, random_lanes, to_integers
from safeselect.engine.draws import Plan, Weights, plan, rate
from safeselect.engine.laws import LAWS, Law
from safeselect.engine.rankings import certified_order
from safeselect.engine.tables import UNKNOWN, noise_table, read_noise
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import REFINEMENTS, Bits, exhausted

_BLOCK = 1 << 15  # how many candidates are handled at once, so that they stay in the cache
_CONTENDERS = 4  # how many candidates of a row get further digits when it is refined
_PRECISION = 80  # enclosures to 2**-77 nat: they decide 2**14 rows but with probability 2**-60

Values = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The public numbers of a batch.

    Args:
        rows: how many rows are handled at once.
        capacity: how many of them are refined.
        ranking: the plan of one ranking.
    """

    rows: int
    capacity: int
    ranking: Plan


@lru_cache(maxsize=64)
def batch_plan(law: Law, n: int, noise_rate: NoiseRate, spread: int = 0) -> BatchPlan:
    """Compute the plan of a batch with n candidates a row."""
    one, rows = plan(law, 1, noise_rate, False, spread=spread), max(1, _BLOCK // n)
    ranking = one._replace(precision=_PRECISION, rate=rate(noise_rate, _PRECISION))
    return BatchPlan(rows, _capacity(n, rows, 2 * ERROR + one.loss), ranking)


def _capacity(n: int, rows: int, clear: int) -> int:
    """The least c such that more than c rows are unclear with probability below 2**-41.

    A row is unclear if its second comes within `clear` of its best.  By the contender lemma
    (`docs/mathematics.md`) this has probability below clear / 2**32 times 1.01, because noise read
    off straight lines has a hazard rate within 1 % of the true one.  A row is also unclear if the
    table does not cover a V, with probability n * 2**-31.  A union bound over sets of c + 1 rows
    gives the result.
    """
    chance = clear + clear // 100 + 1 + 2 * n
    c = 0
    while comb(rows, c + 1) * chance ** (c + 1) > (1 << UNIT_BITS * (c + 1)) >> RARE_ROWS:
        c += 1
    return min(c, rows)


def noisy_max_rows(
    noise: str,
    scores_on_grid: Numbers,
    noise_rate: NoiseRate,
    bits: Bits,
    weights: Weights | None = None,
) -> Indices:
    """Select one candidate in each row: the largest of score + noise.

    Args:
        noise: as for `noisy_top_k`.
        scores_on_grid: uint64, shape (m, n), in grid steps; only differences in a row matter.
        noise_rate: the noise rate, as for `noisy_top_k`.
        bits: where random bytes come from.
        weights: as for `noisy_top_k`, those of the n candidates in every row.

    Returns:
        int64, shape (m,): the place of each row's winner.

    Exactness: the law of `noisy_top_k` in every row, independently.
    Bits: 64 a candidate, and 64 for each of the few best in the rows that are refined.
    Reveals: requests and calls follow from m, n and the noise rate but with probability below
        2**-40 for each block of about 2**15 candidates.
    """
    rows, n = scores_on_grid.shape
    public = batch_plan(LAWS[noise], n, noise_rate, 0 if weights is None else weights.spread)
    ranking = public.ranking._replace(weights=weights)
    winners = np.empty(rows, dtype=np.int64)
    # Freed at once: glibc then keeps up to twice as much, a block's memory, between blocks.  It
    # would return it to the system otherwise, and faulting it in again doubles the time.
    np.empty(8 * _BLOCK, dtype=np.uint64)
    for start in range(0, rows, public.rows):
        # Candidates along axis 0, so that the best of every row is found column by column.
        block = np.ascontiguousarray(np.transpose(scores_on_grid[start : start + public.rows]))
        count = block.shape[1]
        words = random_lanes((n, count), bits)
        more = random_lanes((min(public.capacity, count), min(_CONTENDERS, n)), bits)
        winners[start : start + count] = combine_rows(block, words, more, ranking, bits)
    return winners


def combine_rows(
    scores: Numbers, words: Numbers, more: Numbers, public: Plan, bits: Bits
) -> Indices:
    """The winners of a block of rows; `scores` and `words` have shape (n, rows).

    Bits are drawn only for rows that neither the words nor `more` decide.
    Reveals: the calls are the same for all scores and words but with probability below 2**-40.
    """
    noisy = np.empty(scores.shape, dtype=np.int64)
    read_noise(noise_table(public.law), np.copy(words), noisy)
    highest = np.max(scores, axis=0)
    short = np.subtract(highest, scores)
    # Clip at the reach: a candidate farther behind wins only if its noise is outside the table.
    np.minimum(short, np.uint64(public.fixed_rate.reach), out=short)
    public.fixed_rate.apply(short)
    np.subtract(noisy, short.view(np.int64), out=noisy)
    if public.weights is not None:
        np.add(noisy, np.expand_dims(public.weights.units, 1), out=noisy)
    block = _Block(scores, highest, words, noisy, public, bits)
    winners, margins = _best_and_margin(noisy)
    least, _ = best_and_rest(np.negative(margins), more.shape[0])
    block.refine(least, more, winners)
    np.put(margins, least, np.int64(UNKNOWN))
    # Logarithms of weights are off by LOG_ERROR, for which `loss` has room then.
    clear = 2 * ERROR + public.loss
    if np.min(margins) < clear:  # with probability below 2**-41: see `_capacity`
        unclear = np.flatnonzero(np.less(margins, clear))
        block.refine(unclear, random_lanes((unclear.size, more.shape[1]), bits), winners)
    return winners


def _best_and_margin(noisy: Values) -> tuple[Indices, Values]:
    """The largest of each column, and by how much it exceeds the second largest."""
    winners = np.argmax(noisy, axis=0)
    places = np.expand_dims(winners, 0)
    best = np.max(noisy, axis=0)
    np.put_along_axis(noisy, places, np.int64(-UNKNOWN), axis=0)
    margins = np.subtract(best, np.max(noisy, axis=0))
    np.put_along_axis(noisy, places, np.expand_dims(best, 0), axis=0)
    # A best whose noise is outside the table has no lead.
    np.multiply(margins, np.less(best, UNKNOWN >> 1), out=margins)
    return winners, margins


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of rows: scores, words and noise of all candidates, in arrays of shape (n, rows).

    `highest` is the largest score of each row.
    """

    scores: Numbers
    highest: Numbers
    words: Numbers
    noisy: Values
    public: Plan
    bits: Bits

    def refine(self, rows: Indices, more: Numbers, winners: Indices) -> None:
        """Write the winners of some rows; each is given a row of `more`."""
        rest = np.take(self.noisy, rows, axis=1)
        best = np.empty((more.shape[1], rows.size), dtype=np.int64)
        for place in range(more.shape[1]):
            np.argmax(rest, axis=0, out=best[place])
            np.put_along_axis(rest, best[place : place + 1], np.int64(-2 * UNKNOWN), axis=0)
        columns = best, self.scores[best, rows], self.words[best, rows]
        lists = [np.transpose(each).tolist() for each in columns]
        ends = to_integers(np.take(self.highest, rows)), to_integers(np.max(rest, axis=0))
        found = list(map(self._winner, rows.tolist(), *lists, more.tolist(), *ends))
        np.put(winners, rows, np.array(found, dtype=np.int64))

    def _winner(
        self,
        row: int,
        candidates: list[int],
        scores: list[int],
        words: list[int],
        more: list[int],
        highest: int,
        rest: int,
    ) -> int:
        """The winner of one row: exact enclosures for its few best, a bound for the rest.

        Exactness: digits once drawn stay.  If the bound does not decide, all candidates take part.
        """
        joined = zip(candidates, words, more, strict=True)
        known = {i: (word << 64 | slot, 128) for i, word, slot in joined}
        ceiling = (highest, rest + ERROR) if len(candidates) < len(self.scores) else None
        precision = self.public.precision
        for _ in range(REFINEMENTS):
            digits = [known[i] for i in candidates]
            found = certified_order(candidates, scores, digits, ceiling, self.public, precision)
            if found is not None:
                return found.indices[0]
            scores, words = self.scores[:, row].tolist(), self.words[:, row].tolist()
            candidates, ceiling, precision = list(range(len(scores))), None, precision + 64
            for i in candidates:
                v, size = known.get(i, (words[i], 64))
                known[i] = (v << 64 | self.bits.take(64), size + 64)
        raise exhausted()
