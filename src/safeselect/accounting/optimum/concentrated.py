"""The profile of zCDP, from above: the convex envelope of what each Rényi order bounds.

Order a = 1 + x of rho-zCDP gives delta(s) <= e**(x (a rho - s)) x**x / a**a.  The least of them,
made convex in e**s, bounds the profile of every such mechanism, so it is the profile of a pair that
dominates it.  Several such guarantees have the pair of their sum, wherever others come in between
(`docs/mathematics.md`, Lemma 14.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from safeselect.exact.interval import Interval, log_order_constant

_STEPS = 128  # orders in each doubling of x
_BITS = 128  # of the bounds' logarithms


def values_above(rho: Fraction, step: Fraction, count: int, bits: int) -> list[int]:
    """Bounds of delta at 0, 1, ... steps, times 2**bits, rounded up.

    As s grows, so does the best order: each search begins at the order before.
    """
    place, found = _first(rho), []
    one = 1 << bits
    for number in range(count):
        s = step * number
        best = _log_delta(rho, place, s)
        while (after := _log_delta(rho, place + 1, s)).upper < best.upper:
            place, best = place + 1, after
        found.append(min(one, best.exp().scaled(bits)[1]) if best.upper < 0 else one)
    return found


def hull(values: Sequence[int], step: Fraction, bits: int) -> list[int]:
    """The convex envelope, in e**s, of a falling profile at places that follow each other.

    Which places are kept does not matter for its truth: a convex profile below them is below each
    chord between two of them.
    """
    kept: list[int] = []
    for place in range(len(values)):
        while len(kept) > 1 and not _is_below(values, kept[-2], kept[-1], place, step, bits):
            kept.pop()
        kept.append(place)
    found = list(values)
    for left, right in pairwise(kept):
        for place in range(left + 1, right):
            share = _share(left, place, right, step, bits)
            drop = (values[left] - values[right]) * ((1 << bits) - share) >> bits
            found[place] = min(values[place], values[left] - drop)
    return found


def _is_below(
    values: Sequence[int], left: int, middle: int, right: int, step: Fraction, bits: int
) -> bool:
    """Whether the middle one is below the chord of the two others."""
    share = _share(left, middle, right, step, bits)
    chord = (values[left] * share + values[right] * ((1 << bits) - share)) >> bits
    return values[middle] < chord


def _share(left: int, place: int, right: int, step: Fraction, bits: int) -> int:
    """The weight of the left end in the chord at a place, times 2**bits, rounded up."""
    return min(1 << bits, _ratio(right - place, right - left, step, bits))


@lru_cache(maxsize=1 << 14)
def _ratio(near: int, far: int, step: Fraction, bits: int) -> int:
    whole = Interval.of(-step * far, bits).expm1()
    return (Interval.of(-step * near, bits).expm1() / whole).scaled(bits)[1]


@lru_cache(maxsize=1 << 12)
def _line(rho: Fraction, place: int) -> tuple[Interval, Interval]:
    """Of one order: x a rho + ln(x**x / a**a), and x."""
    octave, within = divmod(place, _STEPS)
    x = (_STEPS + within) * Fraction(2) ** octave
    return x * (1 + x) * rho + log_order_constant(x, _BITS), Interval.of(x, _BITS)


def _log_delta(rho: Fraction, place: int, s: Fraction) -> Interval:
    constant, x = _line(rho, place)
    return constant - x * s


def _first(rho: Fraction) -> int:
    """An order at which the bound at s = 0 is about the least: the search begins there."""
    place, zero = -40 * _STEPS, Fraction(0)
    while _log_delta(rho, place + _STEPS, zero).upper < _log_delta(rho, place, zero).upper:
        place += _STEPS
    return place - _STEPS
