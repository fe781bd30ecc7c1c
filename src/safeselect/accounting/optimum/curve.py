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
import numpy.typing as npt

from safeselect.accounting.optimum import MARGIN, ROUNDED, SMALLEST
from safeselect.exact.interval import Interval

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_SMALLEST = np.ldexp(1, -SMALLEST)
_UP, _DOWN = 1 + np.ldexp(1, -MARGIN), 1 - np.ldexp(1, -MARGIN)
_MORE, _LESS = 1 + np.ldexp(1, -ROUNDED), 1 - np.ldexp(1, -ROUNDED)  # for a value below zero
_EIGHTH = np.ldexp(1, -3)
_BLOCKS = 64  # cells up to which each is looked at; of more, blocks, of which the best are halved
_FIRST = 16  # such blocks at first
_ENOUGH = 2**13  # numbers at a time, so that they stay near the processor


@dataclass(frozen=True, slots=True)
class Tables:
    """Constants of a range, each within 2**-52 of its own size.

    Attributes:
        cells: the range in steps.
        first, second: p and 1 - p at t = 0, 1, ... steps.
        small: e**-s at 0, 1, ... steps; `rest` is 1 - e**-s.
        shrunk: e**-epsilon.
        bends: for w = 1, 2, 4, ... the factor e**w (e**w - 1) / (1 - e**-epsilon).
        step: rounded to a float, for the bound on how far chords of chords may be off.
    """

    cells: int
    first: Floats
    second: Floats
    small: Floats
    rest: Floats
    shrunk: float
    bends: tuple[float, ...]
    widest: float
    halved: float


@lru_cache(maxsize=32)
def tables_of(step: Fraction, cells: int) -> Tables:
    whole = -_value(-step * cells).expm1()
    shrunk = _value(-step * cells).exp()
    bends = []
    for doublings in range(cells.bit_length()):
        grown = _value(step * 2**doublings)
        bends.append(_float(grown.exp() * grown.expm1() / whole))
    places = range(cells + 1)
    return Tables(
        cells=cells,
        first=_floats([-_value(step * (m - cells)).expm1() / whole for m in places]),
        second=_floats([_value(step * m).expm1() * shrunk / whole for m in places]),
        small=_floats([_value(-step * m).exp() for m in places]),
        rest=_floats([-_value(-step * m).expm1() for m in places]),
        shrunk=_float(shrunk),
        bends=tuple(bends),
        widest=_float(_value(step * cells).exp()),
        halved=_float(1 / (1 + _value(-step).exp())),
    )


def _value(number: Fraction) -> Interval:
    return Interval.of(number, 96)


def _float(value: Interval) -> float:
    # By way of a fraction: an MPFR number would be rounded as the thread's context says.
    return float(value.fractions()[1])


def _floats(values: list[Interval]) -> Floats:
    return np.array([_float(value) for value in values], np.float64)


