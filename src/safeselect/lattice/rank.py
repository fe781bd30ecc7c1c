"""Exact rankings of noisy scores: the k largest of score + noise in order, with exact floors.

Law: candidate i has the real number Y_i = rate * score_i + Q(V_i) nats, the V_i uniform and
independent.  Y is never computed.  Digits of V are drawn until the order is decided, and it then
holds for every value of the digits not drawn.  So the law is exact, ties have probability zero,
and nothing depends on how far a comparison had to be refined.

Coarse for all, exact for few.  A 16-bit word bounds every candidate's Y from above, as an integer
*key*.  Only the candidates with the largest keys, the *contenders*, get more digits and enclosures.
The result is certified afterwards: it stands only if the last exact number released is at least
the bound of everybody left out.  How many contenders there are decides how often the ordinary path
suffices (see `plan`), never what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from safeselect.lattice.arrays import BitSource, Indices, Numbers, part, to_integers
from safeselect.lattice.draws import Draws, draw_noise, draw_slots, draw_words
from safeselect.lattice.fine import ERROR, LOSS, REACH, UNIT_BITS, UNKNOWN, fine_table
from safeselect.lattice.largest import GROUP, block_size, largest
from safeselect.lattice.laws import UNBOUNDED, enclose
from safeselect.lattice.plan import FINE_LIMIT, GUARD, Plan, rate
from safeselect.lattice.ranking import Ranking
from safeselect.lattice.scale import Scale
from safeselect.lattice.select import best_and_rest
from safeselect.lattice.thresholds import table

__all__ = ["combine", "decide", "draw", "settle"]

Known = tuple[int, int]
"""The digits known of V: (v, bits) for v / 2**bits <= V <= (v + 1) / 2**bits."""


def draw(n: int, plan: Plan, bits: BitSource, removed: int = 0) -> Draws:
    """Draw all that the ordinary path needs: words for all, one slot for each contender.

    Bits: 16 a candidate and one slot a contender; for few candidates one slot each and no words.
    Reveals: nothing; the requests follow from the arguments, but with probability 2**-50.
    """
    available = n - removed
    if available <= plan.contenders:
        return Draws.without_words(draw_slots(available, plan.slot_bits, bits), plan.slot_bits)
    if n <= FINE_LIMIT:
        return draw_noise(n, fine_table(plan.law), bits, plan.few, plan.slot_bits - 64)
    slots = draw_slots(plan.contenders, plan.slot_bits, bits)
    return draw_words(n, table(plan.law), bits, slots, plan.slot_bits)


def combine(
    steps: Numbers, draws: Draws, plan: Plan, removed: Sequence[int] = ()
) -> Ranking | None:
    """Rank by scores plus noise, or return None where the digits drawn do not decide the order.

    Requires: steps in grid steps up to a common offset; those in `removed` take no part, and are
        set to 0 here.
    Reveals: the same calls for all scores and digits but for None, of probability below 2**-40:
        2**-41 for too many contenders, n * 2**-69 for tail words without a close bound, and less
        than 2**-42 for neighbours or gaps too close to be decided by the slots.
    """
    if draws.endless:
        return None
    candidates, ceiling = _contenders(steps, draws, plan, len(draws.slots), removed)
    known = _known(draws, candidates, draws.slots)
    return decide(candidates, _scores(steps, candidates), known, ceiling, plan, plan.scale)


def settle(
    steps: Numbers, draws: Draws, plan: Plan, bits: BitSource, removed: Sequence[int] = ()
) -> Ranking:
    """Decide what `combine` left open: more digits and more contenders until all is clear.

    Exactness: digits once drawn stay; who gets further ones follows from the earlier ones alone.
    Bits: unbounded in the worst case; each round leaves less than 2**-60 undecided.
    Reveals: time and requests depend on scores and noise.  Entered with probability below 2**-40.
    """
    count, scale = len(draws.slots), plan.scale
    candidates, ceiling = _contenders(steps, draws, plan, count, removed)
    known = dict(zip(candidates, _known(draws, candidates, draws.slots), strict=True))
    while True:
        extra = [i for i in draws.endless if i not in removed]
        candidates = list(dict.fromkeys(candidates + extra))
        new = [i for i in candidates if i not in known]
        slots = [bits.take(draws.slot_bits) for _ in new]
        known.update(zip(new, _known(draws, new, slots), strict=True))
        for i, (v, size) in known.items():
            known[i] = (v << 64 | bits.take(64), size + 64)
        count, scale = 2 * count, scale + 64
        digits = [known[i] for i in candidates]
        result = decide(candidates, _scores(steps, candidates), digits, ceiling, plan, scale)
        if result is not None:
            return result
        candidates, ceiling = _contenders(steps, draws, plan, count, removed)


def decide(
    candidates: list[int],
    scores: list[int],
    known: list[Known],
    ceiling: tuple[int, int] | None,
    plan: Plan,
    scale: int,
) -> Ranking | None:
    """Rank candidates by what is known of their noise; None if that leaves the order open.

    Requires: Y < rate * score + u / 2**32 nats for all others, (score, u) = ceiling, if there
        are any.
    Exactness: the answer holds for every value of the digits that are not known, or is None.
    Reveals: nothing; the number of steps follows from the number of candidates.
    """
    slow, fast = plan.rate if scale == plan.scale else rate(plan.decay, scale)
    noise = [enclose(plan.law, v, bits, scale) for v, bits in known]
    lows = [(slow * s >> GUARD) + low for s, (low, _) in zip(scores, noise, strict=True)]
    highs = [high - (-fast * s >> GUARD) for s, (_, high) in zip(scores, noise, strict=True)]
    order = sorted(range(len(lows)), key=lows.__getitem__, reverse=True)
    rest = -UNBOUNDED
    if ceiling is not None:
        rest = (ceiling[1] << scale - 32) - (-fast * ceiling[0] >> GUARD)
    # Each of the first must lie above the highest that anything behind it can be.
    behind = list(accumulate((highs[i] for i in reversed(order)), max, initial=rest))
    behind.pop()
    first = order[: plan.need]
    decided = [lows[i] >= bound for i, bound in zip(first, reversed(behind), strict=False)]
    # The nats of a unit of the gaps, times `below`; the floor is that of the real gap in units.
    unit, below = plan.gap_unit.numerator, plan.gap_unit.denominator << GUARD
    gaps = [
        (
            (lows[i] - highs[j]) * below // (fast * unit),
            (highs[i] - lows[j]) * below // (slow * unit),
        )
        for i, j in pairwise(first if plan.need > plan.k else [])
    ]
    decided += [low == high for low, high in gaps]
    if False in decided:
        return None
    indices = tuple(candidates[i] for i in order[: plan.k])
    return Ranking(indices, tuple(low for low, _ in gaps) if gaps else None)


def _contenders(
    steps: Numbers, draws: Draws, plan: Plan, count: int, removed: Sequence[int]
) -> tuple[list[int], tuple[int, int] | None]:
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
    find = _fine_contenders if draws.noise.size else _coarse_contenders
    return find(steps, draws, plan, count, level, gone)


def _fine_contenders(
    steps: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], tuple[int, int]]:
    """The contenders by noisy scores to 2**-15 nat."""
    low = max(level - plan.fine.reach, 0)
    distances = np.empty(steps.size, dtype=np.uint64)
    _distances(steps, low, level, plan.fine, plan.need, distances)
    noisy = np.add(draws.noise, distances.view(np.int64))
    np.put(noisy, gone, np.int64(-UNKNOWN))
    places, rest = best_and_rest(noisy, count)
    # Who was moved down, or has noise that is not covered, lies above: it has no bound.
    limit = plan.fine.units(level - low) + (REACH >> 1 << UNIT_BITS)
    bound = (rest + ERROR + LOSS, UNBOUNDED)[rest >= limit]
    return to_integers(places), (low, bound)


def _coarse_contenders(
    steps: Numbers, draws: Draws, plan: Plan, count: int, level: int, gone: Indices
) -> tuple[list[int], tuple[int, int]]:
    """The contenders by keys in 1/64 nat; what is removed gets the key 0, all others 1 or more."""
    np.put(draws.counts, gone, np.uint16(0))
    low = max(level - plan.coarse.reach, 0)
    scratch = np.empty(max(block_size(steps.size), GROUP * count), dtype=np.uint64)

    def keys(where: slice | Indices, out: Numbers) -> Numbers:
        wide = scratch[: out.size]
        _distances(part(steps, where), low, level, plan.coarse, plan.need, wide)
        # Below 2**28, so nothing is cut off.
        np.copyto(out, wide, casting="unsafe")
        return np.add(out, part(draws.counts, where), out=out)

    # Counts have 12 digits at most, so this public bound on all keys saves rounds of comparing.
    bits = (plan.coarse.units(2 * plan.coarse.reach) + (1 << 12)).bit_length()
    chosen, best = largest(steps.size, count, keys, np.uint32, bits)
    # 2 for what the score's part of the key may have lost; 2**26 units of 2**-32 are 1/64.
    return to_integers(chosen), (low, int(np.min(best)) + table(plan.law).first + 2 << 26)


def _distances(steps: Numbers, low: int, level: int, scale: Scale, need: int, out: Numbers) -> None:
    """Write how far each score lies above `low`, moved into the reach, in units of the scale."""
    np.maximum(steps, np.uint64(low), out=out)
    if need > 1:  # else no score exceeds the level
        np.minimum(out, np.uint64(min(level + scale.reach, (1 << 64) - 1)), out=out)
    np.subtract(out, np.uint64(low), out=out)
    scale.apply(out)


def _level(steps: Numbers, need: int) -> int:
    """The need-th largest score."""
    if need == 1:
        return int(np.max(steps))

    def read(where: slice | Indices, out: Numbers) -> Numbers:
        return part(steps, where)

    return int(np.min(largest(steps.size, need, read, np.uint64)[1]))


def _scores(steps: Numbers, candidates: list[int]) -> list[int]:
    return to_integers(np.take(steps, np.array(candidates, dtype=np.int64)))


def _known(draws: Draws, candidates: list[int], slots: list[int]) -> list[Known]:
    """What is known of V once each candidate has been given a slot."""
    if not draws.words.size:
        return [(slot, draws.slot_bits) for slot in slots]
    words = to_integers(np.take(draws.words, np.array(candidates, dtype=np.int64)))
    return list(map(draws.uniform, candidates, words, slots))
