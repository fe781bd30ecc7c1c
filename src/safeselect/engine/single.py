"""One noise at a time, for the comparisons of a session; `laws` has the laws.

A noise is known by two bounds.  They hold for every value of the digits not yet drawn, so a
comparison that they decide is decided for the noise itself; nothing is ever rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from safeselect.engine.laws import EXPONENTIAL, LAPLACE, Law, enclose
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.guard import sealed

Kind = Literal["exponential", "laplace", "geometric"]

SPARE = 32
"""Digits of V beyond the precision; the noise of a small V needs them."""

MORE = 64
"""Digits by which undecided noise is refined."""


@final
@sealed
class InvertedNoise:
    """X with P(X > x) = S(rate * x) exactly, S being the tail of a law in nats.

    Method: X = Q(V) / rate, where a number of V's digits are known.
    Bits: `digits`, then 64 for each refinement.
    Reveals: see `laws.enclose`.
    """

    __slots__ = ("_digits", "_found", "_law", "_rate", "_v")

    def __init__(self, law: Law, noise_rate: NoiseRate, digits: int, bits: Bits) -> None:
        if noise_rate.base is not None:
            raise ParameterError("noise_rate must have base e; create it without base=")
        self._law, self._rate, self._digits = law, noise_rate.rate, digits
        self._v = bits.take(digits)
        self._found: tuple[int, int, tuple[int, int]] | None = None

    @property
    def precision(self) -> int:
        """Binary places to which the bounds are narrow."""
        return self._digits - SPARE

    def bounds(self, precision: int, denominator: int) -> tuple[int, int]:
        """Integers (low, high) with low <= X * denominator * 2**precision <= high, kept.

        Requires: precision is at least `self.precision`, denominator at least 1.
        """
        if self._found is None or self._found[:2] != (precision, denominator):
            low, high = enclose(self._law, self._v, self._digits, precision)
            below, above = denominator * self._rate.denominator, self._rate.numerator
            ends = low * below // above, -(-high * below // above)
            self._found = (precision, denominator, ends)
        return self._found[2]

    def refine(self, bits: Bits) -> None:
        """Draw 64 more digits."""
        self._v = self._v << MORE | bits.take(MORE)
        self._digits += MORE
        self._found = None


@final
@sealed
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeNoise:
    """A noise that is a whole number of grid steps and completely known."""

    steps: int

    @property
    def precision(self) -> int:
        """0: the noise has no fractional part."""
        return 0

    def bounds(self, precision: int, denominator: int) -> tuple[int, int]:
        """Return the exact number as both bounds."""
        exact = self.steps * denominator << precision
        return exact, exact

    def refine(self, bits: Bits) -> None:
        """Do nothing: no digit is left to draw."""


EnclosedNoise = InvertedNoise | WholeNoise
"""One noise X, in grid steps, known by bounds."""


def enclosed_noise(kind: Kind, noise_rate: NoiseRate, digits: int, bits: Bits) -> EnclosedNoise:
    """Draw one noise with this rate per grid step: exponential, Laplace or geometric.

    Method: a geometric number is the whole part of an exponential one.
    Bits: `digits`; more with probability 2**(SPARE - digits) times the grid steps per nat.
    """
    drawn = InvertedNoise(LAPLACE if kind == "laplace" else EXPONENTIAL, noise_rate, digits, bits)
    return WholeNoise(_whole(drawn, bits)) if kind == "geometric" else drawn


def _whole(drawn: InvertedNoise, bits: Bits) -> int:
    for _ in rounds(MORE):
        low, high = (end >> drawn.precision for end in drawn.bounds(drawn.precision, 1))
        if low == high:
            return low
        drawn.refine(bits)
    raise exhausted()
