"""The optimum of an adaptive composition, between two bounds that are computed.

Fixed pairs come first and ranges last: no other order, chosen in advance or while it goes on, gives
a larger delta (`docs/mathematics.md`, section 14).  Above, ranges of different size become the pairs
of their own optima; below, they follow one another, the largest last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm, prod

from safeselect.accounting.backward import Curve, backward, interleaved, start
from safeselect.accounting.bracket import Profile
from safeselect.accounting.closed_forms import dong_durfee_rogers_epsilon
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.masses import Masses, certain, dots, mirrored, power, product
from safeselect.accounting.profiles import Law, Pair, grid_masses
from safeselect.exact import Interval
from safeselect.promises import BoundedRange, LaplaceDominated, PureDP

__all__ = ["Bracket", "Problem", "bracket"]

Part = BoundedRange | Pair
Sized = BoundedRange | LaplaceDominated | PureDP

_BITS = 72  # of masses, below delta
_CUT = 36  # bits below delta of what is cut off
_COMMON = 64  # steps: ranges up to so many times their common measure are put on a common grid
_MOST_KINDS = 48  # of parts of a type; more are made equal, upwards and downwards
_MOST_WORK = 2**20  # places times steps
_BLOCK = 256  # ranges in a row that are worked out one by one; longer rows are powers of these
_MOST_PLACES = 2**18  # of a law of losses
_ROW = 1024  # up to which a row is not cut into blocks


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two bounds on the least epsilon at a delta.

    Attributes:
        lower: no smaller epsilon is possible for such guarantees.
        upper: this one holds.
    """

    lower: Fraction
    upper: Fraction


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
        squared = Fraction(0)
        for part, count in parts:
            if isinstance(part, GaussianDP):
                squared += part.mu_squared * count
            else:
                counted[part] += count
        sides: list[list[tuple[Part, int]]] = [[], []]
        for side, upwards in zip(sides, (True, False), strict=True):
            for kind in (PureDP, LaplaceDominated, BoundedRange):
                own = [(g.epsilon, n) for g, n in counted.items() if type(g) is kind]
                side += [(kind(e), n) for e, n in _fewer(own, upwards=upwards)]
            if squared:
                side.append((GaussianDP(squared), 1))
        return cls(*sides, delta, most)

    @property
    def sizes(self) -> list[Fraction]:
        """The different epsilons."""
        return [part.epsilon for part, _ in self.above if not isinstance(part, GaussianDP)]

    def step(self, cells: int) -> Fraction:
        """A step of which about so many make the largest epsilon, and many epsilons multiples."""
        sizes = self.sizes
        largest = max(sizes)
        common = Fraction(
            gcd(*(size.numerator * (lcm(*(s.denominator for s in sizes)) // size.denominator) for size in sizes)),
            lcm(*(s.denominator for s in sizes)),
        )
        measure = common
        if largest > _COMMON * common:
            ranges = _ranges(self.above)
            measure = max(ranges, key=_weight)[0] if ranges else largest
        step = measure / -(-cells * measure // largest)
        # Not so fine that nothing else could be computed.
        return max(step, 4 * self.most / _MOST_PLACES)


def _weight(part: tuple[Fraction, int]) -> Fraction:
    """What a part contributes to the variance of the loss."""
    size, count = part
    return size * size * count


def _ranges(parts: Sequence[tuple[Part, int]]) -> list[tuple[Fraction, int]]:
    return [(part.epsilon, n) for part, n in parts if isinstance(part, BoundedRange)]


def _fewer(parts: Sequence[tuple[Fraction, int]], *, upwards: bool) -> list[tuple[Fraction, int]]:
    """At most _MOST_KINDS different sizes, each at least (or at most) what it stands for."""
    if len(parts) <= _MOST_KINDS:
        return list(parts)
    ordered = sorted(parts)
    # Equal sums of squares, as that is what they cost.
    total = sum(size * size * n for size, n in ordered)
    heaps: Counter[Fraction] = Counter()
    heap: list[tuple[Fraction, int]] = []
    so_far = Fraction(0)
    for size, count in ordered:
        heap.append((size, count))
        so_far += size * size * count
        if so_far * _MOST_KINDS >= total * (len(heaps) + 1):
            heaps[heap[-1 if upwards else 0][0]] += sum(n for _, n in heap)
            heap = []
    if heap:
        heaps[heap[-1 if upwards else 0][0]] += sum(n for _, n in heap)
    return list(heaps.items())


def bracket(problem: Problem, cells: int) -> Bracket:
    """Both bounds, on a grid where the largest epsilon has about so many cells."""
    step = problem.step(cells)
    bits = _BITS + sum((1 / x).__ceil__().bit_length() for x in (problem.delta, step))
    grid = _Grid(step, bits, problem.delta / 2**_CUT)
    pairs = [grid.pair(part, n, cells) for part, n in problem.above if not isinstance(part, BoundedRange)]
    upper = _upper(grid, [law.upper for law in pairs], _ranges(problem.above), problem.delta)
    if problem.below != problem.above:
        pairs = [grid.pair(part, n, cells) for part, n in problem.below if not isinstance(part, BoundedRange)]
    shift = sum((law.shift for law in pairs), Fraction(0))
    lower = _lower(grid, [law.lower for law in pairs], _ranges(problem.below), problem)
    return Bracket(max(Fraction(0), lower - shift), upper)


@dataclass(frozen=True, slots=True)
class _Grid:
    """What all laws of a problem share."""

    step: Fraction
    bits: int
    tail: Fraction

    @property
    def lost(self) -> int:
        """The tail, times 2**bits."""
        return (self.tail.numerator << self.bits) // self.tail.denominator

    def pair(self, part: Pair, count: int, cells: int) -> Law:
        """Masses of so many equal pairs."""
        law = grid_masses(part, self.step, self.bits, self.tail, cells)
        return Law(
            power(law.upper, count, self.lost), power(law.lower, count, self.lost), law.shift * count
        )

    def product(self, masses: Iterable[Masses], *, upper: bool) -> Masses:
        """Of all, the shortest first."""
        result = certain(self.bits, upper=upper)
        for each in sorted(masses, key=lambda m: len(m.weights)):
            result = product(result, each, self.lost)
        return result

    def row(self, epsilon: Fraction, count: int, step: Fraction, before: Curve | None = None) -> Curve:
        """The optimum of equal ranges before a curve, on a step of which the range is a multiple."""
        known = 0 if before is None else len(before.upper)
        most = known + -(-self.reach([(epsilon, count)]) // step)
        return backward(before or start(step), round(epsilon / step), count, most)

    def reach(self, ranges: list[tuple[Fraction, int]]) -> Fraction:
        """An epsilon at which hardly any delta is left."""
        tails = len(ranges)
        return sum(
            (
                min(n * e, dong_durfee_rogers_epsilon(e, n, self.tail / (n * tails)))
                for e, n in ranges
            ),
            Fraction(0),
        )


def _upper(
    grid: _Grid, masses: list[Masses], ranges: list[tuple[Fraction, int]], delta: Fraction
) -> Fraction:
    last = _together(grid, ranges)
    if last is None:
        last = start(grid.step)
        heaviest = max(ranges, key=_weight)
        for epsilon, count in ranges:
            own = epsilon / -(-epsilon // grid.step)
            blocks, rest = divmod(count, _BLOCK) if count > _ROW else (0, count)
            if blocks:
                block = _dotted(grid.row(epsilon, _BLOCK, own), grid)
                masses.append(power(block, blocks, grid.lost))
            if not rest:
                continue
            curve = grid.row(epsilon, rest, own)
            if (epsilon, count) == heaviest and own == grid.step:
                last = curve
            else:
                masses.append(_dotted(curve, grid))
    whole = grid.product(masses, upper=True)
    return Profile.of(whole, last.upper, grid.step).epsilon(delta)


def _together(grid: _Grid, ranges: list[tuple[Fraction, int]]) -> Curve | None:
    """The optimum of ranges in every order, where they are few and multiples of the step."""
    states = prod(count + 1 for _, count in ranges)
    if any(epsilon % grid.step for epsilon, _ in ranges):
        return None
    most = -(-grid.reach(ranges) // grid.step)
    if states > _ROW or states * len(ranges) * most > _MOST_WORK:
        return None
    return interleaved(grid.step, [(int(e // grid.step), n) for e, n in ranges], most)


def _dotted(curve: Curve, grid: _Grid) -> Masses:
    """The pair of a curve's upper profile, on the grid."""
    own = Profile.of(certain(grid.bits, upper=True), curve.upper, curve.step)
    if curve.step == grid.step:
        values = list(own.values)
    else:
        places = -(-(len(own.values) - 1) * curve.step // grid.step)
        values = [own.between(grid.step * place) for place in range(places + 1)]
    below = mirrored(values, grid.step, grid.bits, upper=True)
    return dots(below[:0:-1] + values, 1 - len(values), grid.step, grid.bits, upper=True)


def _lower(
    grid: _Grid, masses: list[Masses], ranges: list[tuple[Fraction, int]], problem: Problem
) -> Fraction:
    step, delta = grid.step, problem.delta
    whole_cells = [(epsilon // step, count) for epsilon, count in ranges]
    kept = sorted(((cells, n) for cells, n in whole_cells if cells), reverse=True)
    whole = grid.product(masses, upper=False)
    curve = _together(grid, [(cells * step, n) for cells, n in kept])
    if curve is None:
        if sum(n for _, n in kept) > _ROW:
            return _equal_offsets(grid, whole, kept, delta)
        curve = start(step)
        for cells, count in kept:
            curve = grid.row(cells * step, count, step, curve)
    return Profile.of(whole, curve.lower, step).epsilon(delta)


def _equal_offsets(
    grid: _Grid, whole: Masses, ranges: list[tuple[int, int]], delta: Fraction
) -> Fraction:
    """The best of some adversaries that do not adapt: all offsets are the same share of a range."""
    best, parts = Fraction(0), 64
    at, jump = parts // 2, parts // 8

    def reached(share: int) -> Fraction:
        laws = [_two_points(grid, cells, count, Fraction(share, parts)) for cells, count in ranges]
        masses = grid.product([whole, *laws], upper=False)
        return Profile.of(masses, start(grid.step).lower, grid.step).epsilon(delta)

    best = reached(at)
    while jump:
        found = {share: reached(share) for share in (at - jump, at + jump) if 0 < share < parts}
        share = max(found, key=lambda s: found[s])
        if found[share] > best:
            at, best = share, found[share]
        else:
            jump //= 2
    return best


def _two_points(grid: _Grid, cells: int, count: int, share: Fraction) -> Masses:
    """`count` mechanisms with loss t or t - epsilon, t about this share of epsilon."""
    offset = min(max(round(share * cells), 0), cells)
    step, bits = grid.step, grid.bits
    precision = bits + 64
    whole = Interval.of(-cells * step, precision).expm1()
    first = Interval.of((offset - cells) * step, precision).expm1() / whole
    second = Interval.of(1, precision) - first
    both = Masses(0, [max(0, x.scaled(bits)[0]) for x in (second, first)], 0, bits, False)
    powered = power(both, count, grid.lost)
    weights = [0] * ((len(powered.weights) - 1) * cells + 1)
    weights[::cells] = powered.weights
    return Masses(count * (offset - cells) + powered.first * cells, weights, 0, bits, False)
