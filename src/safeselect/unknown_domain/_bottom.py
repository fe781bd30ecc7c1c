"""One list from an unknown domain: noisy counts in order, down to the bottom, itself a candidate.

`unknown_domain_top_k` and `PayWhatYouGet` share it.  Everything in `ListQuery` is public and is
computed before any count is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safeselect.accounting.cost import UNPRICED, read_epsilon
from safeselect.accounting.rate import per_draw_epsilon
from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer, rational
from safeselect.exact.rate import NoiseRate
from safeselect.noise.arrays import GridScores
from safeselect.promises.guarantees import ApproximateDP, BoundedRange
from safeselect.randomness.source import Source
from safeselect.release.call import Scope
from safeselect.scores.candidates import Candidates
from safeselect.selection._arguments import Arguments, Options
from safeselect.selection._call import Call
from safeselect.unknown_domain._histogram import HeldCounts
from safeselect.unknown_domain._threshold import gumbel_offset

_MOST_PLACES = 2**20
_FINEST = 20  # the grid is 1 / 2**20 or coarser: 2**42 counts of it, and any offset, fit 64 bits
_PER_NAT = 64  # grid steps a nat, at least: rounding the offset up costs at most 1/64 nat


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The public numbers of one list.

    Args:
        k: how many labels at most.
        least, most: the range in which k_bar, the number of candidates, is chosen.
        epsilon: of each draw.
        odds: p / (1 - p) for the probability p that the bottom fails to hide an item.
        contributions: how many items one user may change; None for any number.

    Raises:
        ParameterError: epsilon is outside the range of the noise rate.
    """

    k: int
    least: int
    most: int
    epsilon: Fraction
    odds: Fraction
    contributions: int | None

    def __post_init__(self) -> None:
        NoiseRate(self._rate)

    @property
    def draws(self) -> int:
        """The most draws: one for each label, and one more where k_bar is chosen."""
        return self.k + (self.least < self.most)

    @property
    def as_record(self) -> dict[str, str]:
        """The parameters that only such a list has, for records."""
        recorded = {"least_k_bar": str(self.least), "most_k_bar": str(self.most)}
        cap = self.contributions
        return recorded if cap is None else recorded | {"max_contributions": str(cap)}

    @property
    def fineness(self) -> int:
        """The public grid is 2**-fineness counts."""
        return min(_FINEST, max(0, (-(-_PER_NAT * self.epsilon // 1) - 1).bit_length()))

    @property
    def noise_rate(self) -> NoiseRate:
        """Gumbel noise of scale 1 / epsilon, per grid step."""
        return NoiseRate(self._rate)

    @property
    def _rate(self) -> Fraction:
        return self.epsilon / (1 << self.fineness)

    def offset(self, k_bar: int) -> int:
        """Grid steps from the (k_bar + 1)-th count to the bottom."""
        m = k_bar if self.contributions is None else min(k_bar, self.contributions)
        grid = Fraction(1, 1 << self.fineness)
        return (1 << self.fineness) + gumbel_offset(self.epsilon, self.odds, m, grid)

    def offset_in_counts(self, k_bar: int) -> Fraction:
        """The offset in counts."""
        return Fraction(self.offset(k_bar), 1 << self.fineness)


def read_total(epsilon: object, delta: object) -> ApproximateDP:
    """Read the total cost; both numbers are required and positive.

    Raises:
        ParameterError: one of them is missing or wrong.
    """
    if epsilon is None or delta is None:
        raise ParameterError(
            "an unknown domain needs epsilon and delta: whether an item occurs at all can only be "
            "hidden up to a probability delta"
        )
    return ApproximateDP(read_epsilon(epsilon), rational(delta, "delta", below=1))


def read_contributions(max_contributions: object) -> int | None:
    """Read how many items one user may change; None for any number."""
    if max_contributions is None:
        return None
    return integer(max_contributions, "max_contributions", minimum=1, maximum=2**63 - 1)


def read_places(k: object, k_bar: object) -> tuple[int, int, int]:
    """Read k, and k_bar as an integer or a pair (least, most); return k, least and most.

    Raises:
        ParameterError: they are not integers with 1 <= k <= least <= most <= 2**20.
    """
    count = integer(k, "k", minimum=1, maximum=_MOST_PLACES)
    if not isinstance(k_bar, tuple):
        places = integer(k_bar, "k_bar", minimum=count, maximum=_MOST_PLACES)
        return count, places, places
    if len(k_bar) != 2:
        raise ParameterError(f"k_bar must be an integer or a pair, got {describe(k_bar)}")
    least = integer(k_bar[0], "the least k_bar", minimum=count, maximum=_MOST_PLACES)
    return count, least, integer(k_bar[1], "the largest k_bar", minimum=least, maximum=_MOST_PLACES)


def split_delta(
    total: ApproximateDP, share: object, draws: int, queries: int, m: int
) -> tuple[Fraction, Fraction]:
    """Split delta between the bottoms of all queries and the composition of all draws.

    Returns the epsilon of each draw, and the part of delta that pays for the bottoms.  By default
    that part is all of delta, with epsilon / draws for each draw, or half of delta: the one that
    puts the bottom lower above m items.  The choice depends on parameters only, so it is public.

    Raises:
        ParameterError: the share is not a positive number, or exceeds delta.
    """
    parts = [total.delta, total.delta / 2]
    if share is not None:
        parts = [rational(share, "threshold_delta")]
        if parts[0] > total.delta:
            raise ParameterError("threshold_delta must be at most delta, of which it is a part")
    grid = Fraction(1, 1 << _FINEST)
    splits = []
    for part in parts:
        rest = total.delta - part or None
        each = per_draw_epsilon(BoundedRange, draws, epsilon=total.epsilon, delta=rest)
        splits.append((gumbel_offset(each, odds(part / queries), m, grid), each, part))
    _, each, part = min(splits)
    return each, part


def odds(delta: Fraction) -> Fraction:
    """Return the odds d of the probability delta: d / (1 + d) = delta."""
    return delta / (1 - delta)


def open_call(
    counts: HeldCounts, source: Source | None, engine: str | None, ledger: Scope | None = None
) -> Call:
    """Open a call on the counts: one user moves each by at most 1, and all the same way."""
    given: Options = {"sensitivity": 1, "monotonic": True, "source": source, "ledger": ledger}
    arguments = Arguments.read({**given, "engine": engine}, cost=UNPRICED)
    return Call(counts, arguments, take=_held, unit=counts.unit)


def _held(counts: HeldCounts, /, *, labels: object) -> Candidates:
    """Return the candidates of counts that were taken before, with their labels."""
    return counts.candidates


def draw_list(query: ListQuery, held: HeldCounts, call: Call) -> tuple[tuple[str, ...], int]:
    """Return the labels of one noisy list, and the k_bar that it was drawn from.

    The bottom lies 1 + tau above the (k_bar + 1)-th count; the list ends before the bottom, before
    the first dummy, or with k labels.

    Reveals: nothing but the result; shapes and requests follow from the query and, where it was
        chosen, from k_bar.
    """
    counts = call.scores_on_grid
    k_bar = query.least if query.least == query.most else _choose_places(query, counts, call)
    scores_on_grid = np.empty(k_bar + 1, dtype=np.uint64)
    # Only differences matter, and no count here lies below the (k_bar + 1)-th.
    np.subtract(counts[:k_bar], counts[k_bar], out=scores_on_grid[:k_bar])
    np.left_shift(scores_on_grid[:k_bar], np.uint64(query.fineness), out=scores_on_grid[:k_bar])
    scores_on_grid[k_bar] = query.offset(k_bar)
    try:
        ranking = call.engine.noisy_top_k(
            "gumbel", scores_on_grid, query.k, query.noise_rate, call.bits
        )
    finally:
        scores_on_grid.fill(0)
    labels: list[str] = []
    for place in ranking.indices:
        label = held.items[place] if place < k_bar else None
        if label is None:
            break
        labels.append(label)
    return tuple(labels), k_bar


def _choose_places(query: ListQuery, counts: GridScores, call: Call) -> int:
    """Choose the k_bar whose bottom is low, by one exponential mechanism.

    The score of k_bar is minus its bottom.  Between neighbours all (k_bar + 1)-th counts move the
    same way and by at most 1, and so do all scores.
    """
    offsets = [query.offset(k_bar) for k_bar in range(query.least, query.most + 1)]
    highest = max(offsets)
    scores_on_grid = np.subtract(counts[query.least], counts[query.least : query.most + 1])
    np.left_shift(scores_on_grid, np.uint64(query.fineness), out=scores_on_grid)
    np.add(
        scores_on_grid,
        np.array([highest - offset for offset in offsets], np.uint64),
        out=scores_on_grid,
    )
    try:
        ranking = call.engine.noisy_top_k("gumbel", scores_on_grid, 1, query.noise_rate, call.bits)
        return query.least + ranking.indices[0]
    finally:
        scores_on_grid.fill(0)
