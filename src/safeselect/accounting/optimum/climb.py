"""The largest value over all offsets of one mechanism of bounded range, bounded from above.

This file uses floats, by the rules of `safeselect.accounting.optimum.backward`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from safeselect.exact.interval import Interval

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

MARGIN = 44
"""A value is moved by this many bits below its own size: roundings are below 2**-48 of it."""

_DOWN, _UP = 1 - np.ldexp(1, -MARGIN), 1 + np.ldexp(1, -MARGIN - 4)
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
    whole, one = -_value(-step * cells).expm1(), Interval.of(1, 96)
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
        halved=_float(one / (one + _value(-step).exp())),
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
    high, ends = _all_bounds(raised, tables, length, offsets, level)
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


def _all_bounds(
    values: Floats, tables: Tables, length: int, offsets: Places, level: int
) -> tuple[Floats, Floats]:
    """At all places, for cells that begin at these offsets: bounds, and the larger ends."""
    places, at = np.divmod(np.arange(length * len(offsets)), len(offsets))
    high, ends = _bounds(values, tables, places, offsets[at], level)
    return high.reshape(length, -1), ends.reshape(length, -1)


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
    fall: Floats = high * _UP - low
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
    dents = np.maximum(values[1:-1] * _UP - middle, 0)
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
