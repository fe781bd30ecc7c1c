"""The optimum of pure guarantees that are not equal, which only lists have."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, prod

from safeselect.accounting.bounds import OPTIMAL_EQUAL, concentrated, without_repetition
from safeselect.accounting.moments import Parts, size
from safeselect.accounting.pure import MOST_EQUAL, Tails, equal_pure
from safeselect.exact.interval import Interval

OPTIMAL_UNEQUAL = "optimal composition of pure DP (Murtagh and Vadhan 2016, Theorem 1.5)"
_MOST_OUTCOMES = 2**10  # of each half: 2**20 in all, that of twenty unequal guarantees


_Half = tuple[tuple[Fraction, int], ...]  # (epsilon, how many)


def unequal_pure(parts: Sequence[tuple[Fraction, int]]) -> Tails | None:
    """epsilon_i-DP mechanisms, adaptively chosen: randomized responses are worst.

    A kept answer adds epsilon_i to the loss, a flipped one subtracts it.  The answers are split
    into two halves.  For each outcome of one half, the outcomes of the other with a large enough
    loss are the tail of a sorted list.
    Source: Murtagh and Vadhan (2016), Theorem 1.5.

    Args:
        parts: (epsilon, how many).

    Returns:
        None where there are too many outcomes.
    """
    halves: list[_Half] = [(), ()]
    for part in sorted(parts, key=lambda part: -part[1]):
        place = halves.index(min(halves, key=_outcomes))
        halves[place] = (*halves[place], part)
        if _outcomes(halves[place]) > _MOST_OUTCOMES:
            return None

    def tails(epsilon: Fraction, precision: int) -> tuple[Interval, Interval]:
        losses, others = _tails(halves[1], precision)
        above = below = Interval.of(0, precision)
        for loss, kept, flipped in _table(halves[0], precision):
            # Strictly above: an equal loss adds nothing to delta either way.
            tail_above, tail_below = others[bisect_right(losses, epsilon - loss)]
            above, below = above + kept * tail_above, below + flipped * tail_below
        return above, below

    return tails


def _outcomes(half: _Half) -> int:
    return prod(count + 1 for _, count in half)


_Row = tuple[Fraction, Interval, Interval]


@lru_cache(maxsize=8)
def _table(half: _Half, precision: int) -> list[_Row]:
    """All outcomes of a half by their loss: (loss, probability, that on the neighbour)."""
    one = Interval.of(1, precision)
    rows = [(Fraction(0), one, one)]
    for epsilon, count in half:
        own = Interval.of(epsilon, precision)
        log_kept = -(1 + (-own).exp()).log()
        log_flipped = log_kept - own
        here = [
            (
                (count - 2 * i) * epsilon,
                _chance(count - i, i, log_kept, log_flipped),
                _chance(i, count - i, log_kept, log_flipped),
            )
            for i in range(count + 1)
        ]
        rows = [(a + x, b * y, c * z) for a, b, c in rows for x, y, z in here]
    return sorted(rows, key=lambda row: row[0])


def _chance(kept: int, flipped: int, log_kept: Interval, log_flipped: Interval) -> Interval:
    return comb(kept + flipped, kept) * (kept * log_kept + flipped * log_flipped).exp()


@lru_cache(maxsize=8)
def _tails(half: _Half, precision: int) -> tuple[list[Fraction], list[tuple[Interval, Interval]]]:
    """The losses in rising order, and the two probabilities of being at or after each place."""
    rows = _table(half, precision)
    above = below = Interval.of(0, precision)
    tails = [(above, below)]
    for _, kept, flipped in reversed(rows):
        above, below = above + kept, below + flipped
        tails.append((above, below))
    return [loss for loss, _, _ in rows], tails[::-1]


def pure_tails(parts: Parts) -> tuple[Tails, str] | None:
    """The exact loss of randomized responses, with its theorem, where they are few or equal."""
    counted: Counter[Fraction] = Counter()
    for guarantee, count in without_repetition(parts):
        if concentrated(guarantee):
            return None
        counted[size(guarantee)] += count
    pures = list(counted.items())
    if len(pures) == 1:
        equal = equal_pure(*pures[0])
        return (equal, OPTIMAL_EQUAL) if pures[0][1] <= MOST_EQUAL else None
    unequal = unequal_pure(pures)
    return None if unequal is None or not pures else (unequal, OPTIMAL_UNEQUAL)
