"""The two sides of the optimum on a grid: profiles from above, and what adversaries reach.

The upper side replaces fixed pairs by their chords, and ranges by the largest value of all orders.
Too many ranges are replaced by the pairs of their own optima.  On the lower side an adversary
reaches every number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from safeselect.accounting.optimum.backward import Curve, backward, interleaved, row, start
from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.masses import Masses, certain, dots, mirrored, power, product
from safeselect.accounting.optimum.problem import (
    BLOCK,
    CUT,
    MOST_WORK,
    ROW,
    Part,
    Problem,
    reach,
    weight,
)
from safeselect.accounting.optimum.profiles import Law, grid_masses
from safeselect.exact.interval import Interval
from safeselect.promises.guarantees import BoundedRange

_BITS = 72  # of masses, below delta
_QUICK_BITS, _QUICK_CUT = 40, 16  # the same, and the tails, of an upper bound alone
_NORMAL = 1024  # places of a deviation of a normal law
_FINEST = 2048  # cells of a range where the grid is finer
_SHARES = 64  # of a range, as offsets of adversaries that do not adapt


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers that all laws of a problem share.

    Attributes:
        step: of the losses.
        bits: of the masses.
        tail: what may be cut off, and times 2**bits, `lost`.
        cells: of the largest epsilon.
        block: ranges in a row that are worked out one by one; up to `row` a row is not cut.
    """

    step: Fraction
    bits: int
    tail: Fraction
    cells: int
    block: int
    row: int

    @classmethod
    def of(cls, problem: Problem, cells: int) -> Grid:
        return cls.on(problem.step(cells), problem.delta, cells)

    def for_upper(self, block: int) -> Grid:
        """The same for an upper bound alone, with rows cut into such blocks."""
        tail, bits = self.tail * (1 << CUT - _QUICK_CUT), self.bits - _BITS + _QUICK_BITS
        return replace(self, tail=tail, bits=bits, block=block, row=0)

    @classmethod
    def on(cls, step: Fraction, delta: Fraction, cells: int = _NORMAL) -> Grid:
        bits = _BITS + sum((1 / x).__ceil__().bit_length() for x in (delta, step))
        return cls(step, bits, delta / (1 << CUT), cells, BLOCK, ROW)

    @property
    def lost(self) -> int:
        return (self.tail.numerator << self.bits) // self.tail.denominator

    def pairs(self, parts: Sequence[tuple[Part, int]]) -> list[tuple[Law, int]]:
        """Laws of the fixed pairs."""
        return [
            (grid_masses(part, self.step, self.bits, self.tail, self.cells), count)
            for part, count in parts
            if not isinstance(part, BoundedRange)
        ]

    def product(self, masses: Iterable[tuple[Masses, int]], *, upper: bool) -> Masses:
        """Of all, each as often as it says; the shortest first."""
        powers = [power(law, count, self.lost) for law, count in masses]
        waiting = [certain(self.bits, upper=upper), *powers]
        while len(waiting) > 1:
            waiting.sort(key=lambda law: len(law.weights), reverse=True)
            waiting.append(product(waiting.pop(), waiting.pop(), self.lost))
        return waiting[0]

    def curve(self, epsilon: Fraction, count: int, step: Fraction) -> Curve:
        """The optimum of equal ranges, on a step that divides the range."""
        return row(
            step, round(epsilon / step), count, -(-self.reach_of([(epsilon, count)]) // step)
        )

    def before(self, curve: Curve, epsilon: Fraction, count: int) -> Curve:
        """The same before a curve, on the curve's step."""
        most = len(curve.upper) + -(-self.reach_of([(epsilon, count)]) // curve.step)
        return backward(curve, round(epsilon / curve.step), count, most)

    def reach_of(self, ranges: list[tuple[Fraction, int]]) -> Fraction:
        """An epsilon at which hardly any delta is left."""
        share = self.tail / max(1, len(ranges))
        return sum((reach(epsilon, count, share) for epsilon, count in ranges), Fraction(0))


def upper_profile(
    grid: Grid, masses: list[tuple[Masses, int]], ranges: list[tuple[Fraction, int]]
) -> Profile:
    """Fixed pairs before ranges; the heaviest ranges as a curve, where they are on the grid."""
    last = _together(grid, ranges) if len(ranges) != 1 else None
    if last is None:
        last, others = start(grid.step), sorted(ranges, key=weight)
        if others and not others[-1][0] % grid.step and others[-1][1] <= grid.row:
            epsilon, count = others.pop()
            last = grid.curve(epsilon, count, grid.step)
        for epsilon, count in others:
            masses = [*masses, *range_masses(grid, epsilon, count)]
    whole = grid.product(masses, upper=True)
    return Profile.of(whole, last.upper, grid.step)


def range_masses(grid: Grid, epsilon: Fraction, count: int) -> list[tuple[Masses, int]]:
    """Pairs whose product bounds equal ranges: of rows of them, and of what is left."""
    step = epsilon / min(_FINEST, -(-epsilon // grid.step))
    cells = round(epsilon / step)
    length = grid.block if count > grid.row else count
    blocks, rest = divmod(count, length)
    most = -(-grid.reach_of([(epsilon, length)]) // step)
    # The curve of a block begins with that of the rest.
    curve, found = start(step), []
    for number, times in ((rest, 1), (length - rest, blocks)):
        if number:
            curve = backward(curve, cells, number, most, upper_only=True)
            found.append((_dotted(curve, grid), times))
    return found


def _together(grid: Grid, ranges: list[tuple[Fraction, int]]) -> Curve | None:
    """The optimum of ranges in every order, where they are few and multiples of the step."""
    states = prod(count + 1 for _, count in ranges)
    if any(epsilon % grid.step for epsilon, _ in ranges):
        return None
    most = -(-grid.reach_of(ranges) // grid.step)
    if states > ROW or states * len(ranges) * most > MOST_WORK:
        return None
    return interleaved(grid.step, tuple(sorted((int(e // grid.step), n) for e, n in ranges)), most)


def _dotted(curve: Curve, grid: Grid) -> Masses:
    """The pair of a curve's upper profile, on the grid."""
    own = Profile.of(certain(grid.bits, upper=True), curve.upper, curve.step)
    if curve.step == grid.step:
        values = list(own.values)
    else:
        places = -(-(len(own.values) - 1) * curve.step // grid.step)
        values = [own.between(grid.step * place) for place in range(places + 1)]
    below = mirrored(values, grid.step, grid.bits, upper=True)
    return dots(below[:0:-1] + values, 1 - len(values), grid.step, grid.bits, upper=True)


def lower_value(
    grid: Grid,
    whole: Masses,
    ranges: list[tuple[Fraction, int]],
    read: Callable[[Profile], Fraction],
) -> Fraction:
    step = grid.step
    kept = sorted(((e // step, n) for e, n in ranges if e >= step), reverse=True)
    curve = _together(grid, [(cells * step, n) for cells, n in kept]) if len(kept) > 1 else None
    if curve is None:
        mechanisms = sum(n for _, n in kept)
        if mechanisms > ROW:
            return _equal_offsets(grid, whole, kept, read)
        if len(kept) == 1:
            ((cells, count),) = kept
            return read(Profile.of(whole, grid.curve(cells * step, count, step).lower, step))
        if mechanisms * grid.reach_of([(cells * step, n) for cells, n in kept]) > MOST_WORK * step:
            return _equal_offsets(grid, whole, kept, read)
        curve = start(step)
        for cells, count in kept:
            curve = grid.before(curve, cells * step, count)
    return read(Profile.of(whole, curve.lower, step))


def _equal_offsets(
    grid: Grid, whole: Masses, ranges: list[tuple[int, int]], read: Callable[[Profile], Fraction]
) -> Fraction:
    """The best of some adversaries that do not adapt: all offsets are the same share of a range."""
    at, jump = _SHARES // 2, _SHARES // 8

    def reached(share: int) -> Fraction:
        offset = Fraction(share, _SHARES)
        laws = [_two_points(grid, cells, count, offset) for cells, count in ranges]
        masses = grid.product([(law, 1) for law in (whole, *laws)], upper=False)
        return read(Profile.of(masses, start(grid.step).lower, grid.step))

    best = reached(at)
    while jump:
        found = {share: reached(share) for share in (at - jump, at + jump) if 0 < share < _SHARES}
        share = max(found, key=lambda s: found[s])
        if found[share] > best:
            at, best = share, found[share]
        else:
            jump //= 2
    return best


def _two_points(grid: Grid, cells: int, count: int, share: Fraction) -> Masses:
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
