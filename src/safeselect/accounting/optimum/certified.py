"""The same optimum bounded from below too, and both bounds brought near each other.

A lower bound shows how little a better theorem could gain; no release rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from safeselect.accounting.optimum import LOOSE
from safeselect.accounting.optimum.bracket import Profile, cell
from safeselect.accounting.optimum.curve import Curve, Floats, one_more, start, tables_of
from safeselect.accounting.optimum.fixed import pairs_above, pairs_below, spread
from safeselect.accounting.optimum.pairs import Masses, power
from safeselect.accounting.optimum.problem import MOST_WORK, ROW, Part, Problem, ranges_of
from safeselect.accounting.optimum.upper import FIRST, Grid, range_masses, upper_profile
from safeselect.exact.interval import Interval, rounded_down

_SHARES = 64  # of a range, as offsets of adversaries that do not adapt


def lower_value(
    grid: Grid,
    whole: Masses,
    ranges: list[tuple[Fraction, int]],
    read: Callable[[Profile], Fraction],
) -> Fraction:
    step = grid.step
    kept = sorted(((e // step, n) for e, n in ranges if e >= step), reverse=True)
    curve = together(grid, [(cells * step, n) for cells, n in kept]) if len(kept) > 1 else None
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


def together(grid: Grid, ranges: list[tuple[Fraction, int]]) -> Curve | None:
    """The optimum of ranges in every order, where they are few and multiples of the step."""
    states = prod(count + 1 for _, count in ranges)
    if any(epsilon % grid.step for epsilon, _ in ranges):
        return None
    most = -(-grid.reach_of(ranges) // grid.step)
    if states > ROW or states * len(ranges) * most > MOST_WORK:
        return None
    return interleaved(grid.step, tuple(sorted((int(e // grid.step), n) for e, n in ranges)), most)


@lru_cache(maxsize=2)
def interleaved(step: Fraction, ranges: tuple[tuple[int, int], ...], most: int) -> Curve:
    """The optimum of mechanisms of several ranges, in an order chosen adaptively.

    With i_a of each range left, it is the largest over a of one step of range a before the optimum
    with one less of it.

    Args:
        step: of the curve.
        ranges: (in steps, how many).
        most: as for `backward`.
    """
    tables = [tables_of(step, cells) for cells, _ in ranges]
    level = {(0,) * len(ranges): start(step)}
    for _ in range(sum(count for _, count in ranges)):
        following: dict[tuple[int, ...], Curve] = {}
        for used, curve in level.items():
            for kind, (_, count) in enumerate(ranges):
                if used[kind] < count:
                    more = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                    found = one_more(curve, tables[kind], most)
                    known = following.get(more)
                    following[more] = found if known is None else _larger(known, found)
        level = following
    (curve,) = level.values()
    return curve


def _larger(one: Curve, other: Curve) -> Curve:
    """The larger at each place, of both bounds."""
    length = max(len(one.upper), len(other.upper))

    def filled(values: Floats, edge: Floats) -> Floats:
        return np.concatenate([values, np.full(length - len(values), edge)])

    zero = np.zeros(())
    return Curve(
        one.step,
        np.maximum(*(filled(c.upper, c.upper[-1]) for c in (one, other))),
        np.maximum(*(filled(c.lower, zero) for c in (one, other))),
    )


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
        share = max(found, key=found.__getitem__)
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
    both = Masses(0, [max(0, x.scaled(bits)[0]) for x in (1 - first, first)], 0, bits, False)
    powered = power(both, count, grid.lost)
    wide = spread(powered, cells)
    return replace(wide, first=wide.first + count * (offset - cells))


Read = Callable[[Profile, Fraction], Fraction]
"""Reads a bound off a profile; the losses of that profile may be too large by a shift."""

_MOST_ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two bounds on the least epsilon at a delta.

    Attributes:
        lower: no smaller epsilon is possible for such guarantees.
        upper: this one holds.
    """

    lower: Fraction
    upper: Fraction


def least_epsilon(problem: Problem, precision: Fraction) -> Bracket:
    """Bounds on the least epsilon at the problem's delta.

    As narrow as `precision`, relatively, or as narrow as a bounded amount of work makes them.
    """
    delta = problem.delta
    return _narrowed(
        problem, precision, problem.most, lambda p, shift: epsilon_of(p, delta) - shift
    )


