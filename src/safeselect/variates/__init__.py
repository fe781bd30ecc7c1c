"""Exact noise for its own sake, on integers only; no one-shot selection uses it.

`digits` draws arrays of geometric and discrete Laplace numbers, `inversion` of symmetric noise,
whose laws are in `gaussian`.  `enclosed` draws one noise at a
time, known by an enclosure, for the comparisons of a session.

Every loop that refines is bounded, see `randomness.bits.rounds`.  With independent fair bits a call
raises `SourceError` with probability below 2**-100; given that it does not, its law is exact.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits
from safeselect.variates.enclosed import EnclosedNoise, Kind, WholeNoise, enclosed_noise
from safeselect.variates.geometric import discrete_laplace, geometric

__all__ = [
    "REFERENCE",
    "EnclosedNoise",
    "Kind",
    "Variates",
    "WholeNoise",
    "discrete_laplace",
    "enclosed_noise",
    "geometric",
]

REFERENCE = "safeselect.spec.sessions"
"""The module with the same functions in the scalar tier; imported by name, on request only."""


class Variates(Protocol):
    """An engine: the functions that both tiers offer, with the same laws."""

    def discrete_laplace(self, n: int, noise_rate: NoiseRate, bits: Bits) -> NDArray[np.int64]:
        """Draw n integers x with probability proportional to rho**|x|."""

    def enclosed_noise(
        self, kind: Kind, noise_rate: NoiseRate, digits: int, bits: Bits
    ) -> EnclosedNoise:
        """Draw the noise of one number, known by bounds."""
