"""A list of guarantees made ready: few kinds, and a grid on which their losses lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm, prod
from typing import TypeAlias

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.moments import dong_durfee_rogers_epsilon
from safeselect.accounting.optimum import TAIL
from safeselect.accounting.optimum.pairs import Pair
from safeselect.accounting.sums import total
from safeselect.promises.guarantees import (
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

Part: TypeAlias = "BoundedRange | Pair"
_NUMBERED = (PureDP, LaplaceDominated, BoundedRange)  # a size says all of them

BLOCK = 512
"""Ranges in a row that are computed one by one; longer rows are powers of these."""
ROW = 1024
"""Ranges up to which a row is not cut into blocks."""
MOST_WORK = 3 * 2**20
"""Places of curves, each computed once per mechanism."""

_COMMON = 64  # times their common measure, up to which sizes are always put on a common grid
MOST_KINDS = 256
"""Of pairs; more are made equal, upwards and downwards, where their law allows it."""
MOST_LAWS = 48
"""Of known laws, which cannot be made equal."""
_MOST_RANGES = 12  # the same, of ranges
_LONGEST = 64  # bits of a size
_MOST_PLACES = 2**18  # of a law of losses
_FAR = 64  # a grid may change the sum of squares of ranges by this share


@dataclass(frozen=True, slots=True)
class Problem:
    """Guarantees with how often each occurs, and a delta.

    Attributes:
        above, below: the list, with nearly equal parts made equal: upwards, and downwards.
        delta: rational.
        most: an epsilon that is known to be enough.
    """

    above: Sequence[tuple[Part, int]]
    below: Sequence[tuple[Part, int]]
    delta: Fraction
    most: Fraction

    @classmethod
    def of(cls, parts: Sequence[tuple[Part, int]], delta: Fraction, most: Fraction) -> Problem:
        """The problem of a list; equal parts need not be together."""
        counted: Counter[Part] = Counter()
        squares: list[tuple[Fraction, int]] = []
        rhos: list[tuple[Fraction, int]] = []
        for part, count in parts:
            if isinstance(part, GaussianDP):
                squares.append((part.mu_squared, count))
            elif isinstance(part, ZeroConcentratedDP):
                rhos.append((part.rho, count))
            else:
                counted[part] += count
        above: list[tuple[Part, int]] = []
        below: list[tuple[Part, int]] = []
        types = {type(part) for part in counted} & {PureDP, LaplaceDominated}
        for side, upwards in ((above, True), (below, False)):
            side += [(part, n) for part, n in counted.items() if not isinstance(part, _NUMBERED)]
            for kind in (PureDP, LaplaceDominated, BoundedRange):
                own = [(g.epsilon, n) for g, n in counted.items() if type(g) is kind]
                kinds = _MOST_RANGES if kind is BoundedRange else MOST_KINDS // max(1, len(types))
                side += [(kind(e), n) for e, n in _fewer(own, kinds, upwards=upwards)]
            if rhos and upwards:
                side.append((ZeroConcentratedDP(_short(total(rhos), upwards=True)), 1))
            # From below, zCDP is what Gaussian noise has.
            noise = squares if upwards else squares + [(2 * rho, count) for rho, count in rhos]
            if noise:
                squared = total(noise) if upwards else squares_below(noise)
                side.append((GaussianDP(_short(squared, upwards=upwards)), 1))
        return cls(above, below, delta, most)

    def step(self, cells: int) -> Fraction:
        """Of the grid of the upper bound."""
        return self.on_grid(cells, upwards=True)[0]

    def on_grid(self, cells: int, *, upwards: bool) -> tuple[Fraction, Sequence[tuple[Part, int]]]:
        """A step of which about so many make the largest epsilon, and the list on its grid.

        All epsilons are multiples where they can be.  Else ranges are made a little larger, or
        smaller, so that they are; where that would change them much, the heaviest is a multiple.
        """
        parts = self.above if upwards else self.below
        largest, ranges = max(sizes_of(parts)), ranges_of(parts)
        measure = _common([unit for unit, _ in grains(parts)])
        if largest > max(_COMMON, 2 * cells) * measure:
            own = max((e for e, _ in ranges), default=largest)
            others = [part for part in parts if not isinstance(part[0], BoundedRange)]
            # From below a pair is made smaller, too, so that its largest loss is a multiple.
            pairs = [
                (p.epsilon, n)
                for p, n in others
                if not upwards and isinstance(p, (PureDP, LaplaceDominated))
            ]
            step = _fitted(ranges, pairs, -(-cells * own // largest), upwards=upwards)
            if step is not None:
                ranges = _multiples(ranges, step, upwards=upwards)
                return step, [*others, *((BoundedRange(e), n) for e, n in ranges)]
            measure = max(ranges, key=weight)[0] if ranges else largest
        step = measure / -(-cells * measure // largest)
        # With tiny parts beside large ones the step must not be too fine to compute with.
        return max(step, 8 * self.most / _MOST_PLACES) if cells == 1 else step, parts

    def work(self, cells: int) -> Fraction:
        """Roughly how long a bracket takes, as a share of what is allowed."""
        step, parts = self.on_grid(cells, upwards=True)
        products = len(parts).bit_length()
        ranges, tail = ranges_of(parts), self.delta / (1 << TAIL)
        reaches = [reach(e, BLOCK if n > ROW else n, tail) for e, n in ranges]
        states = prod(n + 1 for _, n in ranges)
        if len(ranges) > 1 and states <= ROW:
            rows = states * len(ranges) * sum(reaches, Fraction(0)) / step
        else:
            # Each row grows by its range at a step, up to its reach.
            rows = sum(
                (
                    ((BLOCK if n > ROW else n) - end / (2 * e)) * end / step
                    for (e, n), end in zip(ranges, reaches, strict=True)
                ),
                Fraction(0),
            )
        share = Fraction(cells, 64) if cells <= 64 else Fraction(2)
        return (products + 1) * self.most / step / _MOST_PLACES + rows * share / MOST_WORK


def sizes_of(parts: Sequence[tuple[Part, int]]) -> list[Fraction]:
    """The largest loss of each, or its deviation; but not of Gaussian ones, which lie on any grid.

    A size is a multiple of the unit of its losses.
    """
    return [size for _, size in grains(parts)]


def grains(parts: Sequence[tuple[Part, int]]) -> list[tuple[Fraction, Fraction]]:
    """The unit of the losses of each, and its size."""
    losses = [part for part, _ in parts if not isinstance(part, (GaussianDP, ZeroConcentratedDP))]
    return [(p.epsilon,) * 2 if isinstance(p, _NUMBERED) else (p.unit, p.size) for p in losses]


def _common(sizes: Sequence[Fraction]) -> Fraction:
    """The greatest common divisor."""
    denominator = lcm(*(size.denominator for size in sizes))
    return Fraction(gcd(*(int(size * denominator) for size in sizes)), denominator)


def _fitted(
    ranges: Sequence[tuple[Fraction, int]],
    pairs: Sequence[tuple[Fraction, int]],
    cells: int,
    *,
    upwards: bool,
) -> Fraction | None:
    """A step with whose multiples ranges are replaced; None if that changes them too much.

    With the largest range at `cells` to twice as many steps, the one that changes the sum of
    squares least.
    """
    largest = max((epsilon for epsilon, _ in ranges), default=Fraction(0))
    best, whole = None, _squares([*ranges, *pairs])
    for number in range(cells, 2 * cells + 1) if ranges else ():
        near = [round(epsilon * number / largest) for epsilon, _ in ranges]
        # A range far below a step is made a whole one, or is left out.
        steps = [epsilon / n for (epsilon, _), n in zip(ranges, near, strict=True) if n]
        step = max(steps) if upwards else min(steps)
        change = abs(_squares(_multiples([*ranges, *pairs], step, upwards=upwards)) - whole)
        if best is None or change < best[0]:
            best = change, step
    return best[1] if best is not None and best[0] * _FAR <= whole else None


def _squares(sizes: Sequence[tuple[Fraction, int]]) -> Fraction:
    return sum((weight(each) for each in sizes), Fraction(0))


def _multiples(
    sizes: Sequence[tuple[Fraction, int]], step: Fraction, *, upwards: bool
) -> list[tuple[Fraction, int]]:
    """Each at least, or at most, as large."""
    found: Counter[Fraction] = Counter()
    for size, count in sizes:
        found[_multiple(size, step, upwards=upwards)] += count
    return [each for each in found.items() if each[0]]


@lru_cache(maxsize=256)
def reach(epsilon: Fraction, count: int, tail: Fraction) -> Fraction:
    """An epsilon at which equal ranges leave less than a tail."""
    return min(count * epsilon, dong_durfee_rogers_epsilon(epsilon, count, tail / count))


def weight(part: tuple[Fraction, int]) -> Fraction:
    """The contribution of a part to the variance of the loss."""
    size, count = part
    return size * size * count


def ranges_of(parts: Sequence[tuple[Part, int]]) -> list[tuple[Fraction, int]]:
    return [(part.epsilon, n) for part, n in parts if isinstance(part, BoundedRange)]


def _fewer(
    parts: Sequence[tuple[Fraction, int]], most: int, *, upwards: bool
) -> list[tuple[Fraction, int]]:
    """Few sizes with a common measure, each at least (or at most) the size that it replaces."""
    short: Counter[Fraction] = Counter()
    for size, count in parts:
        short[_short(size, upwards=upwards)] += count
    if len(short) <= most:
        return list(short.items())
    unit = max(short) / (2 * most)
    return _multiples(list(short.items()), unit, upwards=upwards)


def _short(size: Fraction, *, upwards: bool) -> Fraction:
    """A size of many digits, rounded; a short one stays as it is."""
    if max(size.numerator.bit_length(), size.denominator.bit_length()) <= _LONGEST:
        return size
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - _LONGEST // 2
    return _multiple(size, Fraction(2) ** exponent, upwards=upwards)


def _multiple(size: Fraction, step: Fraction, *, upwards: bool) -> Fraction:
    return (-(-size // step) if upwards else size // step) * step


def squares_below(values: Sequence[tuple[Fraction, int]]) -> Fraction:
    """The sum, or a little less."""
    exact = len(values) <= 32 and all(v.denominator.bit_length() <= _LONGEST for v, _ in values)
    # A long sum was rounded up, to 64 significant bits.
    return total(values) * (1 if exact else 1 - Fraction(1, 2**60))
