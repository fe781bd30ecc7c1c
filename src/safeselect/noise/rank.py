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
from itertools import pairwise

import numpy as np

from safeselect.noise.arrays import BitSource, Numbers, to_integers
from safeselect.noise.contenders import contenders
from safeselect.noise.draws import Draws, Known, draw_noise, draw_slots, draw_words
from safeselect.noise.fine import fine_table
from safeselect.noise.laws import UNBOUNDED, enclose
from safeselect.noise.plan import DIRECT_LIMIT, FINE_LIMIT, GUARD, Plan, rate
from safeselect.noise.ranking import Ranking
from safeselect.noise.thresholds import table
from safeselect.randomness.bits import REFINEMENTS, exhausted

__all__ = ["combine", "decide", "draw", "settle"]


def draw(n: int, plan: Plan, bits: BitSource, removed: int = 0) -> Draws:
    """Draw all that the ordinary path needs: words for all, one slot for each contender.

    Bits: 16 a candidate and one slot a contender; for few candidates one slot each and no words.
    Reveals: nothing; the requests follow from the arguments, but with probability 2**-50.
    """
    available = n - removed
    if available <= max(plan.contenders, DIRECT_LIMIT):
        return Draws(draw_slots(available, plan.slot_bits, bits), plan.slot_bits)
    if n <= FINE_LIMIT:
        return draw_noise(n, fine_table(plan.law), bits, plan.few, plan.slot_bits - 64)
    return draw_words(n, table(plan.law), bits, plan.contenders, plan.slot_bits)


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
    candidates, ceiling = contenders(steps, draws, plan, len(draws.slots), removed)
    known = draws.known(candidates, draws.slots)
    every = len(candidates) == steps.size
    scores = to_integers(steps) if every else _scores(steps, candidates)
    return decide(candidates, scores, known, ceiling, plan, plan.scale)


def settle(
    steps: Numbers, draws: Draws, plan: Plan, bits: BitSource, removed: Sequence[int] = ()
) -> Ranking:
    """Decide what `combine` left open: more digits and more contenders until all is clear.

    Exactness: digits once drawn stay; who gets further ones follows from the earlier ones alone.
    Bits: at most 16 rounds, each of which leaves less than 2**-60 undecided; then `SourceError`.
    Reveals: time and requests depend on scores and noise.  Entered with probability below 2**-40.
    """
    count, scale = len(draws.slots), plan.scale
    candidates, ceiling = contenders(steps, draws, plan, count, removed)
    known = dict(zip(candidates, draws.known(candidates, draws.slots), strict=True))
    for _ in range(REFINEMENTS):
        extra = [i for i in draws.endless if i not in removed]
        candidates = list(dict.fromkeys(candidates + extra))
        new = [i for i in candidates if i not in known]
        slots = [bits.take(draws.slot_bits) for _ in new]
        known.update(zip(new, draws.known(new, slots), strict=True))
        for i, (v, size) in known.items():
            known[i] = (v << 64 | bits.take(64), size + 64)
        count, scale = 2 * count, scale + 64
        digits = [known[i] for i in candidates]
        result = decide(candidates, _scores(steps, candidates), digits, ceiling, plan, scale)
        if result is not None:
            return result
        candidates, ceiling = contenders(steps, draws, plan, count, removed)
    raise exhausted()


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
    lows, highs = [], []
    for score, (v, bits) in zip(scores, known, strict=True):
        low, high = enclose(plan.law, v, bits, scale)
        lows.append((slow * score >> GUARD) + low)
        highs.append(high - (-fast * score >> GUARD))
    order = sorted(range(len(lows)), key=lows.__getitem__, reverse=True)
    first, others = order[: plan.need], [highs[i] for i in order[plan.need :]]
    if ceiling is not None:
        others.append((ceiling[1] << scale - 32) - (-fast * ceiling[0] >> GUARD))
    # Each of the first must lie above the highest that anything behind it can be.
    behind, decided = max(others, default=-UNBOUNDED), []
    for i in reversed(first):
        decided.append(lows[i] >= behind)
        behind = max(behind, highs[i])
    gaps = None
    if plan.need > plan.k:
        # The nats of a unit of the gaps, times `below`; the floor is that of the real gap in units.
        unit, below = plan.gap_unit.numerator, plan.gap_unit.denominator << GUARD
        floors = [
            (
                (lows[i] - highs[j]) * below // (fast * unit),
                (highs[i] - lows[j]) * below // (slow * unit),
            )
            for i, j in pairwise(first)
        ]
        decided += [low == high for low, high in floors]
        gaps = tuple([low for low, _ in floors])
    if False in decided:
        return None
    return Ranking(tuple([candidates[i] for i in order[: plan.k]]), gaps)


def _scores(steps: Numbers, candidates: list[int]) -> list[int]:
    return to_integers(np.take(steps, np.array(candidates, dtype=np.int64)))
