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

_SMALLEST = np.ldexp(1, -1000)  # values are moved by this as well, below which floats lose digits
_UP, _DOWN = 1 + np.ldexp(1, -MARGIN), 1 - np.ldexp(1, -MARGIN)
_MORE, _LESS = 1 + np.ldexp(1, -MARGIN - 4), 1 - np.ldexp(1, -MARGIN - 4)  # for a value below zero


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
def row(step: Fraction, cells: int, count: int, most: int) -> Curve:
    """The same before nothing else.  Both sides of a bracket ask for it."""
    return backward(start(step), cells, count, most)


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
    higher, best = climb(above, tables, last + 1, offsets_too=not upper_only)
    higher *= _UP
    higher += _SMALLEST
    upper = np.minimum(higher, 1, out=higher)
    if upper_only:
        return Curve(curve.step, upper, curve.lower)
    below = _extended(curve.lower, tables, last, level=False)
    lower = np.maximum(*(_at(below, tables, best + more) for more in (0, 1)))
    return Curve(curve.step, upper, lower * _DOWN)


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
    cells = tables.cells
    whole = np.empty(last + 2 * cells + 1)
    known = whole[cells:]
    known[: len(values)] = values[: len(known)]
    known[len(values) :] = values[-1] if level else 0
    mirrored = tables.small[1:] * known[1 : cells + 1]
    mirrored += tables.rest[1:]
    mirrored *= _MORE if level else _LESS
    whole[:cells] = mirrored[::-1]
    return whole


def _at(values: Floats, tables: Tables, offsets: Places) -> Floats:
    """The value at each place for an offset of so many steps."""
    places = np.arange(len(offsets)) + tables.cells
    reached: Floats = (
        tables.first[offsets] * values[places - offsets]
        + tables.second[offsets] * values[places - offsets + tables.cells]
    )
    return reached
