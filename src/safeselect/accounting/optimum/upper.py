"""The optimum of an adaptive composition, bounded from above: what a release rests on.

Fixed pairs come first and ranges last.  No other order, fixed or adaptive, gives a larger delta
(`docs/mathematics.md`, section 14).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from safeselect.accounting.gaussian import FARTHEST, GaussianDP
from safeselect.accounting.moments import bun_steinke_epsilon
from safeselect.accounting.optimum import MASS, QUICK_MASS, QUICK_TAIL, TAIL
from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.curve import Curve, backward, row, start
from safeselect.accounting.optimum.pairs import Masses, certain, chords, power, product, symmetric
from safeselect.accounting.optimum.problem import (
    BLOCK,
    ROW,
    Part,
    Problem,
    ranges_of,
    reach,
    sizes_of,
    weight,
)
from safeselect.accounting.sums import total
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated, ZeroConcentratedDP

_NORMAL = 1024  # places of a deviation of a normal law
_FINEST = 2048  # cells of a range where the grid is finer
_LEAST_DELTA = Fraction(1, 2**200)
# The epsilon of a part: time and memory rise with it, and above 4 nats nothing is kept private.
LARGEST, _SMALLEST = 4, Fraction(1, 2**64)
FEW_KINDS = 64
"""Kinds of parts below which tails are cut off as `TAIL` says."""
FIRST = 64
"""Cells of the largest epsilon, at first."""
_QUICK_BLOCK, _QUICK_LONGEST = 100, 150
_QUICK_CELLS, _LEAST_CELLS = 16, 4
_QUICK_PLACES, _QUICK_ROWS = 2**13, 700_000


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
    def on(cls, step: Fraction, delta: Fraction, cells: int = _NORMAL, kinds: int = 1) -> Grid:
        """With many kinds there are many products, and each may cut off the less."""
        bits = MASS + sum((1 / x).__ceil__().bit_length() for x in (delta, step))
        tail = delta / (1 << TAIL + (kinds // FEW_KINDS).bit_length())
        return cls(step, bits, tail, cells, BLOCK, ROW)

    @property
    def lost(self) -> int:
        return (self.tail.numerator << self.bits) // self.tail.denominator

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
    grid: Grid,
    masses: list[tuple[Masses, int]],
    ranges: list[tuple[Fraction, int]],
    last: Curve | None = None,
) -> Profile:
    """Fixed pairs before ranges; the heaviest ranges as a curve, where they are on the grid.

    Args:
        last: the curve of all ranges, where it is known.
    """
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


def _dotted(curve: Curve, grid: Grid) -> Masses:
    """The pair of a curve's upper profile, on the grid."""
    own = Profile.of(certain(grid.bits, upper=True), curve.upper, curve.step)
    if curve.step == grid.step:
        values = list(own.values)
    else:
        places = -(-(len(own.values) - 1) * curve.step // grid.step)
        values = [own.between(grid.step * place) for place in range(places + 1)]
    return symmetric(values, grid.step, grid.bits, upper=True)


def problem_of(
    parts: Sequence[tuple[Part, int]], delta: Fraction, most: Fraction
) -> Problem | None:
    """The problem, if the values are within the range of floats, and the work is bounded."""
    sizes = sizes_of(parts)
    if not sizes or not most or delta < _LEAST_DELTA or not _SMALLEST < max(sizes) <= LARGEST:
        return None
    noise = [
        (2 * part.zcdp.rho, n)
        for part, n in parts
        if isinstance(part, (GaussianDP, ZeroConcentratedDP))
    ]
    if max(most, total(noise)) > FARTHEST:
        return None
    problem = Problem.of(parts, delta, most)
    return problem if problem.work(1) <= 1 else None


def quick_epsilon(
    part: BoundedRange | LaplaceDominated, count: int, delta: Fraction
) -> Fraction | None:
    """An epsilon for equal parts in a few milliseconds: the upper bound alone, on a coarse grid.

    Some thousandths above the optimum for tens of parts, some hundredths for thousands, and the
    same on every machine, whoever asks.

    Returns:
        None where no bound is found so quickly.
    """
    most = min(count * part.epsilon, bun_steinke_epsilon(count * part.zcdp.rho, delta))
    problem = problem_of([(part, count)], delta, most)
    if problem is None:
        return None
    cells, blocks = FIRST, 1
    if isinstance(part, BoundedRange):
        blocks = -(-count // min(_QUICK_BLOCK + count // 20, _QUICK_LONGEST))
    block = -(-count // blocks)
    while cells > _QUICK_CELLS and _quick_work(problem, block, cells) > 1:
        cells -= 2
    while cells and 3 * most / problem.step(cells) > _QUICK_PLACES:
        cells //= 2
    if cells < _LEAST_CELLS:
        return None
    fine = Grid.on(problem.step(cells), delta, cells, len(problem.above))
    # For an upper bound alone, with rows cut into such blocks.
    tail, digits = fine.tail * (1 << TAIL - QUICK_TAIL), fine.bits - MASS + QUICK_MASS
    grid = replace(fine, tail=tail, bits=digits, block=block, row=0)
    masses = [
        (chords(each, grid.step, max(1, -(-each.epsilon // grid.step)), grid.bits), n)
        for each, n in problem.above
        if isinstance(each, LaplaceDominated)
    ]
    return upper_profile(grid, masses, ranges_of(problem.above)).epsilon(delta)


def _quick_work(problem: Problem, block: int, cells: int) -> Fraction:
    """Of the longest row that is followed range by range."""
    step, tail = problem.step(cells), problem.delta / (1 << TAIL)
    rows = [(e, min(n, block)) for e, n in ranges_of(problem.above)]
    return sum((n * reach(e, n, tail) / step * cells for e, n in rows), Fraction(0)) / _QUICK_ROWS