def climb(
    values: Floats, tables: Tables, length: int, *, offsets_too: bool = True
) -> tuple[Floats, Places]:
    """An upper bound on the largest value over all offsets, and the cell where it was found.

    Over a cell of offsets, with u = e**t and chords of f, the objective is C + A u + B / u.  It is
    at most the chord of its ends plus K v (1 - v), where K is half its largest bend.  With D the
    difference of the ends, it is at most the larger end plus max(K - D, 2 K - 3 D, 0) / 8.  Where
    there are many, wide cells come first.  One with a bound below a value found elsewhere is
    dropped; the others are halved.

    Args:
        offsets_too: whether the second result is wanted, which takes time.
    """
    if tables.cells <= _BLOCKS:
        return _all_cells(values, tables, length, offsets_too=offsets_too)
    level = (-(-tables.cells // _FIRST) - 1).bit_length()
    dents = _dents(values, tables)
    raised = _raised(values, dents, tables, level)
    offsets = np.arange(0, tables.cells, 2**level)
    offsets = np.minimum(offsets, tables.cells - 2**level)
    places, at = np.divmod(np.arange(length * len(offsets)), len(offsets))
    bounds = _bounds(raised, tables, places, offsets[at], level)
    high, ends = (each.reshape(length, -1) for each in bounds)
    best = ends.max(axis=1)
    best = best * _DOWN - _most_raised(values, raised, length, tables)
    places, kept = np.nonzero(high >= best[:, np.newaxis])
    offsets = offsets[kept]
    while level:
        level -= 1
        places, offsets = np.repeat(places, 2), np.repeat(offsets, 2)
        offsets[1::2] += 2**level
        raised = _raised(values, dents, tables, level)
        high, reached = _bounds(raised, tables, places, offsets, level)
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        tops = np.maximum.reduceat(reached, begins) * _DOWN
        best = np.maximum(best, tops - _most_raised(values, raised, length, tables))
        if level:
            kept = high >= best[places]
            places, offsets = places[kept], offsets[kept]
    tops = np.maximum.reduceat(high, begins)
    where = np.flatnonzero(high >= tops[places])
    firsts = np.flatnonzero(np.diff(places[where], prepend=-1))
    return tops, offsets[where[firsts]]


def _all_cells(
    values: Floats, tables: Tables, length: int, *, offsets_too: bool
) -> tuple[Floats, Places]:
    """The same where every cell is looked at, for some places at a time."""
    tops, found = np.empty(length), np.zeros(length, np.intp)
    rows = min(length, -(-_ENOUGH // tables.cells))
    last = tables.cells - 1
    # The bend depends on the place less the offset alone; rounded up as in `_bounds`.
    bends = tables.bends[0] * _falls(values[:-1], values[1:])
    bends = bends[: -tables.cells] - tables.bends[0] * tables.shrunk * -np.diff(values)[last + 1 :]
    for first in range(0, length, rows):
        count = min(rows, length - first)
        near, far = (
            _windows(values, first + start, count, tables.cells) for start in (0, tables.cells)
        )
        ends = tables.first[:, np.newaxis] * near
        ends += tables.second[:, np.newaxis] * far
        high, _ = _bounded(ends[:-1], ends[1:], _windows(bends, first, count, last))
        high.max(axis=0, out=tops[first : first + count])
        if offsets_too:
            high.argmax(axis=0, out=found[first : first + count])
    return tops, found


def _windows(values: Floats, start: int, length: int, cells: int) -> Floats:
    """Column i: values[start + i + cells], ..., values[start + i]; a view.

    By hand, as numpy's own way takes longer than the sums for which it is asked a thousand times.

    Requires: start + length + cells <= len(values).
    """
    (stride,) = values.strides
    return np.ndarray(
        (cells + 1, length), values.dtype, values, (start + cells) * stride, (-stride, stride)
    )


def _bounds(
    values: Floats, tables: Tables, places: Places, offsets: Places, level: int
) -> tuple[Floats, Floats]:
    """The same for pairs of a place and an offset."""
    width = 2**level
    at = places - offsets + tables.cells
    first, second = values[at], values[at - width]
    third, fourth = values[at + tables.cells], values[at + tables.cells - width]
    ends = tables.first[offsets] * first + tables.second[offsets] * third
    others = tables.first[offsets + width] * second + tables.second[offsets + width] * fourth
    bend = _falls(second, first) - tables.shrunk * (fourth - third)
    return _bounded(ends, others, tables.bends[level] * bend)


def _falls(high: Floats, low: Floats) -> Floats:
    """Rounded up: the difference may have lost a bit of the larger term."""
    fall: Floats = high * _MORE - low
    return fall


def _bounded(ends: Floats, others: Floats, bend: Floats) -> tuple[Floats, Floats]:
    """(the bound over each cell, its larger end)."""
    # The top of the parabola is (bend - apart)**2 / (4 bend) higher; here are two of its chords,
    # max(bend - apart, 2 bend - 3 apart) / 8, where that is positive.
    larger = np.maximum(ends, others)
    apart = ends - others
    np.abs(apart, out=apart)
    above = bend - apart
    apart *= -1
    apart += above
    np.maximum(apart, 0, out=apart)
    above += apart
    above *= _EIGHTH
    np.maximum(above, 0, out=above)
    above += larger
    return above, larger


def _dents(values: Floats, tables: Tables) -> Floats:
    """By how much the values fail to be convex in x, at each place or later."""
    near = tables.small[1]
    middle = (values[:-2] + near * values[2:]) * tables.halved
    dents = np.maximum(values[1:-1] * _MORE - middle, 0)
    dents = np.concatenate([np.zeros(1), dents, np.zeros(1)])
    largest: Floats = np.maximum.accumulate(dents[::-1])[::-1]
    return largest


def _raised(values: Floats, dents: Floats, tables: Tables, level: int) -> Floats:
    """Values such that their chords over cells of this width bound the finer chords.

    A dent of d at one place lifts the finer chords above the wide one by at most 2 w e**w d.  Fewer
    than w dents lie below a wide chord.
    """
    width = 2**level
    if width == 1:
        return values
    earlier = np.concatenate([np.full(width, dents[0]), dents[:-width]])
    raised: Floats = values + earlier * (2 * width * width * tables.widest)
    return raised


def _most_raised(values: Floats, raised: Floats, length: int, tables: Tables) -> Floats:
    """The largest part of an end that may be due to raising; it falls with the place."""
    return (raised - values)[:length]


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
        curve = one_more(curve, tables, most, upper_only=upper_only)
    return curve


@lru_cache(maxsize=2)
def row(step: Fraction, cells: int, count: int, most: int) -> Curve:
    """The same before nothing else.  Both sides of a bracket ask for it."""
    return backward(start(step), cells, count, most)


def one_more(curve: Curve, tables: Tables, most: int, *, upper_only: bool = False) -> Curve:
    """The curve with one mechanism of a range before it."""
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
