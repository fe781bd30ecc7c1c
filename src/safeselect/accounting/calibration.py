"""From the total that a call may cost to the epsilon of each of its draws, rounded down."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from safeselect._exact import Interval, argmin
from safeselect.accounting.composition import composed_epsilon, epsilon_at_order
from safeselect.errors import ParameterError
from safeselect.guarantees import BoundedRange, LaplaceDominated, PureDP

__all__ = ["Family", "per_draw_epsilon"]

Family = type[BoundedRange] | type[LaplaceDominated] | type[PureDP]

_BITS = 32  # significant bits of a calibrated epsilon: short rates, at most 2**-31 of it given up


@lru_cache(maxsize=256)
def per_draw_epsilon(
    family: Family,
    count: int,
    *,
    epsilon: Fraction | None = None,
    delta: Fraction | None = None,
    rho: Fraction | None = None,
) -> Fraction:
    """The largest epsilon (to 32 bits) such that `count` draws of family(epsilon) keep the total.

    The total is `epsilon` alone (pure: simply epsilon / count), `epsilon` with `delta`, or `rho`.
    Every comparison is between an upper end of an enclosure and the total, so the result is
    certified whatever the search did.

    Requires: exactly one of epsilon and rho; delta only with epsilon.
    """
    if rho is not None:
        return _largest(lambda each: count * family(each).zcdp.rho <= rho, rho / count)
    if epsilon is None:
        raise ParameterError("give one of epsilon and rho")
    if delta is None:
        return epsilon / count
    if count == 1:
        single = _largest(lambda each: family(each).approximate(delta).epsilon <= epsilon, epsilon)
        return max(epsilon, single)
    # Without delta every draw may cost epsilon / count: never do worse than that, nor search below.
    least = epsilon / count
    search = _OrderSearch(family, count, epsilon, delta)
    if not search.allows(least):
        return least
    each = _largest(search.allows, least)
    # Anyone who adds up the draws must arrive at the total, whatever order their search ends at.
    # The cut doubles, so that this ends; at `least` the plain sum is the total.
    cut = Fraction(1, 2**28)
    while each > least and composed_epsilon([(family(each), count)], delta) > epsilon:
        each = _short(each * (1 - cut))
        cut *= 2
    return max(least, each)


class _OrderSearch:
    """Whether the product accountant allows an epsilon; keeps a good order between questions."""

    __slots__ = ("_count", "_delta", "_excess", "_family", "_limit")

    def __init__(self, family: Family, count: int, epsilon: Fraction, delta: Fraction) -> None:
        self._family, self._count = family, count
        self._limit, self._delta = epsilon, delta
        self._excess = Fraction(8)

    def allows(self, each: Fraction) -> bool:
        parts = [(self._family(each), self._count)]

        def at_order(excess: Fraction) -> Interval:
            return epsilon_at_order(parts, self._delta, excess, 96)

        # The order of the last question is mostly good enough; any order is a certificate.
        if at_order(self._excess).upper <= self._limit:
            return True
        self._excess = argmin(at_order, self._excess)
        return bool(at_order(self._excess).upper <= self._limit)


def _largest(allowed: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """The largest number of 32 significant bits that is allowed, searching upwards from `start`.

    Requires: what is allowed is a range that begins at 0.
    """
    high = start
    while allowed(high):
        high *= 2
    while not allowed(high / 2):
        high /= 2
    # high / 2 is allowed and high is not: settle one binary digit at a time.
    low, step = high / 2, high / 4
    for _ in range(_BITS - 1):
        if allowed(low + step):
            low += step
        step /= 2
    return _short(low)


def _short(value: Fraction) -> Fraction:
    """The value rounded down to 32 significant bits."""
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (size - _BITS)
    return (value // unit) * unit
