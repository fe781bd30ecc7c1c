"""Exact rankings of noisy scores: the k largest of score + noise in order, with exact floors.

Law: candidate i has the real number Y_i = rate * score_i + Q(V_i) nats; the V_i are uniform and
independent.  Y is never computed.  Digits of V are drawn until the order is decided.  It then
holds for every value of the digits not drawn.  So the law is exact, ties have probability zero,
and the result does not depend on how far a comparison had to be refined.

Coarse for all, exact for few.  A 16-bit word bounds every candidate's Y from above, as an integer
*key*.  Only the candidates with the largest keys, the *contenders*, get more digits and enclosures.
The result is certified afterwards: it stands only if the last exact number released is at least
the bound of all candidates left out.  The number of contenders decides how often the ordinary path
suffices (see `draws`), and never what is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from safeselect.engine.arrays import Numbers, picked, to_integers
from safeselect.engine.contenders import Ceiling, contenders
from safeselect.engine.draws import GUARD, Draws, Plan, Weights, draw, plan, rate
from safeselect.engine.laws import LAWS, UNBOUNDED, Known, lower_end, upper_ends
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import REFINEMENTS, Bits, exhausted

_STEP = Fraction(1)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first places of a noisy ranking.

    Attributes:
        indices: positions of the k first, the winner first.
        gaps: floors, in units of `gap_unit`, of the continuous gaps between neighbours in the
            order, the last one to the (k + 1)-th; None without gaps.
    """

    indices: tuple[int, ...]
    gaps: tuple[int, ...] | None


def noisy_top_k(
    noise: str,
    scores_on_grid: Numbers,
    k: int,
    noise_rate: NoiseRate,
    bits: Bits,
    *,
    gaps: bool = False,
    gap_unit: Fraction = _STEP,
    weights: Weights | None = None,
) -> Ranking:
    """Rank the k largest of score + noise, drawn once for all of them.

    Exponential noise with k = 1 is permute-and-flip.  Gumbel noise is the exponential mechanism,
    peeled k times: for k = 1 the winner is i with probability proportional to rho**-score_i.

    Args:
        noise: "exponential", "laplace" (continuous, density falling as rho**|x|) or "gumbel".
        scores_on_grid: uint64, the candidates' scores in grid steps; only differences matter.
            Overwritten.
        k: how many to rank, 1 .. n (n - 1 with gaps).
        noise_rate: its rho is P(E > t + 1) / P(E > t), the factor of the tail per grid step.
        bits: where random bytes come from.
        gaps: also return the floors of the gaps between neighbours, down to the (k+1)-th.
        gap_unit: the unit of the gaps in grid steps, worth 2**-40 nats or more.
        weights: public weights of the candidates; their logarithms are added to the noisy scores.

    Exactness: the law of the real-valued noise; see the module.
    Reveals: requests and calls follow from n, k, the noise rate and `gaps` but with probability
        2**-40.

    Raises:
        ParameterError: k is not between 1 and n (n - 1 with gaps).
    """
    _check(scores_on_grid.size, k + gaps)
    law = LAWS[noise]
    public = plan(law, k, noise_rate, True, gap_unit) if gaps else plan(law, k, noise_rate, False)
    if weights is not None:
        public = plan(law, k, noise_rate, gaps, gap_unit, weights.spread)._replace(weights=weights)
    return _ranked(scores_on_grid, public, bits)


def peeled_top_k(
    noise: str, scores_on_grid: Numbers, k: int, noise_rate: NoiseRate, bits: Bits
) -> Ranking:
    """Select k candidates in k rounds, each with noise of its own on the candidates that remain.

    With exponential noise this is permute-and-flip k times.  That is not `noisy_top_k`: see
    section 7 of `docs/mathematics.md`.
    Winners are masked, not deleted: a round's work follows from n and the round's number.
    Arguments and errors are those of `noisy_top_k`.
    """
    _check(scores_on_grid.size, k)
    winners: list[int] = []
    public = plan(LAWS[noise], 1, noise_rate, False)
    for _ in range(k):
        winners.append(_ranked(scores_on_grid, public, bits, winners).indices[0])
    return Ranking(tuple(winners), None)


def _ranked(
    scores_on_grid: Numbers, public: Plan, bits: Bits, removed: Sequence[int] = ()
) -> Ranking:
    draws = draw(scores_on_grid.size, public, bits, len(removed))
    result = combine(scores_on_grid, draws, public, removed)
    # `combine` returns None with probability below 2**-40.
    return refine(scores_on_grid, draws, public, bits, removed) if result is None else result


def _check(n: int, need: int) -> None:
    if not 1 <= need <= n:
        raise ParameterError(
            f"k must be at least 1 and at most {n}, the number of candidates, or {n - 1} with gaps"
        )


