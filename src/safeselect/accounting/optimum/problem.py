"""A list of guarantees made ready: few kinds, and a grid on which their losses lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm, prod

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.laws import KnownLaw
from safeselect.accounting.optimum.profiles import Pair
from safeselect.accounting.theorems.closed_forms import dong_durfee_rogers_epsilon
from safeselect.accounting.theorems.simple import total
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, PureDP

Part = BoundedRange | Pair

CUT = 36
"""How many bits below delta a tail that is cut off lies."""
BLOCK = 512
"""Ranges in a row that are computed one by one; longer rows are powers of these."""
ROW = 1024
"""Ranges up to which a row is not cut into blocks."""
MOST_WORK = 2**20
"""Places of curves, each computed once per mechanism."""

_COMMON = 64  # times their common measure, up to which sizes are always put on a common grid
MOST_KINDS = 48
"""Of pairs of a type; more are made equal, upwards and downwards, where their law allows it."""
_MOST_RANGES = 12  # the same, of ranges
_LONGEST = 64  # bits of a size
_MOST_PLACES = 2**18  # of a law of losses


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
        for part, count in parts:
            if isinstance(part, GaussianDP):
                squares.append((part.mu_squared, count))
            else:
                counted[part] += count
        above: list[tuple[Part, int]] = []
        below: list[tuple[Part, int]] = []
        for side, upwards in ((above, True), (below, False)):
            side += [(part, n) for part, n in counted.items() if isinstance(part, KnownLaw)]
            for kind in (PureDP, LaplaceDominated, BoundedRange):
                own = [(g.epsilon, n) for g, n in counted.items() if type(g) is kind]
                kinds = _MOST_RANGES if kind is BoundedRange else MOST_KINDS
                side += [(kind(e), n) for e, n in _fewer(own, kinds, upwards=upwards)]
            if squares:
                side.append(
                    (GaussianDP(_short(_sum(squares, upwards=upwards), upwards=upwards)), 1)
                )
        return cls(above, below, delta, most)

    def step(self, cells: int) -> Fraction:
        """A step of which about so many make the largest epsilon, and many epsilons multiples."""
        largest = max(sizes_of(self.above))
        sizes = [part.unit for part, _ in self.above if isinstance(part, KnownLaw)]
        sizes += sizes_of([part for part in self.above if not isinstance(part[0], KnownLaw)])
        denominator = lcm(*(size.denominator for size in sizes))
        common = Fraction(gcd(*(int(size * denominator) for size in sizes)), denominator)
        measure = common
        if largest > max(_COMMON, 2 * cells) * common:
            ranges = ranges_of(self.above)
            measure = max(ranges, key=weight)[0] if ranges else largest
        step = measure / -(-cells * measure // largest)
        # With tiny parts beside large ones the step must not be too fine to compute with.
        return max(step, 8 * self.most / _MOST_PLACES) if cells == 1 else step

    def work(self, cells: int) -> Fraction:
        """Roughly how long a bracket takes, as a share of what is allowed."""
        step = self.step(cells)
        products = len(self.above).bit_length()
        ranges, tail = ranges_of(self.above), self.delta / (1 << CUT)
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
        return 2 * (products + 1) * self.most / step / _MOST_PLACES + rows * share / MOST_WORK


def sizes_of(parts: Sequence[tuple[Part, int]]) -> list[Fraction]:
    """The largest loss of each, or its deviation; but not of Gaussian ones, which lie on any grid.

    A size is a multiple of the unit of its losses.
    """
    return [
        part.size if isinstance(part, KnownLaw) else part.epsilon
        for part, _ in parts
        if not isinstance(part, GaussianDP)
    ]


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
    heaps: Counter[Fraction] = Counter()
    for size, count in short.items():
        heaps[(-(-size // unit) if upwards else size // unit) * unit] += count
    return [(size, count) for size, count in heaps.items() if size]


def _short(size: Fraction, *, upwards: bool) -> Fraction:
    """A size of many digits, rounded; a short one stays as it is."""
    if max(size.numerator.bit_length(), size.denominator.bit_length()) <= _LONGEST:
        return size
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - _LONGEST // 2
    unit = Fraction(2) ** exponent
    return (-(-size // unit) if upwards else size // unit) * unit


def _sum(values: Sequence[tuple[Fraction, int]], *, upwards: bool) -> Fraction:
    """The sum, at least or at most."""
    exact = len(values) <= 32 and all(v.denominator.bit_length() <= _LONGEST for v, _ in values)
    # A long sum was rounded up, to 64 significant bits.
    return total(values) if upwards or exact else total(values) * (1 - Fraction(1, 2**60))
