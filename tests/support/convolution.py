"""Exact laws of rankings by convolution over a lattice of noise, for the tests.

Continuous noise is cut into cells [v, v + 1).  An outcome of the k first is a sequence of blocks of
candidates that share a cell, from the top down, with everybody else below; its probability is a
sum over cells of products of cell masses.  What happens inside a block is told by the code under
test (or, where it says "undecided", by the integral over the cell, in closed form).

Numbers are NumPy arrays over the cells, of long doubles or of mpmath numbers (dtype object).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any

import mpmath
import numpy as np

Block = frozenset[int]


def subsets(items: Sequence[int], minimum: int = 0) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, m) for m in range(minimum, len(items) + 1))


def block_sequences(candidates: frozenset[int], depth: int) -> Iterator[tuple[Block, ...]]:
    """All ways in which the `depth` first candidates can share cells, top cell first."""
    if depth <= 0 or not candidates:
        yield ()
        return
    for block in subsets(sorted(candidates), 1):
        for rest in block_sequences(candidates - frozenset(block), depth - len(block)):
            yield (frozenset(block), *rest)


def sequence_mass(
    blocks: Sequence[Block], count: int, mass: Any, below: Any, last: Any | None = None
) -> Any:
    """P(the blocks take these places, everybody else lies lower).

    mass[i], below[i]: arrays over ascending cells: P(candidate i in the cell), P(below the cell).
    last: the probability array to use for the last block instead of the product of masses.
    """
    rest = frozenset(range(count)).difference(*blocks)
    factors = [np.prod([mass[i] for i in block], axis=0) for block in blocks]
    if last is not None:
        factors[-1] = last
    # placed[v]: the blocks so far all lie in cells above v.
    placed = np.ones_like(factors[0])
    for factor in factors[:-1]:
        here = placed * factor
        # strictly above: suffix sums, shifted by one cell
        placed = np.concatenate([np.cumsum(here[::-1])[::-1][1:], [0 * here[0]]])
    for i in rest:
        placed = placed * below[i]
    return np.sum(placed * factors[-1])


def gumbel_tie(
    order: Sequence[int], block: Block, weight: Sequence[Any], low: Any, high: Any
) -> Any:
    """P(all of the block in the cell, and `order` (one or two of them) come first, in order).

    Gumbel noise: F_j(x) = exp(-w_j rho**x), low[j] and high[j] its values at the cell's ends.  The
    maximum of a set T is Gumbel with the sum of its weights, and independent of who attains it.
    """
    first, others = order[0], sorted(block - set(order))
    total = 0 * low[first]
    for absent in subsets(others):
        present = [j for j in others if j not in absent]
        sign = (-1) ** len(absent)
        outside = np.prod([low[j] for j in absent], axis=0) if absent else 1
        if len(order) == 1:
            group = [first, *present]
            share = weight[first] / sum(weight[j] for j in group)
            inside = share * (_product(high, group) - _product(low, group))
        else:
            second = order[1]
            lower = [second, *present]
            group = [first, *lower]
            share = weight[second] / sum(weight[j] for j in lower)
            both = weight[first] / sum(weight[j] for j in group)
            inside = share * (
                both * (_product(high, group) - _product(low, group))
                - (high[first] - low[first]) * _product(low, lower)
            )
        total = total + sign * outside * inside
    return total


def _product(values: Any, group: Sequence[int]) -> Any:
    return np.prod([values[j] for j in group], axis=0)


def laplace_tie_share(winner: int, negative: dict[int, bool], rho: mpmath.mpf) -> mpmath.mpf:
    """P(winner is the largest | these share a cell), given on which side of 0 each noise lies.

    With y = rho**r for the position r in the cell, a positive noise has the conditional
    distribution function (1 - y) / (1 - rho), a negative one (1/y - 1) / (1/rho - 1): the integral
    is one of a Laurent polynomial in y.
    """
    up, down = 1 - rho, 1 / rho - 1
    polynomial = {0: 1 / up} if not negative[winner] else {-2: 1 / down}
    for j, mirrored in negative.items():
        if j == winner:
            continue
        factor = {-1: 1 / down, 0: -1 / down} if mirrored else {0: 1 / up, 1: -1 / up}
        product: dict[int, Any] = {}
        for a, x in polynomial.items():
            for b, y in factor.items():
                product[a + b] = product.get(a + b, 0) + x * y
        polynomial = product
    return sum(
        x * (-mpmath.log(rho) if a == -1 else (1 - rho ** (a + 1)) / (a + 1))
        for a, x in polynomial.items()
    )


def ordered_law(
    count: int,
    k: int,
    mass: Any,
    below: Any,
    outcomes: Callable[[tuple[Block, ...]], dict[tuple[int, ...], Any] | None],
    undecided: Callable[[tuple[int, ...], tuple[Block, ...]], Any] | None = None,
) -> dict[tuple[int, ...], Any]:
    """The law of the ordered k first.

    outcomes(blocks): conditional law given the blocks, or None where the code says "undecided";
    then undecided(order, blocks) is the last block's probability array jointly with the order.
    """
    law: dict[tuple[int, ...], Any] = {}
    for blocks in block_sequences(frozenset(range(count)), k):
        conditional = outcomes(blocks)
        if conditional is not None:
            whole = sequence_mass(blocks, count, mass, below)
            for order, share in conditional.items():
                law[order] = law.get(order, 0) + share * whole
            continue
        if undecided is None:
            raise AssertionError("this combine step should always decide")
        for order in orders_within(blocks, k):
            last = undecided(order, blocks)
            law[order] = law.get(order, 0) + sequence_mass(blocks, count, mass, below, last)
    return law


def orders_within(blocks: Sequence[Block], k: int) -> Iterator[tuple[int, ...]]:
    """All orders of the k first that these blocks leave open."""
    if k <= 0:
        yield ()
        return
    block = blocks[0]
    for first in sorted(block):
        smaller = block - {first}
        rest = ([smaller] if smaller else []) + list(blocks[1:])
        for tail in orders_within(rest, k - 1):
            yield (first, *tail)
