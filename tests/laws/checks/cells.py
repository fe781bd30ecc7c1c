"""The law of an exact ranking, enclosed: the uniform numbers of its noises cut into cells.

The array engine ranks by Y_i = rate * score_i + Q(V_i), with independent uniform V_i.  Its result
holds for all digits of V that it did not draw, so its law is that of the Y_i.  This module encloses
that law from the published Q alone, computed by mpmath: it imports nothing of the package.  It cuts
V into cells, each with two bounds of its noise.  An outcome's probability lies between the mass of
the cells where it is certain and the mass of the cells where it is possible.

A cell's width is small relative to its distance from 0 and 1, as with floating-point numbers.  So
rare outcomes are enclosed as tightly, relative to their probability, as common ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise, permutations
from math import ceil, floor
from operator import mul
from typing import Any

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray

Enclosure = Mapping[Hashable, tuple[Fraction, Fraction]]
"""Proved bounds low <= P(outcome) <= high, for every outcome considered."""

_SCALE = 40  # noise is compared in units of 2**-40 nat
_OCTAVES = 48  # V is cut into cells down to 2**-48 from either end; beyond, the noise has no bound
_EXTREME = 1 << 61


@dataclass(frozen=True, slots=True)
class Cells:
    """A partition of the unit interval, in the order of decreasing V, that is, increasing noise.

    Args:
        masses: Python integers in an array of objects: the width of each cell in units of 2**-bits.
        lows, highs: int64, ascending: the noise in the cell lies between them, in 2**-40 nat.
        bits: the unit.
    """

    masses: NDArray[np.object_]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    bits: int


@lru_cache(maxsize=8)
def cells(noise: str, fineness: int) -> Cells:
    """Cut the unit interval into 2**fineness cells an octave, from 1/2 towards either end.

    Exactness: the quantile falls as V grows, so its values at a cell's ends enclose the noise in
        the cell; it is rounded up to 2**-40 nat, with 120 digits to spare.
    """
    if not 1 <= fineness <= 12:
        raise ValueError("fineness must be between 1 and 12")
    bits = _OCTAVES + fineness
    rising = [
        ((1 << fineness) + point) << zeros
        for zeros in range(_OCTAVES - 1)
        for point in range(1 << fineness)
    ]
    ends = [*rising, 1 << (bits - 1), *((1 << bits) - v for v in reversed(rising))]
    unit = [_in_units(noise, v, bits) for v in reversed(ends)]
    widths = [high - low for low, high in pairwise([0, *ends, 1 << bits])]
    return Cells(
        np.array(widths[::-1], dtype=object),
        np.array([-_EXTREME, *(high - 1 for high in unit)], dtype=np.int64),
        np.array([*unit, _EXTREME], dtype=np.int64),
        bits,
    )


def _in_units(noise: str, v: int, bits: int) -> int:
    with mp.workprec(200):
        return int(mp.ceil(quantile(noise, mpf(v) / 2**bits) * 2**_SCALE))


def quantile(noise: str, v: Any) -> Any:
    """Q(V) in nats, 0 < V < 1, to the precision of `mpmath`."""
    if noise == "exponential":
        return -mp.log(v)
    if noise == "gumbel":
        return -mp.log(-mp.log1p(-v))
    if noise == "laplace":
        return -mp.log(2 * v) if 2 * v < 1 else mp.log(2 * (1 - v))
    raise ValueError(f"no noise {noise}")


def ranking_law(
    noise: str,
    scores: Sequence[int],
    rate: Fraction,
    *,
    k: int = 1,
    gaps: int = 0,
    fineness: int = 6,
) -> Enclosure:
    """Enclose the law of the k first of score + noise, best first.

    Args:
        noise: exponential, laplace or gumbel.
        rate: nats for each grid step.
        scores: one for each candidate, in grid steps.
        k: how many are ranked.
        gaps: 0, or how many values of the one gap are distinguished, for k = 1.  The outcome is
            then (winner, floor of the gap to the runner-up, at most gaps - 1).
        fineness: 2**fineness cells an octave; the bounds' relative distance is about 2**-fineness.

    Raises:
        ValueError: there are gaps with k > 1, or there is no runner-up.
    """
    if gaps and (k > 1 or len(scores) < 2):
        raise ValueError("gaps are enclosed for one winner and its runner-up")
    cut = cells(noise, fineness)
    low, high = floor(rate * 2**_SCALE), ceil(rate * 2**_SCALE)
    placed = [_Placed(cut.lows + low * score, cut.highs + high * score) for score in scores]
    result: dict[Hashable, tuple[Fraction, Fraction]] = {}
    for order in permutations(range(len(scores)), k + (gaps > 0)):
        bounds = _Chain(cut, placed, order)
        if not gaps:
            result[order] = bounds.mass()
            continue
        for gap in range(gaps):
            above = None if gap == gaps - 1 else (low * (gap + 1), high * (gap + 1))
            mass = bounds.mass((low * gap, high * gap), above)
            known = result.get((order[0], gap), (Fraction(0), Fraction(0)))
            result[order[0], gap] = (known[0] + mass[0], known[1] + mass[1])
    return result


@dataclass(frozen=True, slots=True)
class _Placed:
    """Bounds of a candidate's noisy score, by cell: `lows` and `highs`."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]


