"""From distances in grid steps to whole units of noise, for arrays, never too large."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safeselect.exact.rate import Decay
from safeselect.noise.arrays import Numbers

__all__ = ["Scale", "scale_of"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A distance of d grid steps, d <= 2 * reach, counts for ((d >> shift) * factor) >> back units.

    All numbers are public.  Nothing overflows: d >> shift has 32 bits at most, and so has factor,
    unless one step is worth 2**31 units or more; then 2 * reach steps are worth less than 2**55.
    """

    reach: int
    shift: int
    factor: int
    back: int

    def units(self, distance: int) -> int:
        """The units of one distance."""
        return ((distance >> self.shift) * self.factor) >> self.back

    def apply(self, distances: Numbers) -> None:
        """Replace distances, uint64, by units."""
        if self.shift:
            np.right_shift(distances, np.uint64(self.shift), out=distances)
        np.multiply(distances, np.uint64(self.factor), out=distances)
        if self.back:
            np.right_shift(distances, np.uint64(self.back), out=distances)


def scale_of(decay: Decay, unit_bits: int, reach: int) -> Scale:
    """The scale of a decay for units of 2**-unit_bits nat and distances of `reach` nats both ways.

    Exactness: the units are never too many.  The last shift loses less than 1.  `shift` is zero or
        leaves 31 digits of 2 * reach, and `factor` has 31 digits or is exact, so each of them loses
        less than a 2**-30th part of 2 * reach nats.
    """
    nats, _ = decay.nats(128).fractions()
    steps = int(reach / nats) + 1
    shift = max(0, (2 * steps).bit_length() - 32)
    unit = nats * Fraction(2) ** (unit_bits + shift)
    back = max(0, 31 - unit.numerator.bit_length() + unit.denominator.bit_length())
    return Scale(steps, shift, int(unit * 2**back), back)
