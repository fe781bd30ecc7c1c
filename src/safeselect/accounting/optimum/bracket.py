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

from safeselect.accounting.optimum.pairs import Masses, mirrored
from safeselect.exact.interval import Interval, rounded_up

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

    def goal(self, delta: Fraction) -> int:
        """A delta times 2**bits, rounded down."""
        return (delta.numerator << self.masses.bits) // delta.denominator

    def last_above(self, goal: int) -> int:
        """The last place with more than the goal, times 2**bits; place 0 has more."""
        high = max(1, self.masses.last + len(self.values))
        return bisect_left(range(high), True, lo=1, key=lambda place: self.at(place) <= goal) - 1

    def epsilon(self, delta: Fraction) -> Fraction:
        """Of an upper profile: where the chords are at most delta, rounded up."""
        goal = self.goal(delta)
        if self.at(0) <= goal:
            return Fraction(0)
        if self.at(max(1, self.masses.last + len(self.values))) > goal:
            return _NONE
        return self._above(self.last_above(goal), goal)

    def between(self, s: Fraction) -> int:
        """The curve's chord at s, rounded up; of a curve from above."""
        place = s // self.step
        if place + 1 >= len(self.values):
            return self.values[-1]
        here, there = self.values[place], self.values[place + 1]
        return here - ((here - there) * self.share(s)[0] >> self.masses.bits)

    def share(self, s: Fraction) -> tuple[int, int]:
        """How much of its cell, in x, lies left of s, times 2**bits; rounded down and up."""
        bits = self.masses.bits
        share = Interval.of(s % self.step, bits).expm1() / cell(self.step, bits)
        return share.scaled(bits)

    def _above(self, low: int, goal: int) -> Fraction:
        """On the chord from here to the next place."""
        here, there = self.at(low), self.at(low + 1)
        share = Fraction(here - goal, here - there)
        if share >= 1:
            return self.step * (low + 1)
        return rounded_up(
            lambda precision: self.step * low + (1 + share * cell(self.step, precision)).log()
        )


def cell(step: Fraction, precision: int) -> Interval:
    return Interval.of(step, precision).expm1()


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
