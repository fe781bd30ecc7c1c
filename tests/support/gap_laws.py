"""Laws of rankings with their gaps, worked out in three ways, for the tests.

- `cell_law`: noise cut into cells on a lattice; within a cell the shipped combine step decides.
- `real_law`: any noise, as an integral over the real line; nothing of the package is used.
- `brackets`: proved bounds, by cutting the noise into ever smaller cells until the code decides.

A law is an array with the axes i_1 .. i_k (who) and g_1 .. g_k (floors of the gaps in units, below
`size`); outcomes with a larger gap are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise, permutations, product
from math import ceil, floor
from typing import Any

import numpy as np
from convolution import subsets
from numpy.polynomial import legendre

from safeselect.engine import Ranking
from safeselect.spec.rankings import ExponentialNoise, combine_continuous, combine_exponential

Array = Any
Outcomes = Callable[[tuple[int, ...], int], "Iterable[tuple[Ranking, float]] | None"]
"""(cells of equal scores, k) -> the rankings that may come out, each with its share, or None."""


# --------------------------------------------------------------- cells and the shipped combine step


@lru_cache(maxsize=64)
def by_rank(unit: int, combine: Callable[..., Ranking] = combine_exponential) -> Outcomes:
    """Exponential noise: all rankings of what lies below the grid are equally likely."""

    def outcomes(cells: tuple[int, ...], k: int) -> list[tuple[Ranking, float]]:
        ranks, zeros = list(permutations(range(len(cells)))), [0] * len(cells)
        return [
            (combine(zeros, ExponentialNoise(cells, r), k, gaps=True, unit=unit), 1 / len(ranks))
            for r in ranks
        ]

    return outcomes


@lru_cache(maxsize=64)
def by_level(
    level: int, unit: Fraction, combine: Callable[..., Ranking | None] = combine_continuous
) -> Outcomes:
    """Laplace and Gumbel noise of which `level` digits are known: often undecided."""

    def outcomes(cells: tuple[int, ...], k: int) -> list[tuple[Ranking, float]] | None:
        ranking = combine([0] * len(cells), cells, level, k, gaps=True, unit=unit)
        return None if ranking is None else [(ranking, 1.0)]

    return outcomes


@lru_cache(maxsize=16)
def _shapes(n: int, k: int, reach: int, size: int, outcomes: Outcomes) -> tuple[Array, ...]:
    """Who shares a cell with whom, and what the combine step makes of it.

    A shape gives the cells of all candidates relative to that of the (k+1)-th: up to `reach` above
    it, in it (0) or anywhere below (-1).  Returns them, and P(outcome | shape) as a sparse matrix.
    """
    shape = (n,) * k + (size,) * k
    levels: list[tuple[int, ...]] = []
    entries: list[tuple[int, int, float]] = []
    for upper in subsets(range(n)):
        rest = [i for i in range(n) if i not in upper]
        for same in subsets(rest, k + 1 - len(upper)) if len(upper) <= k else ():
            for heights in product(range(1, reach + 1), repeat=len(upper)):
                above = dict(zip(upper, heights, strict=True))
                cells = tuple(above.get(i, 0 if i in same else -1) for i in range(n))
                found = [
                    (int(np.ravel_multi_index((*r.indices, *r.gaps), shape)), len(levels), share)
                    for r, share in outcomes(cells, k) or ()
                    if max(r.gaps) < size
                ]
                entries += found
                levels += [cells] * bool(found)
    return (np.array(levels), *map(np.array, zip(*entries, strict=True)))


def cell_law(mass: Array, below: Array, k: int, reach: int, size: int, outcomes: Outcomes) -> Array:
    """The law of what the combine step decides at once; for exponential noise that is all of it.

    Args:
        mass, below: (candidate, cell): P(score + noise in the cell), P(below it); cells ascend.
        reach: by how many cells the first can lie above the (k+1)-th.
    """
    n, count = mass.shape
    levels, rows, columns, shares = _shapes(n, k, reach, size, outcomes)
    padded = np.concatenate([mass, np.zeros((n, reach))], axis=1)
    chance = np.ones((len(levels), count))
    for i in range(n):
        level = levels[:, i, None]
        shifted = padded[i][np.arange(count) + np.maximum(level, 0)]
        chance *= np.where(level >= 0, shifted, below[i])
    shape = (n,) * k + (size,) * k
    weights = chance.sum(axis=1)[columns] * shares
    return np.bincount(rows, weights, minlength=int(np.prod(shape))).reshape(shape)


def lattice_law(
    scores: Sequence[int],
    k: int,
    rate: Fraction,
    *,
    unit: int = 1,
    size: int = 6,
    combine: Callable[..., Ranking] = combine_exponential,
) -> Array:
    """One-shot exponential noise of this rate a step; scores and `unit` in whole steps.

    Exactness: sums of positive terms; what is cut off is below e**-40 of each.
    """
    base = np.arange(min(scores), max(scores) + ceil(40 / rate) + 1)
    steps = base - np.array(scores)[:, None]
    power = np.exp(-float(rate) * np.maximum(steps, 0))
    mass = np.where(steps >= 0, -np.expm1(-float(rate)) * power, 0)
    below = np.where(steps >= 0, 1 - power, 0)
    return cell_law(mass, below, k, k * size * unit, size, by_rank(unit, combine))


def decided_law(
    noise: str,
    scores: Sequence[int],
    k: int,
    rate: Fraction,
    *,
    unit: Fraction,
    level: int,
    size: int,
    combine: Callable[..., Ranking | None] = combine_continuous,
) -> Array:
    """The share of each outcome that is decided by `level` digits of Laplace or Gumbel noise."""
    reach, fine = 40 / rate, 1 << level
    ends = np.arange(floor((min(scores) - reach) * fine), ceil((max(scores) + reach) * fine) + 1)
    cdf = _NOISES[noise](float(rate) * (ends / fine - np.array(scores)[:, None]))[1]
    most = ceil(k * size * unit * fine) + 1
    return cell_law(np.diff(cdf), cdf[:, :-1], k, most, size, by_level(level, unit, combine))


# --------------------------------------------------------------------- any noise, by integration

_NODES, _WEIGHTS = legendre.leggauss(12)


def _running_matrix() -> Array:
    """Turns values at the nodes of a cell of width 1 into integrals from its left end."""
    count = _NODES.size
    values = legendre.legvander(_NODES, count)
    degrees = np.arange(count)
    transform = (degrees[:, None] + 0.5) * values[:, :count].T * _WEIGHTS
    integrals = np.empty((count, count))
    integrals[:, 0] = _NODES + 1
    for j in range(1, count):
        integrals[:, j] = (values[:, j + 1] - values[:, j - 1]) / (2 * j + 1)
    return integrals @ transform / 2


_RUNNING = _running_matrix()
_NOISES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "exponential": lambda x: (
        np.where(x > 0, np.exp(-np.maximum(x, 0)), 0),
        np.where(x > 0, -np.expm1(-np.maximum(x, 0)), 0),
    ),
    "laplace": lambda x: (
        np.exp(-abs(x)) / 2,
        np.where(x > 0, 1 - np.exp(-abs(x)) / 2, np.exp(-abs(x)) / 2),
    ),
    "gumbel": lambda x: (
        np.exp(-x - np.exp(np.minimum(-x, 700))),
        np.exp(-np.exp(np.minimum(-x, 700))),
    ),
}
"""x -> density and distribution function at rate 1."""


def real_law(
    noise: str,
    scores: Sequence[int],
    k: int,
    rate: Fraction,
    *,
    unit: Fraction = Fraction(1),
    size: int = 6,
) -> Array:
    """The k largest of score + noise and the floors of their gaps in units, by quadrature.

    The density of the outcome is the integral over the noisy score w of the (k+1)-th.  Densities
    are smooth between whole steps; twelve Gauss nodes for each half of a scale leave about 1e-14.
    """
    n, pieces = len(scores), unit.denominator * ceil(2 * rate / unit.denominator)
    shift, reach = int(unit * pieces), 40 / rate
    cells = np.arange(floor((min(scores) - reach) * pieces), ceil((max(scores) + reach) * pieces))
    x = (cells[:, None] + (_NODES + 1) / 2) / pieces
    laws = [_NOISES[noise](float(rate) * (x - score)) for score in scores]
    densities, below = [float(rate) * law[0] for law in laws], [law[1] for law in laws]

    def windows(values: Array) -> list[Array]:
        """Integrals over w + [g, g + 1) units, for each g below `size`."""
        whole = values @ _WEIGHTS / 2 / pieces
        running = (np.cumsum(whole) - whole)[:, None] + values @ _RUNNING.T / pieces
        padded = np.concatenate([running, np.full((size * shift, _NODES.size), whole.sum())])
        ends = [padded[g * shift : g * shift + cells.size] for g in range(size + 1)]
        return [after - before for before, after in pairwise(ends)]

    result = np.zeros((n,) * k + (size,) * k)
    for order in permutations(range(n), k):
        rest = [i for i in range(n) if i not in order]
        runner_up = sum(
            densities[j] * np.prod([below[i] for i in rest if i != j], axis=0) for j in rest
        )
        above = {(): np.ones_like(x)}
        for i in order:
            above = {
                (*gaps, g): window
                for gaps, values in above.items()
                for g, window in enumerate(windows(densities[i] * values))
            }
        for gaps, values in above.items():
            result[(*order, *gaps)] = np.sum(runner_up * values @ _WEIGHTS) / 2 / pieces
    return result


# -------------------------------------------------------------------------- the code, by brackets


def brackets(
    start: Any,
    split: Callable[[Any], Iterable[tuple[float, Any]]],
    decide: Callable[[Any], Hashable],
    looks: int,
) -> tuple[Counter[Any], float]:
    """Cut cells of noise until the code under test decides: lower bounds, and what is left over.

    Args:
        start: the cell that holds all noise of all candidates.
        split: a cell -> its parts, each with its share of the cell's mass.
        decide: what comes out for all noise in a cell, or None.
        looks: how many cells are looked at, the heaviest first.
    """
    lower: Counter[Any] = Counter()
    heap = [(-1.0, 0, start)]
    for number in range(looks):
        mass, _, cell = heappop(heap)
        outcome = decide(cell)
        if outcome is not None:
            lower[outcome] -= mass
            continue
        for share, part in split(cell):
            heappush(heap, (mass * share, len(heap) + number * looks, part))
    return lower, -sum(entry[0] for entry in heap)
