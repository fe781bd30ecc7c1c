"""The optimum of an adaptive composition, between two bounds that are computed.

Fixed pairs come first and ranges last.  No other order, fixed or adaptive, gives a larger delta
(`docs/mathematics.md`, section 14).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from safeselect.accounting.gaussian import FARTHEST, GaussianDP
from safeselect.accounting.optimum.bracket import Profile
from safeselect.accounting.optimum.masses import Masses
from safeselect.accounting.optimum.problem import CUT, Part, Problem, ranges_of, reach, sizes_of
from safeselect.accounting.optimum.sides import Grid, lower_value, range_masses, upper_profile
from safeselect.accounting.theorems.closed_forms import bun_steinke_epsilon
from safeselect.accounting.theorems.simple import total
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated

Read = Callable[[Profile, Fraction], Fraction]
"""Reads a bound off a profile; the losses of that profile may be too large by a shift."""

_LEAST_DELTA = Fraction(1, 2**200)
# The epsilon of a part: time and memory rise with it, and above 4 nats nothing is kept private.
_LARGEST, _SMALLEST = 4, Fraction(1, 2**64)
_FIRST = 64  # cells of the largest epsilon, at first
_MOST_ROUNDS = 7
_QUICK_BLOCK, _QUICK_LONGEST = 100, 150
_QUICK_CELLS, _LEAST_CELLS = 16, 4
_QUICK_PLACES, _QUICK_ROWS = 2**13, 700_000


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two bounds on the least epsilon at a delta.

    Attributes:
        lower: no smaller epsilon is possible for such guarantees.
        upper: this one holds.
    """

    lower: Fraction
    upper: Fraction


def worth_trying(parts: Sequence[tuple[Part, int]], delta: Fraction, most: Fraction) -> bool:
    """Whether the values are within the range of floats, and the work is bounded."""
    sizes = sizes_of(parts)
    if not sizes or not most or delta < _LEAST_DELTA or max(sizes) > _LARGEST:
        return False
    noise = [(part.mu_squared, n) for part, n in parts if isinstance(part, GaussianDP)]
    if max(most, total(noise)) > FARTHEST:
        return False
    return max(sizes) > _SMALLEST and Problem.of(parts, delta, most).work(1) <= 1


def least_epsilon(problem: Problem, precision: Fraction) -> Bracket:
    """Bounds on the least epsilon at the problem's delta.

    As narrow as `precision`, relatively, or as narrow as a bounded amount of work makes them.
    """
    delta = problem.delta
    return _narrowed(problem, precision, problem.most, lambda p, shift: p.epsilon(delta) - shift)


def least_delta(problem: Problem, epsilon: Fraction, precision: Fraction) -> Bracket:
    """The same for the least delta at an epsilon; the problem's delta is enough at it."""
    return _narrowed(problem, precision, problem.delta, lambda p, shift: p.delta(epsilon + shift))


def _narrowed(problem: Problem, precision: Fraction, most: Fraction, read: Read) -> Bracket:
    cells, best = _FIRST, Bracket(Fraction(0), most)
    while problem.work(cells) > 1 and cells > 1:
        cells //= 2
    last_gap = 4 * most
    for _ in range(_MOST_ROUNDS):
        found = bracket(problem, cells, read)
        if found.lower > found.upper:
            # One of the two bounds is wrong, and it is unknown which one: refuse to answer.
            raise RuntimeError("the two bounds of an optimum cross; please report this list")
        best = Bracket(max(best.lower, found.lower), min(best.upper, found.upper))
        gap = best.upper - best.lower
        # No grid is left out on the way, so that a finer precision begins with the same ones.
        cells *= 2
        if gap <= precision * best.lower or 5 * gap > 4 * last_gap or problem.work(cells) > 1:
            break
        last_gap = gap
    return best


def bracket(problem: Problem, cells: int, read: Read) -> Bracket:
    """The bounds of both profiles, on a grid where the largest epsilon has so many cells."""
    step, parts = problem.on_grid(cells, upwards=True)
    grid = Grid.on(step, problem.delta, cells)
    masses = [(law.upper, n) for law, n in grid.pairs(parts)]
    upper = upper_profile(grid, masses, ranges_of(parts))
    step, parts = problem.on_grid(cells, upwards=False)
    grid = Grid.on(step, problem.delta, cells)
    pairs = grid.pairs(parts)
    shift = sum((law.shift * n for law, n in pairs), Fraction(0))
    whole = grid.product(((law.lower, n) for law, n in pairs), upper=False)

    def lowest(profile: Profile) -> Fraction:
        return read(profile, shift)

    lower = lower_value(grid, whole, ranges_of(parts), lowest)
    return Bracket(max(Fraction(0), lower), read(upper, Fraction(0)))


def dominating_masses(parts: Sequence[tuple[Part, int]], step: Fraction, delta: Fraction) -> Masses:
    """One fixed pair that dominates all parts together, on multiples of a step.

    It may be composed with any further guarantees (`docs/mathematics.md`, Lemma 14.4).

    Args:
        delta: what is cut off is far less than this.
    """
    problem = Problem.of(parts, delta, Fraction(1))
    grid = Grid.on(step, delta)
    masses = [(law.upper, n) for law, n in grid.pairs(problem.above)]
    for epsilon, count in ranges_of(problem.above):
        masses += range_masses(grid, epsilon, count)
    return grid.product(masses, upper=True)


def quick_epsilon(
    part: BoundedRange | LaplaceDominated, count: int, delta: Fraction
) -> Fraction | None:
    """An epsilon for equal parts in a few milliseconds: the upper bound alone, on a coarse grid.

    Some thousandths above the optimum for tens of parts, some hundredths for thousands, and the
    same on every machine, whoever asks.

    Returns:
        None where no bound is found so quickly.
    """
    listed = [(part, count)]
    most = min(count * part.epsilon, bun_steinke_epsilon(count * part.zcdp.rho, delta))
    if not worth_trying(listed, delta, most):
        return None
    problem, cells, blocks = Problem.of(listed, delta, most), _FIRST, 1
    if isinstance(part, BoundedRange):
        blocks = -(-count // min(_QUICK_BLOCK + count // 20, _QUICK_LONGEST))
    block = -(-count // blocks)
    while cells > _QUICK_CELLS and _quick_work(problem, block, cells) > 1:
        cells -= 2
    while cells and 3 * most / problem.step(cells) > _QUICK_PLACES:
        cells //= 2
    if cells < _LEAST_CELLS:
        return None
    grid = Grid.of(problem, cells).for_upper(block)
    masses = [(law.upper, n) for law, n in grid.pairs(problem.above)]
    return upper_profile(grid, masses, ranges_of(problem.above)).epsilon(delta)


def _quick_work(problem: Problem, block: int, cells: int) -> Fraction:
    """Of the longest row that is followed range by range."""
    step, tail = problem.step(cells), problem.delta / (1 << CUT)
    rows = [(e, min(n, block)) for e, n in ranges_of(problem.above)]
    return sum((n * reach(e, n, tail) / step * cells for e, n in rows), Fraction(0)) / _QUICK_ROWS
