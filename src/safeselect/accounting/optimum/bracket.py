"""A profile of masses before a curve: read at an epsilon, and searched for one, from both sides."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt
from gmpy2 import mpz

from safeselect.accounting.optimum import LOOSE
from safeselect.accounting.optimum.pairs import Masses, mirrored
from safeselect.exact.interval import Interval, rounded_down, rounded_up

_MANTISSA = 53
_NONE = Fraction(2**62)  # stands for no bound on epsilon, where too much was cut off


@dataclass(frozen=True, slots=True)
class Profile:
    """Delta at multiples of a step: masses, followed by a curve.

    Attributes:
        masses: of all fixed pairs.
        values: the curve at 0, 1, ... steps, times 2**bits.
        below: the curve at 0, -1, ... steps; beyond, the last value holds.
        step: rational.
    """

    masses: Masses
    values: Sequence[int]
    below: Sequence[int]
    step: Fraction

    @classmethod
    def of(cls, masses: Masses, curve: npt.NDArray[np.float64], step: Fraction) -> Profile:
        """From a curve of floats; each float is an exact number, rounded here to 2**-bits."""
        bits, upper = masses.bits, masses.upper
        values = _integers(curve, bits, upper=upper)
        # Where e**-s is below 2**-bits, ln 2 < 7/10, the curve at -s is 1, to within its rounding.
        count = min(max(1, masses.last + 2), -(-bits * 7 // (10 * step)) + 2)
        level = values[-1] if upper else 0
        ours = [*values[:count], *([level] * (count - len(values)))]
        below = mirrored(ours, step, bits, upper=upper)
        return cls(masses, values, [*below, 1 << bits] if upper else below, step)

    def at(self, place: int) -> int:
        """Delta at so many steps, at least 0, times 2**bits; rounded as the masses are."""
        masses = self.masses
        # Loss j leads to the curve at place - j.
        beyond = place - masses.first
        total = 0
        # Losses above place: mirrored, at 1, 2, ... steps below zero.
        first = max(place + 1, masses.first)
        if first <= masses.last:
            weights = masses.weights[first - masses.first :]
            known = max(0, len(self.below) - (first - place))
            total += sum(map(mul, weights, self.below[first - place :]))
            total += self.below[-1] * sum(weights[known:])
        # Losses up to place, from the largest: at 0, 1, ... steps.
        top = min(place, masses.last)
        if top >= masses.first:
            weights = masses.weights[top - masses.first :: -1]
            values = self.values[place - top :]
            total += sum(map(mul, weights, values))
            if masses.upper and beyond >= len(self.values):
                # Beyond its last place the curve is level.
                unknown = weights[max(0, len(self.values) - (place - top)) :]
                total += self.values[-1] * sum(unknown)
        bits = masses.bits
        return masses.infinite - (-total >> bits) if masses.upper else total >> bits

    def epsilon(self, delta: Fraction) -> Fraction:
        """Of an upper profile: where the chords are at most delta, rounded up.

        Of a lower profile: where delta is surely more (or 0), rounded down.
        """
        scale = 1 << self.masses.bits
        goal = delta.numerator * scale // delta.denominator
        if self.at(0) <= goal:
            return Fraction(0)
        high = max(1, self.masses.last + len(self.values))
        if self.masses.upper and self.at(high) > goal:
            return _NONE
        low = bisect_left(range(high), True, lo=1, key=lambda place: self.at(place) <= goal) - 1
        return self._above(low, goal) if self.masses.upper else self._below(low, goal + 1)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Of an upper profile: the chord at epsilon, rounded up.

        Of a lower profile: less than the profile, or 0.
        """
        bits = self.masses.bits
        place = epsilon // self.step
        here, there = self.at(place), self.at(place + 1)
        low, high = self._share(epsilon)
        if self.masses.upper:
            return min(Fraction(1), Fraction(here - ((here - there) * low >> bits), 1 << bits))
        # On the lines through two places to one side, as in `_below`; a cell to the left is
        # shorter by the ratio, one to the right longer.
        ratio = Interval.of(self.step, bits).exp().scaled(bits)[1]
        before, after = self._a_little_more(place - 1), self._a_little_more(place + 2)
        left = here - ((before - here) * high * ratio >> 2 * bits) - 1 if place else 0
        right = there + (max(0, there - after) * ((1 << bits) - high) // ratio) if there else 0
        return Fraction(max(0, there, left, right), 1 << bits)

    def between(self, s: Fraction) -> int:
        """The curve's chord at s, rounded up; of a curve from above."""
        place = s // self.step
        if place + 1 >= len(self.values):
            return self.values[-1]
        here, there = self.values[place], self.values[place + 1]
        return here - ((here - there) * self._share(s)[0] >> self.masses.bits)

    def _share(self, s: Fraction) -> tuple[int, int]:
        """How much of its cell, in x, lies left of s, times 2**bits; rounded down and up."""
        bits = self.masses.bits
        share = Interval.of(s % self.step, bits).expm1() / _cell(self.step, bits)
        return share.scaled(bits)

    def _above(self, low: int, goal: int) -> Fraction:
        """On the chord from here to the next place."""
        here, there = self.at(low), self.at(low + 1)
        share = Fraction(here - goal, here - there)
        if share >= 1:
            return self.step * (low + 1)
        return rounded_up(
            lambda precision: (
                Interval.of(self.step * low, precision)
                + _log1p(Interval.of(share, precision) * _cell(self.step, precision))
            )
        )

    def _below(self, low: int, goal: int) -> Fraction:
        """Where the lines through two places, extended, meet the goal.

        Outside these places a convex function lies above each line.
        """
        before, here = self._a_little_more(low - 1), self.at(low)
        there, after = self.at(low + 1), self._a_little_more(low + 2)
        found = [self.step * low]
        if low and here >= goal:
            share = min(Fraction(1), Fraction(here - goal, max(1, before - here)))
            found.append(self._moved(low, share, -1))
        if there > after and there <= goal:
            share = Fraction(goal - there, there - after)
            found.append(self._moved(low + 1, -share, 1))
        return max(Fraction(0), *(min(f, self.step * (low + 1)) for f in found))

    def _a_little_more(self, place: int) -> int:
        """An upper bound on this lower profile; its roundings are far smaller than the bound."""
        value = self.at(place) if place >= 0 else 1 << self.masses.bits
        return value + (value >> LOOSE) + 1

    def _moved(self, place: int, share: Fraction, side: int) -> Fraction:
        """place * step + ln(1 + share * the cell to one side), where that is possible."""

        def moved(precision: int) -> Interval:
            cell = _cell(side * self.step, precision) * Interval.of(side, precision)
            return Interval.of(self.step * place, precision) + _log1p(
                Interval.of(share, precision) * cell
            )

        if share < 0 and not moved(128).bounded:
            return Fraction(0)
        return rounded_down(moved)


def _cell(step: Fraction, precision: int) -> Interval:
    return Interval.of(step, precision).expm1()


def _log1p(value: Interval) -> Interval:
    return (Interval.of(1, value.precision) + value).log()


def _integers(values: npt.NDArray[np.float64], bits: int, *, upper: bool) -> list[Any]:
    """The floats times 2**bits, rounded up or down."""
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, _MANTISSA).astype(np.int64)
    found = []
    for mantissa, exponent in zip(mantissas.tolist(), exponents.tolist(), strict=True):
        shift = bits + exponent - _MANTISSA
        number = mpz(mantissa)
        if shift >= 0:
            found.append(number << shift)
        else:
            found.append(-(-number >> -shift) if upper else number >> -shift)
    return found
