"""One noise at a time, for comparisons that come one by one: the laws of `laws`, by inversion.

What is known of a noise are two bounds.  They hold for every value of the digits not drawn, so a
comparison that they decide is decided for the noise itself; nothing is ever rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, final

from safeselect.errors import ParameterError
from safeselect.exact.rate import Decay
from safeselect.noise.arrays import BitSource
from safeselect.noise.laws import EXPONENTIAL, LAPLACE, Law, enclose
from safeselect.randomness.bits import Bits, exhausted, rounds
from safeselect.randomness.memory import sealed

__all__ = ["SPARE", "InvertedNoise", "Kind", "KnownNoise", "WholeNoise", "noise"]

Kind = Literal["exponential", "laplace", "geometric"]

SPARE = 32
"""Digits of V beyond the scale: where V is small, its noise takes them up."""

_MORE = 64  # digits by which undecided noise is refined


class KnownNoise(Protocol):
    """One noise X, in grid steps, of which bounds are known."""

    @property
    def scale(self) -> int:
        """Binary places to which the bounds are narrow."""

    def bounds(self, scale: int, parts: int) -> tuple[int, int]:
        """Integers (low, high) with low <= X * parts * 2**scale <= high.

        Requires: scale is at least `self.scale`, parts at least 1.
        """

    def refine(self, bits: Bits) -> None:
        """Draw further digits."""


@final
@sealed
class InvertedNoise:
    """X with P(X > x) = S(rate * x) exactly, S being the tail of a law in nats.

    Method: X = Q(V) / rate, of whose V so many digits are known.
    Bits: `digits`, then 64 for each refinement.
    Reveals: see `laws.enclose`.
    """

    __slots__ = ("_digits", "_found", "_law", "_rate", "_v")

    def __init__(self, law: Law, decay: Decay, digits: int, bits: BitSource) -> None:
        if decay.base is not None:
            raise ParameterError("noise by inversion of one number is offered for base e only")
        self._law, self._rate, self._digits = law, decay.rate, digits
        self._v = bits.take(digits)
        self._found: tuple[int, int, tuple[int, int]] | None = None

    @property
    def scale(self) -> int:
        """Binary places to which the bounds are narrow."""
        return self._digits - SPARE

    def bounds(self, scale: int, parts: int) -> tuple[int, int]:
        """Enclose X * parts * 2**scale; the last answer is kept, for noise that is asked often."""
        if self._found is None or self._found[:2] != (scale, parts):
            low, high = enclose(self._law, self._v, self._digits, scale)
            below, above = parts * self._rate.denominator, self._rate.numerator
            self._found = (scale, parts, (low * below // above, -(-high * below // above)))
        return self._found[2]

    def refine(self, bits: BitSource) -> None:
        """Draw 64 more digits."""
        self._v = self._v << _MORE | bits.take(_MORE)
        self._digits += _MORE
        self._found = None


@final
@sealed
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeNoise:
    """A noise that is a whole number of grid steps, and all of it known."""

    steps: int

    @property
    def scale(self) -> int:
        """0: there is nothing behind the point."""
        return 0

    def bounds(self, scale: int, parts: int) -> tuple[int, int]:
        """The number itself, twice."""
        exact = self.steps * parts << scale
        return exact, exact

    def refine(self, bits: BitSource) -> None:
        """Nothing is left to draw."""


def noise(kind: Kind, decay: Decay, digits: int, bits: BitSource) -> KnownNoise:
    """Draw one noise: continuous exponential or Laplace, or geometric, of this decay a grid step.

    Scalar twin: `mechanisms._reference.noise`.
    Method: a geometric number is the whole part of an exponential one.
    Bits: `digits`; more with probability 2**(SPARE - digits) times the steps that a nat has.
    """
    drawn = InvertedNoise(LAPLACE if kind == "laplace" else EXPONENTIAL, decay, digits, bits)
    return WholeNoise(_whole(drawn, bits)) if kind == "geometric" else drawn


def _whole(drawn: InvertedNoise, bits: BitSource) -> int:
    for _ in rounds(_MORE):
        low, high = (end >> drawn.scale for end in drawn.bounds(drawn.scale, 1))
        if low == high:
            return low
        drawn.refine(bits)
    raise exhausted()