def least_delta(problem: Problem, epsilon: Fraction, precision: Fraction) -> Bracket:
    """The same for the least delta at an epsilon; the problem's delta is enough at it."""
    return _narrowed(problem, precision, problem.delta, lambda p, more: delta_of(p, epsilon + more))


def epsilon_of(profile: Profile, delta: Fraction) -> Fraction:
    """Of an upper profile what it says; of a lower one where delta is surely more, rounded down."""
    if profile.masses.upper:
        return profile.epsilon(delta)
    goal = profile.goal(delta)
    if profile.at(0) <= goal:
        return Fraction(0)
    return _below(profile, profile.last_above(goal), goal + 1)


def delta_of(profile: Profile, epsilon: Fraction) -> Fraction:
    """Of an upper profile: the chord at epsilon, rounded up.

    Of a lower profile: less than the profile, or 0.
    """
    bits = profile.masses.bits
    place = epsilon // profile.step
    here, there = profile.at(place), profile.at(place + 1)
    low, high = profile.share(epsilon)
    if profile.masses.upper:
        return min(Fraction(1), Fraction(here - ((here - there) * low >> bits), 1 << bits))
    # On the lines through two places to one side, as in `_below`; a cell to the left is
    # shorter by the ratio, one to the right longer.
    ratio = Interval.of(profile.step, bits).exp().scaled(bits)[1]
    before, after = _a_little_more(profile, place - 1), _a_little_more(profile, place + 2)
    left = here - ((before - here) * high * ratio >> 2 * bits) - 1 if place else 0
    right = there + (max(0, there - after) * ((1 << bits) - high) // ratio) if there else 0
    return Fraction(max(0, there, left, right), 1 << bits)


def _below(profile: Profile, low: int, goal: int) -> Fraction:
    """Where the lines through two places, extended, meet the goal.

    Outside these places a convex function lies above each line.
    """
    before, here = _a_little_more(profile, low - 1), profile.at(low)
    there, after = profile.at(low + 1), _a_little_more(profile, low + 2)
    found = [profile.step * low]
    if low and here >= goal:
        share = min(Fraction(1), Fraction(here - goal, max(1, before - here)))
        found.append(_moved(profile, low, share, -1))
    if there > after and there <= goal:
        share = Fraction(goal - there, there - after)
        found.append(_moved(profile, low + 1, -share, 1))
    return max(Fraction(0), *(min(f, profile.step * (low + 1)) for f in found))


def _a_little_more(profile: Profile, place: int) -> int:
    """An upper bound on a lower profile; its roundings are far smaller than the bound."""
    value = profile.at(place) if place >= 0 else 1 << profile.masses.bits
    return value + (value >> LOOSE) + 1


def _moved(profile: Profile, place: int, share: Fraction, side: int) -> Fraction:
    """place * step + ln(1 + share * the cell to one side), where that is possible."""

    def moved(precision: int) -> Interval:
        whole = cell(side * profile.step, precision) * side
        return profile.step * place + (1 + share * whole).log()

    if share < 0 and not moved(128).bounded:
        return Fraction(0)
    return rounded_down(moved)


def _narrowed(problem: Problem, precision: Fraction, most: Fraction, read: Read) -> Bracket:
    cells, best = FIRST, Bracket(Fraction(0), most)
    while problem.work(cells) > 1 and cells > 1:
        cells //= 2
    last_gap = 4 * most
    for _ in range(_MOST_ROUNDS):
        found = bracket(problem, cells, read)
        if found.lower > found.upper:
            # One of the two bounds is wrong, and it is unknown which one: refuse to answer.
            raise RuntimeError("bug in safeselect: please report it with the arguments you passed")
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
    grid = Grid.on(step, problem.delta, cells, len(parts))
    ranges = ranges_of(parts)
    last = together(grid, ranges) if len(ranges) > 1 else None
    upper = upper_profile(grid, pairs_above(parts, grid), ranges, last)
    step, parts = problem.on_grid(cells, upwards=False)
    grid = Grid.on(step, problem.delta, cells, len(parts))
    pairs, shift = pairs_below(parts, grid)
    whole = grid.product(pairs, upper=False)

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
    masses = pairs_above(problem.above, grid)
    for epsilon, count in ranges_of(problem.above):
        masses += range_masses(grid, epsilon, count)
    return grid.product(masses, upper=True)
