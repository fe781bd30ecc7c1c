"""The adaptive optimum of bounded ranges, one mechanism after the other, bounded from both sides.

Let f(x), x = e**s, be the largest hockey-stick divergence of the mechanisms still to come.  One
more mechanism of bounded range epsilon before them turns it into

    T f(x) = max over t in [0, epsilon] of p f(x e**-t) + (1 - p) f(x e**(epsilon - t)),
    p = (1 - e**(t - epsilon)) / (1 - e**-epsilon)

(`docs/mathematics.md`, section 14).  Here f is known at multiples of a step.  The upper bound
replaces f by its chords in x.  The lower bound takes t at multiples of the step only, so an
adversary reaches it.

This is the one place of the accounting that uses floats.  All terms are nonnegative, and all
operations are +, -, * and comparisons of IEEE 754, the same on every machine.  Each value is then
moved away from the truth, by more than all roundings together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from safeselect.accounting.optimum.climb import MARGIN, Floats, Places, Tables, climb, tables_of

_SMALLEST = 1000  # values are moved by 2**-1000 as well, below which floats lose digits


@dataclass(frozen=True, slots=True)
class Curve:
    """Bounds on a profile at 0, 1, 2, ... steps of the logarithm.

    Below zero f(-s) = 1 - e**-s + e**-s f(s), because the guarantee is symmetric.  Beyond the last
    place `upper` keeps its last value, and `lower` is 0.

    Attributes:
        step: between two places, rational.
        upper, lower: float64, of one length; `upper` bounds the profile at the places, and the
            chords between them, in x, bound it everywhere.
    """

    step: Fraction
    upper: Floats
    lower: Floats


def start(step: Fraction) -> Curve:
    """The curve without any mechanism to come: (1 - x)+, which is 0 at s = 0."""
    return Curve(step, np.zeros(1), np.zeros(1))


def backward(curve: Curve, cells: int, count: int, most: int, *, upper_only: bool = False) -> Curve:
    """The curve with `count` mechanisms of bounded range `cells` steps before it.

    Args:
        curve: that of the mechanisms after them.
        cells: the range in steps, at least 1.
        count: how many.
        most: places kept.  Beyond, the upper bound stays level and the lower one is 0.
        upper_only: leave the lower bound out: it is 0.
    """
    tables = tables_of(curve.step, cells)
    for _ in range(count):
        curve = _one_more(curve, tables, most, upper_only=upper_only)
    return curve


@lru_cache(maxsize=2)
def row(step: Fraction, cells: int, count: int, most: int, *, upper_only: bool = False) -> Curve:
    """The same before nothing else.  Both sides of a bracket ask for it."""
    return backward(start(step), cells, count, most, upper_only=upper_only)


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
                    found = _one_more(curve, tables[kind], most)
                    known = following.get(more)
                    following[more] = found if known is None else _larger(known, found)
        level = following
    (curve,) = level.values()
    return curve


def _one_more(curve: Curve, tables: Tables, most: int, *, upper_only: bool = False) -> Curve:
    last = min(most, len(curve.upper) - 1 + tables.cells)
    above = _extended(curve.upper, tables, last, level=True)
    higher, best = climb(above, tables, last + 1)
    upper = np.minimum(higher * (1 + np.ldexp(1, -MARGIN)) + np.ldexp(1, -_SMALLEST), 1)
    if upper_only:
        return Curve(curve.step, upper, curve.lower)
    below = _extended(curve.lower, tables, last, level=False)
    lower = np.maximum(*(_at(below, tables, best + more) for more in (0, 1)))
    return Curve(curve.step, upper, lower * (1 - np.ldexp(1, -MARGIN)))


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


def _extended(values: Floats, tables: Tables, last: int, *, level: bool) -> Floats:
    """The values at -cells .. last + cells; beyond the last place the last value, or zero."""
    beyond = last + 2 * tables.cells + 1 - len(values)
    edge = values[-1] if level else np.zeros(())
    known = np.concatenate([values, np.full(beyond, edge)])
    ours = known[1 : tables.cells + 1]
    mirrored = tables.rest[1:] + tables.small[1:] * ours
    sign = 1 if level else -1
    mirrored = mirrored * (1 + sign * np.ldexp(1, -MARGIN - 4))
    return np.concatenate([mirrored[::-1], known[: last + tables.cells + 1]])


def _at(values: Floats, tables: Tables, offsets: Places) -> Floats:
    """The value at each place for an offset of so many steps."""
    places = np.arange(len(offsets)) + tables.cells
    reached: Floats = (
        tables.first[offsets] * values[places - offsets]
        + tables.second[offsets] * values[places - offsets + tables.cells]
    )
    return reached
