"""The adaptive optimum of bounded ranges, one mechanism after the other, bounded from both sides.

Let f(x), x = e**s, be the largest hockey-stick divergence of what is still to come.  One more
mechanism of bounded range epsilon, before it, makes of it

    T f(x) = max over t in [0, epsilon] of p f(x e**-t) + (1 - p) f(x e**(epsilon - t)),
    p = (1 - e**(t - epsilon)) / (1 - e**-epsilon)

(`docs/mathematics.md`, section 14).  Here f is known at multiples of a step.  Above, it is replaced
by its chords in x; below, t is a multiple of the step too, so that an adversary does what is said.

The one place of the accounts where floats are used: all terms are nonnegative and all operations
are +, -, * and comparisons of IEEE 754, the same on every machine; each value is then moved by
more than all roundings together, away from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from safeselect.exact import Interval

__all__ = ["Curve", "backward", "interleaved", "start"]

_Floats = npt.NDArray[np.float64]
_Places = npt.NDArray[np.intp]

_MARGIN = 44  # a value is moved by this many bits below its own size: roundings are below 2**-48
_SMALLEST = 1000  # and by 2**-1000, below which floats lose digits
_BLOCKS = 64  # of offsets t that are looked at first; the best are halved


@dataclass(frozen=True, slots=True)
class Curve:
    """Bounds on a profile at 0, 1, 2, ... steps of the logarithm.

    Below zero f(-s) = 1 - e**-s + e**-s f(s), as the guarantee is symmetric.  Beyond the last place
    `upper` stays what it is there, and `lower` is 0.

    Attributes:
        step: between two places, rational.
        upper, lower: float64, of one length; `upper` bounds the profile at the places, and the
            chords between them, in x, bound it everywhere.
    """

    step: Fraction
    upper: _Floats
    lower: _Floats


def start(step: Fraction) -> Curve:
    """Nothing is to come: (1 - x)+, which is 0 at s = 0."""
    return Curve(step, np.zeros(1), np.zeros(1))


def backward(curve: Curve, cells: int, count: int, most: int) -> Curve:
    """The curve with `count` mechanisms of bounded range `cells` steps before it.

    Args:
        curve: of what comes after them.
        cells: the range in steps, at least 1.
        count: how many.
        most: places kept.  Beyond, the upper bound stays level and the lower one is 0.
    """
    tables = _tables(curve.step, cells)
    for _ in range(count):
        curve = _one_more(curve, tables, most)
    return curve


def interleaved(step: Fraction, ranges: Sequence[tuple[int, int]], most: int) -> Curve:
    """The optimum of mechanisms of several ranges in any order, chosen while they go on.

    With i_a of each range left, it is the largest over a of one step of range a before the optimum
    with one less of it.

    Args:
        step: of the curve.
        ranges: (in steps, how many).
        most: as for `backward`.
    """
    tables = [_tables(step, cells) for cells, _ in ranges]
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


def _one_more(curve: Curve, tables: _Tables, most: int) -> Curve:
    last = min(most, len(curve.upper) - 1 + tables.cells)
    above = _extended(curve.upper, tables, last, level=True)
    higher, best = _climb(above, tables, last + 1)
    below = _extended(curve.lower, tables, last, level=False)
    lower = np.maximum(*(_at(below, tables, best + more) for more in (0, 1)))
    return Curve(
        curve.step,
        np.minimum(higher * (1 + np.ldexp(1, -_MARGIN)) + np.ldexp(1, -_SMALLEST), 1),
        lower * (1 - np.ldexp(1, -_MARGIN)),
    )


def _larger(one: Curve, other: Curve) -> Curve:
    """The larger at each place, of both bounds."""
    length = max(len(one.upper), len(other.upper))

    def filled(values: _Floats, edge: _Floats) -> _Floats:
        return np.concatenate([values, np.full(length - len(values), edge)])

    zero = np.zeros(())
    return Curve(
        one.step,
        np.maximum(*(filled(c.upper, c.upper[-1]) for c in (one, other))),
        np.maximum(*(filled(c.lower, zero) for c in (one, other))),
    )


# ------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class _Tables:
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
    first: _Floats
    second: _Floats
    small: _Floats
    rest: _Floats
    shrunk: float
    bends: tuple[float, ...]
    widest: float
    halved: float


@lru_cache(maxsize=32)
def _tables(step: Fraction, cells: int) -> _Tables:
    whole, one = -_value(-step * cells).expm1(), Interval.of(1, 96)
    shrunk = _value(-step * cells).exp()
    bends = []
    for doublings in range(cells.bit_length()):
        grown = _value(step * 2**doublings)
        bends.append(_float(grown.exp() * grown.expm1() / whole))
    places = range(cells + 1)
    return _Tables(
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
    return float(value.upper)


def _floats(values: list[Interval]) -> _Floats:
    return np.array([_float(value) for value in values])


# ---------------------------------------------------------------------------------------- steps


def _extended(values: _Floats, tables: _Tables, last: int, *, level: bool) -> _Floats:
    """The values at -cells .. last + cells; what is not known is `level` or zero."""
    beyond = last + 2 * tables.cells + 1 - len(values)
    edge = values[-1] if level else np.zeros(())
    known = np.concatenate([values, np.full(beyond, edge)])
    ours = known[1 : tables.cells + 1]
    mirrored = tables.rest[1:] + tables.small[1:] * ours
    sign = 1 if level else -1
    mirrored = mirrored * (1 + sign * np.ldexp(1, -_MARGIN - 4))
    return np.concatenate([mirrored[::-1], known[: last + tables.cells + 1]])


def _at(values: _Floats, tables: _Tables, offsets: _Places) -> _Floats:
    """What an offset of so many steps gives, at each place."""
    places = np.arange(len(offsets)) + tables.cells
    return (
        tables.first[offsets] * values[places - offsets]
        + tables.second[offsets] * values[places - offsets + tables.cells]
    )


def _climb(values: _Floats, tables: _Tables, length: int) -> tuple[_Floats, _Places]:
    """An upper bound on the largest value over all offsets, and the cell where it was found.

    Over a cell of offsets of width w, with u = e**t and chords of f, the objective is C + A u + B/u:
    at most the chord of its ends plus K v (1 - v), K half its largest bend.  So it is at most the
    larger end plus (K - |difference of the ends|) / 4.  Wide cells come first; a cell whose bound
    is below a value found elsewhere is dropped, the others are halved.
    """
    level = max(0, -(-tables.cells // _BLOCKS) - 1).bit_length()
    dents = _dents(values, tables) if level else values
    raised = _raised(values, dents, tables, level)
    offsets = np.arange(0, tables.cells, 2**level)
    offsets = np.minimum(offsets, tables.cells - 2**level)
    high, ends = _all_bounds(raised, tables, length, offsets, level)
    if not level:
        cells = high.argmax(axis=1)
        return high[np.arange(length), cells], cells
    best = ends.max(axis=1)
    best = best * (1 - np.ldexp(1, -_MARGIN)) - _most_raised(values, raised, length, tables)
    places, kept = np.nonzero(high >= best[:, np.newaxis])
    offsets = offsets[kept]
    while level:
        level -= 1
        places, offsets = np.repeat(places, 2), np.repeat(offsets, 2)
        offsets[1::2] += 2**level
        raised = _raised(values, dents, tables, level)
        high, reached = _bounds(raised, tables, places, offsets, level)
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        tops = np.maximum.reduceat(reached, begins) * (1 - np.ldexp(1, -_MARGIN))
        best = np.maximum(best, tops - _most_raised(values, raised, length, tables))
        if level:
            kept = high >= best[places]
            places, offsets = places[kept], offsets[kept]
    tops = np.maximum.reduceat(high, begins)
    where = np.flatnonzero(high >= tops[places])
    firsts = np.flatnonzero(np.diff(places[where], prepend=-1))
    return tops, offsets[where[firsts]]


def _all_bounds(
    values: _Floats, tables: _Tables, length: int, offsets: _Places, level: int
) -> tuple[_Floats, _Floats]:
    """At all places, for cells that begin at these offsets: bounds, and the larger ends."""
    width = 2**level
    windows = sliding_window_view(values, tables.cells + 1)[:, ::-1]
    near, far = windows[:length], windows[tables.cells : tables.cells + length]
    at = offsets
    if width == 1:
        ends = tables.first * near + tables.second * far
        ends, others = ends[:, :-1], ends[:, 1:]
        first, second, third, fourth = near[:, :-1], near[:, 1:], far[:, :-1], far[:, 1:]
    else:
        first, second, third, fourth = (
            side[:, at + more] for side in (near, far) for more in (0, width)
        )
        ends = tables.first[at] * first + tables.second[at] * third
        others = tables.first[at + width] * second + tables.second[at + width] * fourth
    return _bounded(ends, others, first, second, third, fourth, tables, level)


def _bounds(
    values: _Floats, tables: _Tables, places: _Places, offsets: _Places, level: int
) -> tuple[_Floats, _Floats]:
    """The same for pairs of a place and an offset."""
    width = 2**level
    at = places - offsets + tables.cells
    first, second = values[at], values[at - width]
    third, fourth = values[at + tables.cells], values[at + tables.cells - width]
    ends = tables.first[offsets] * first + tables.second[offsets] * third
    others = tables.first[offsets + width] * second + tables.second[offsets + width] * fourth
    return _bounded(ends, others, first, second, third, fourth, tables, level)


def _bounded(
    ends: _Floats,
    others: _Floats,
    first: _Floats,
    second: _Floats,
    third: _Floats,
    fourth: _Floats,
    tables: _Tables,
    level: int,
) -> tuple[_Floats, _Floats]:
    """(the bound over each cell, its larger end); f falls from `second` to `first`, and so on."""
    larger = np.maximum(ends, others)
    # Rounded up: the differences may have lost a bit of the larger term.
    falls = second * (1 + np.ldexp(1, -_MARGIN - 4)) - first - tables.shrunk * (fourth - third)
    bend = tables.bends[level] * falls - np.abs(ends - others)
    return larger + np.maximum(bend, 0) * np.ldexp(1, -2), larger


def _dents(values: _Floats, tables: _Tables) -> _Floats:
    """By how much the values fail to be convex in x, at each place or later."""
    near = tables.small[1]
    middle = (values[:-2] + near * values[2:]) * tables.halved
    dents = np.maximum(values[1:-1] * (1 + np.ldexp(1, -_MARGIN - 4)) - middle, 0)
    dents = np.concatenate([np.zeros(1), dents, np.zeros(1)])
    return np.maximum.accumulate(dents[::-1])[::-1]


def _raised(values: _Floats, dents: _Floats, tables: _Tables, level: int) -> _Floats:
    """Values whose chords over cells of this width bound the finer chords.

    A dent of d at one place lifts the finer chords above the wide one by at most 2 w e**w d; there
    are fewer than w of them below it.
    """
    width = 2**level
    if width == 1:
        return values
    earlier = np.concatenate([np.full(width, dents[0]), dents[:-width]])
    return values + earlier * (2 * width * width * tables.widest)


def _most_raised(
    values: _Floats, raised: _Floats, length: int, tables: _Tables
) -> _Floats:
    """How much of an end may be due to what was added; it falls with the place."""
    return (raised - values)[:length]
