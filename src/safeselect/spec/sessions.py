"""The scalar tier of `engine.single`: the same noises, one Python integer at a time.

Reveals: running time and the number of random bits depend on the noise.  For audit and tests.
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from safeselect.engine.single import EnclosedNoise, Kind, WholeNoise
from safeselect.exact.interval import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.randomness.guard import sealed
from safeselect.spec import samplers
from safeselect.spec.samplers import LazyExponential, LazyLaplace, LazyNoise, geometric

_DIGITS = 8  # by which undecided noise is refined


@final
@sealed
class LazySteps:
    """A lazily refined noise, known by its bounds; see `engine.single.EnclosedNoise`."""

    __slots__ = ("_noise",)

    def __init__(self, noise: LazyNoise) -> None:
        self._noise = noise

    @property
    def precision(self) -> int:
        """Binary digits after the point that are known."""
        return self._noise.level

    def bounds(self, precision: int, denominator: int) -> tuple[int, int]:
        """Enclose X * denominator * 2**precision by the ends of the cell that X is in."""
        floor, shift = self._noise.floor, precision - self._noise.level
        return floor * denominator << shift, (floor + 1) * denominator << shift

    def refine(self, bits: Bits) -> None:
        """Draw further digits."""
        self._noise.refine(bits, _DIGITS)


def enclosed_noise(kind: Kind, noise_rate: NoiseRate, digits: int, bits: Bits) -> EnclosedNoise:
    """Draw one noise, its whole steps first; `digits` is for the array engine."""
    if kind == "geometric":
        return WholeNoise(geometric(bits, noise_rate))
    lazy = LazyLaplace if kind == "laplace" else LazyExponential
    return LazySteps(lazy(bits, noise_rate))


def discrete_laplace(n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
    """Draw n discrete Laplace numbers, one after the other."""
    return np.array([samplers.discrete_laplace(bits, noise_rate) for _ in range(n)], np.int64)