class _Chain:
    """The event that some candidates come first, in this order, and all others behind them."""

    def __init__(self, cut: Cells, placed: Sequence[_Placed], order: Sequence[int]) -> None:
        self._cut, self._placed, self._order = cut, placed, order
        self._total = 1 << cut.bits * len(placed)
        self._rest = [i for i in range(len(placed)) if i not in order]

    def mass(
        self, least: tuple[int, int] = (0, 0), below: tuple[int, int] | None = None
    ) -> tuple[Fraction, Fraction]:
        """Enclose the probability; the last gap is at least `least` and less than `below`.

        Both limits are known as enclosures, in units.
        """
        return tuple(Fraction(side, self._total) for side in self._sides(least, below))  # type: ignore[return-value]

    def _sides(self, least: tuple[int, int], below: tuple[int, int] | None) -> Iterator[int]:
        for certain in (True, False):
            last = self._order[-1]
            weights = self._cut.masses * reduce(
                mul, (self._behind(i, self._placed[last], certain) for i in self._rest), 1
            )
            previous = last
            for number, i in enumerate(reversed(self._order[:-1])):
                limits = (least, below) if number == 0 else ((0, 0), None)
                weights = self._cut.masses * self._within(i, previous, weights, certain, *limits)
                previous = i
            yield int(np.sum(weights))

    def _behind(self, i: int, front: _Placed, certain: bool) -> NDArray[np.object_]:
        """By cell of the candidate in front: the mass of the cells that put i behind it."""
        other = self._placed[i]
        count = (
            np.searchsorted(other.highs, front.lows, side="right")
            if certain
            else np.searchsorted(other.lows, front.highs, side="right")
        )
        mass: NDArray[np.object_] = _cumulated(self._cut.masses)[count]
        return mass

    def _within(
        self,
        front: int,
        back: int,
        weights: NDArray[np.object_],
        certain: bool,
        least: tuple[int, int],
        below: tuple[int, int] | None,
    ) -> NDArray[np.object_]:
        """By cell of the candidate in front: the weight of the next one's cells with such a gap."""
        one, two = self._placed[front], self._placed[back]
        if certain:
            to = np.searchsorted(two.highs, one.lows - least[1], side="right")
            start = 0 if below is None else np.searchsorted(two.lows, one.highs - below[0], "right")
        else:
            to = np.searchsorted(two.lows, one.highs - least[0], side="right")
            start = 0 if below is None else np.searchsorted(two.highs, one.lows - below[1], "left")
        sums = _cumulated(weights)
        mass: NDArray[np.object_] = sums[np.maximum(to, start)] - sums[start]
        return mass


def _cumulated(weights: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.concatenate([np.zeros(1, dtype=object), np.cumsum(weights)])
