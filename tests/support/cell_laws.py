"""The law of a ranking by convolution over cells of noise, in integers.

A *pattern* says which candidates share a cell and how many cells lie between neighbours, up to a
depth, beyond which it says "as many or more".  Its chance is a convolution of the masses;
what it leads to is asked of the tier.  Chances are rounded down, so a law is a list of lower bounds
that lack little in all, and two laws are equal as far as both can be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, chain, combinations, permutations, product
from math import prod

from tiers import ONE, Cells, Noise, Round, Tier

from safeselect.engine import Ranking

Block = frozenset[int]
Outcome = tuple[tuple[int, ...], tuple[int, ...] | None] | None
"""The order and, with gaps, the gaps, cut at a limit; None: the cells do not tell."""

Chances = dict[Outcome, Fraction]


def cell_law(
    tier: Tier,
    noise: Noise,
    scores: Sequence[int],
    k: int,
    *,
    limit: int | None = None,
    elsewhere: int = 0,
) -> Chances:
    """Lower bounds of the chances of the k first in order; with `limit` also of gaps cut at it.

    Args:
        scores: in units of the noise.
        elsewhere: besides the likeliest place, each pattern is tried at another, chosen by this.
    """
    law: Chances = {}
    gaps = limit is not None
    for chance, examples, rankings in patterns(tier, noise, scores, k + gaps, limit, elsewhere):
        for ranks in rankings:
            (outcome,) = {
                cut(tier.outcome(noise, scores, cells, ranks, k, gaps), limit) for cells in examples
            }
            law[outcome] = law.get(outcome, Fraction(0)) + chance / len(rankings)
    return law


def peeled_law(tier: Tier, noise: Noise, scores: Sequence[int], k: int) -> Chances:
    """The same for k rounds with exponential noise drawn anew for those who remain."""
    law: Chances = {}

    def play(rounds: list[Round], chance: Fraction) -> None:
        done = tier.peeled(noise, scores, rounds).indices if rounds else ()
        if len(done) == k:
            law[done, None] = law.get((done, None), Fraction(0)) + chance
            return
        remaining = [score for i, score in enumerate(scores) if i not in done]
        for share, (cells, *_), rankings in patterns(tier, noise, remaining, 1, None, 0):
            for ranks in rankings:
                play([*rounds, (cells, ranks)], chance * share / len(rankings))

    play([], Fraction(1))
    return law


def patterns(
    tier: Tier, noise: Noise, scores: Sequence[int], first: int, limit: int | None, elsewhere: int
) -> Iterator[tuple[Fraction, list[Cells], list[Cells]]]:
    """(chance, examples of the noise, rankings) of all patterns that tell the `first` ones.

    Of exponential noise, each ranking of the parts above the cells is equally likely.
    """
    count, depth = len(scores), 1 if limit is None else ((limit + 1) << noise.level) + 1
    heights = [score << noise.level for score in scores]
    start, stop = min(heights) + noise.cells.start, max(heights) + noise.cells.stop
    known = tier.masses(noise)
    masses = [[known.get(y - height, 0) for y in range(start, stop)] for height in heights]
    below = [[0, *accumulate(mass)] for mass in masses]
    rankings = list(permutations(range(count))) if noise.name == "exponential" else [()]
    for blocks in block_sequences(frozenset(range(count)), first):
        rest = frozenset(range(count)).difference(*blocks)
        shared = [columns(masses[i] for i in block) for block in blocks]
        shared[-1] = columns([shared[-1], *(below[i] for i in rest)])
        for steps in product(range(1, depth + 1), repeat=len(blocks) - 1):
            stages = placed(shared, steps, depth)
            tops = sorted((y for y, c in enumerate(stages[0]) if c), key=lambda y: -stages[0][y])
            if not tops:
                continue
            examples = []
            for top in dict.fromkeys((tops[0], tops[elsewhere % len(tops)])):
                at = descend(stages, steps, depth, top)
                level = {i: y for block, y in zip(blocks, at, strict=True) for i in block}
                noises = (start + level.get(i, at[-1] - 1) - h for i, h in enumerate(heights))
                examples.append(tuple(min(cell, noise.cells.stop - 1) for cell in noises))
            yield Fraction(sum(stages[0]), ONE**count), examples, rankings


def block_sequences(candidates: frozenset[int], depth: int) -> Iterator[tuple[Block, ...]]:
    """All ways in which the `depth` first candidates can share cells, top cell first."""
    if depth <= 0 or not candidates:
        yield ()
        return
    for block in chain.from_iterable(
        combinations(candidates, size) for size in range(1, len(candidates) + 1)
    ):
        for rest in block_sequences(candidates - frozenset(block), depth - len(block)):
            yield (frozenset(block), *rest)


def columns(lists: Iterable[Sequence[int]]) -> list[int]:
    """Products, place by place."""
    return [prod(each) for each in zip(*lists, strict=False)]


def placed(shared: Sequence[Sequence[int]], steps: Sequence[int], depth: int) -> list[list[int]]:
    """For each block by its cell: how likely it is there, and all lower ones so far below.

    A step of `depth` stands for that or more.
    """
    stages = [list(shared[-1])]
    for own, step in zip(reversed(shared[:-1]), reversed(steps), strict=True):
        lower = stages[0]
        reach = [0] * step + (list(accumulate(lower)) if step == depth else lower)
        stages.insert(0, [mass * part for mass, part in zip(own, reach, strict=False)])
    return stages


def descend(
    stages: Sequence[Sequence[int]], steps: Sequence[int], depth: int, top: int
) -> list[int]:
    """The highest cells that the blocks can have, the first one being at `top`."""
    at = [top]
    for stage, step in zip(stages[1:], steps, strict=True):
        y = at[-1] - step
        while step == depth and not stage[y]:
            y -= 1
        at.append(y)
    return at


def cut(ranking: Ranking | None, limit: int | None) -> Outcome:
    if ranking is None:
        return None
    if limit is None or ranking.gaps is None:
        return ranking.indices, None
    return ranking.indices, tuple(min(gap, limit) for gap in ranking.gaps)


def missing(law: Chances) -> Fraction:
    """What the lower bounds lack in all: no chance is larger than its bound by more."""
    return 1 - sum(law.values())


def difference(one: Chances, other: Chances) -> Fraction:
    """The largest difference of the bounds of one outcome."""
    return max(abs(one.get(o, Fraction(0)) - other.get(o, Fraction(0))) for o in one | other)


def outside(known: Chances, law: Mapping[tuple[int, ...], Fraction]) -> int:
    """How many orders have a chance that is not between the bounds."""
    space = missing(known) + known.get(None, Fraction(0))
    lower = {order: known.get((order, None), Fraction(0)) for order in law}
    return sum(not lower[order] <= p <= lower[order] + space for order, p in law.items())
