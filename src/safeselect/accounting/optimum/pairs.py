"""Laws of privacy losses at multiples of a step, and their exact products.

A pair of laws (P, Q) is described by its losses l = ln(p / q) and their masses under P; with
x = e**s, its operator on a profile f is (T f)(x) = sum of masses * f(x e**-l).  Masses are integers
times 2**-bits.  Masses of an upper bound are rounded up, and a tail cut off becomes an infinite
loss.  Masses of a lower bound are rounded down, and a tail cut off is dropped.  Both are safe
because f falls (`docs/mathematics.md`, section 14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import gmpy2

from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.optimum import LOOSE_UNITS
from safeselect.exact.interval import Interval
from safeselect.promises.guarantees import (
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from safeselect.accounting.laws import KnownLaw


@dataclass(frozen=True, slots=True)
class Masses:
    """Masses under P of the losses first, first + 1, ... steps.

    Attributes:
        first: the least loss, in steps.
        weights: integers, times 2**-bits.
        infinite: the mass of an infinite loss, times 2**bits.
        bits: of the scale.
        upper: whether this bounds a pair from above, or from below.
    """

    first: int
    weights: Sequence[int]
    infinite: int
    bits: int
    upper: bool

    @property
    def last(self) -> int:
        """The largest finite loss, in steps."""
        return self.first + len(self.weights) - 1


def certain(bits: int, *, upper: bool) -> Masses:
    """No loss: the identity of products."""
    return Masses(0, [1 << bits], 0, bits, upper)


@lru_cache(maxsize=16)
def _powers(step: Fraction, count: int, bits: int) -> tuple[int, ...]:
    """e**-0, e**-step, ... times 2**bits, rounded down; each less than 2 below."""
    ratio, guard = (-Interval.of(step, 2 * bits)).exp(), bits + count.bit_length() + 2
    each, _ = ratio.scaled(guard)
    value, found = 1 << guard, []
    for _ in range(count):
        found.append(value >> (guard - bits))
        value = value * each >> guard
    return tuple(found)


def mirrored(values: Sequence[int], step: Fraction, bits: int, *, upper: bool) -> list[int]:
    """A symmetric profile at 0, -1, ... steps, from that at 0, 1, ...: 1 - e**-s + e**-s f(s)."""
    one, small = 1 << bits, _powers(step, len(values), bits)
    # The powers are up to 2 below.
    more = 0 if upper else 2
    below = [
        one - ((power + more) * (one - value) >> bits) - more // 2
        for power, value in zip(small, values, strict=True)
    ]
    return below


def dots(values: Sequence[int], first: int, step: Fraction, bits: int, *, upper: bool) -> Masses:
    """Connect the dots of a profile: return the pair that has its chords, in x, as profile.

    The mass at x is x times the rise of the slope there.  For an upper bound, the first and the
    last place take the missing mass: the profile begins at 1, and beyond the last place it stays
    level.  For a lower bound, the chords left of the first and right of the last place are dropped.

    Args:
        values: the profile at first, first + 1, ... steps, times 2**bits.  For an upper bound each
            is at least the true one; for a lower bound at most, and less than 8 below it.

    Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022).
    """
    inverse = 1 / -Interval.of(-step, 2 * bits).expm1()
    low, high = inverse.scaled(bits)  # 1 / (1 - e**-step); one less is 1 / (e**step - 1)
    one = 1 << bits
    falls = [before - after for before, after in pairwise(values)]
    if upper:
        inner = [
            max(0, -((below * (low - one) - above * high) >> bits))
            for above, below in zip(falls, [*falls[1:], 0], strict=True)
        ]
        rest = max(0, one - values[-1] - sum(inner))
        return Masses(first, [rest, *inner], values[-1], bits, upper)
    inner = [
        max(0, ((above - LOOSE_UNITS) * low - (below + LOOSE_UNITS) * (high - one)) >> bits)
        for above, below in pairwise(falls)
    ]
    return Masses(first + 1, inner, 0, bits, upper)


def whole_line(values: Sequence[int], step: Fraction, bits: int, *, upper: bool) -> list[int]:
    """A symmetric profile at -last, ..., last steps, from that at 0, 1, ..., last."""
    return [*mirrored(values, step, bits, upper=upper)[:0:-1], *values]


def symmetric(values: Sequence[int], step: Fraction, bits: int, *, upper: bool) -> Masses:
    """Connect the dots of a symmetric profile at 0, 1, ... steps."""
    line = whole_line(values, step, bits, upper=upper)
    return dots(line, 1 - len(values), step, bits, upper=upper)


def product(one: Masses, other: Masses, lost: int) -> Masses:
    """Of two independent pairs; tails of at most `lost`, times 2**-bits, are cut off.

    Exactness: one multiplication of long integers, so nothing is rounded but the result.
    """
    bits, upper = one.bits, one.upper
    slot = 2 * bits + min(len(one.weights), len(other.weights)).bit_length() + 2
    whole = gmpy2.pack(list(one.weights), slot) * gmpy2.pack(list(other.weights), slot)
    count = len(one.weights) + len(other.weights) - 1
    weights: list[Any] = gmpy2.unpack(whole, slot)
    weights = weights[:count] + [0] * (count - len(weights))
    weights = [-(-w >> bits) for w in weights] if upper else [w >> bits for w in weights]
    infinite = one.infinite + other.infinite
    return _cut(Masses(one.first + other.first, weights, infinite, bits, upper), lost)


def _cut(masses: Masses, lost: int) -> Masses:
    weights = masses.weights
    left = _within(weights, lost)
    right = _within(weights[::-1], lost)
    kept = list(weights[left : len(weights) - right])
    if not kept:
        return masses
    infinite = masses.infinite
    if masses.upper:
        infinite += sum(weights[len(weights) - right :])
        kept[0] += sum(weights[:left])
    return Masses(masses.first + left, kept, infinite, masses.bits, masses.upper)


def _within(weights: Sequence[int], lost: int) -> int:
    """How many of the first weights come to at most `lost`."""
    for number, so_far in enumerate(accumulate(weights)):
        if so_far > lost:
            return number
    return 0


def power(masses: Masses, count: int, lost: int) -> Masses:
    """Of `count` independent pairs that are alike."""
    result = certain(masses.bits, upper=masses.upper)
    while True:
        if count % 2:
            result = product(result, masses, lost)
        count //= 2
        if not count:
            return result
        masses = product(masses, masses, lost)


Smooth = PureDP | LaplaceDominated | GaussianDP
"""Pairs with a profile that is smooth but for one atom at each end."""

Pair: TypeAlias = "Smooth | ZeroConcentratedDP | KnownLaw"
"""Guarantees that a fixed pair of laws dominates; all but zCDP attain it."""


def values_of(pair: Smooth, step: Fraction, last: int, bits: int, *, upper: bool) -> list[int]:
    """The profile at 0, 1, ..., last steps, rounded up or down."""
    places = (profile(pair, step * place, bits + 16) for place in range(last + 1))
    return [value.scaled(bits)[1 if upper else 0] for value in places]


def chords(pair: Smooth, step: Fraction, last: int, bits: int) -> Masses:
    """The pair with the chords of a profile, which ends or is cut off at `last` steps."""
    return symmetric(values_of(pair, step, last, bits, upper=True), step, bits, upper=True)


def profile(pair: Smooth | BoundedRange, s: Fraction, precision: int) -> Interval:
    """The hockey-stick divergence at e**s, s at least 0; of a class, the largest."""
    if isinstance(pair, GaussianDP):
        return pair.tails(s, precision)[0]
    if s >= pair.epsilon:
        return Interval.of(0, precision)
    own, less = (Interval.of(each, precision) for each in (pair.epsilon, s - pair.epsilon))
    return pair.profile(own, less)