def combine(
    scores_on_grid: Numbers, draws: Draws, plan: Plan, removed: Sequence[int] = ()
) -> Ranking | None:
    """Rank by scores plus noise, or return None where the digits drawn leave the order open.

    Requires: steps in grid steps up to a common offset.  Those in `removed` take no part; this
        function sets them to 0.
    Reveals: the calls are the same for all scores and digits, unless it returns None.  That has
        probability below 2**-40: 2**-41 for too many contenders, n * 2**-69 for tail words without
        a close bound, and less than 2**-42 for neighbours or gaps that the slots do not tell apart.
    """
    if draws.endless:
        return None
    candidates, ceiling = contenders(scores_on_grid, draws, plan, len(draws.slots), removed)
    known = draws.known(candidates, draws.slots)
    every = len(candidates) == scores_on_grid.size
    scores = to_integers(scores_on_grid) if every else picked(scores_on_grid, candidates)
    return certified_order(candidates, scores, known, ceiling, plan, plan.precision)


def refine(
    scores_on_grid: Numbers, draws: Draws, plan: Plan, bits: Bits, removed: Sequence[int] = ()
) -> Ranking:
    """Decide what `combine` left open: add digits and contenders until the order is certified.

    Exactness: digits once drawn stay; which candidate gets more follows from the earlier digits.
    Bits: at most 16 rounds, then `SourceError`.  Each round leaves the order open with probability
        below 2**-60.
    Reveals: time and requests depend on scores and noise.  A call gets here with probability below
        2**-40.
    """
    count, precision, slots = len(draws.slots), plan.precision, list(draws.slots)
    known: dict[int, Known] = {}
    for _ in range(REFINEMENTS):
        candidates, ceiling = contenders(scores_on_grid, draws, plan, count, removed)
        extra = [i for i in draws.endless if i not in removed]
        candidates = list(dict.fromkeys(candidates + extra))
        new = [i for i in candidates if i not in known]
        slots += [bits.take(draws.slot_bits) for _ in new[len(slots) :]]
        known.update(zip(new, draws.known(new, slots), strict=True))
        slots = []  # the first contenders already have the slots drawn for them
        for i, (v, size) in known.items():
            known[i] = (v << 64 | bits.take(64), size + 64)
        count, precision = 2 * count, precision + 64
        scores, digits = picked(scores_on_grid, candidates), [known[i] for i in candidates]
        result = certified_order(candidates, scores, digits, ceiling, plan, precision)
        if result is not None:
            return result
    raise exhausted()


def certified_order(
    candidates: list[int],
    scores: list[int],
    known: list[Known],
    ceiling: Ceiling | None,
    plan: Plan,
    precision: int,
) -> Ranking | None:
    """Rank candidates by the known digits of their noise; None if these leave the order open.

    Requires: with (score, u) = ceiling, Y < rate * score + u / 2**32 nats for all others, if there
        are any.
    Exactness: a ranking holds for every value of the unknown digits.
    Reveals: nothing; the number of steps follows from the number of candidates.
    """
    slow, fast = plan.rate if precision == plan.precision else rate(plan.noise_rate, precision)
    noise, minus = upper_ends(plan.law, known, precision), -fast
    highs = [end - (minus * score >> GUARD) for end, score in zip(noise, scores, strict=True)]
    if plan.weights is not None:
        logs = plan.weights.logs(candidates, precision)
        highs = [high + log[1] for high, log in zip(highs, logs, strict=True)]
    order = sorted(range(len(highs)), key=highs.__getitem__, reverse=True)
    first, lows = order[: plan.ranked], {}
    for i in first:
        lows[i] = (slow * scores[i] >> GUARD) + lower_end(noise[i], *known[i], precision)
        if plan.weights is not None:
            lows[i] += logs[i][0]
    # Each of the first must lie above the upper bounds of all candidates behind it, of which the
    # next in order has the largest.
    behind, decided = (highs[order[plan.ranked]] if len(order) > plan.ranked else -UNBOUNDED), []
    if ceiling is not None:
        behind = max(behind, (ceiling[1] << precision - 32) - (minus * ceiling[0] >> GUARD))
    for i in reversed(first):
        decided.append(lows[i] >= behind)
        behind = max(behind, highs[i])
    gaps = None
    if plan.ranked > plan.k:
        # A gap's unit in nats, times `below`.  The floor is that of the real gap in these units.
        unit, below = plan.gap_unit.numerator, plan.gap_unit.denominator << GUARD
        pairs = list(pairwise(first))
        least = [(lows[i] - highs[j]) * below // (fast * unit) for i, j in pairs]
        most = [(highs[i] - lows[j]) * below // (slow * unit) for i, j in pairs]
        decided.append(least == most)
        gaps = tuple(least)
    if False in decided:
        return None
    return Ranking(tuple([candidates[i] for i in order[: plan.k]]), gaps)
