"""The two tiers, by name: both offer the same ways to rank, with the same laws.

The array engine (`safeselect.noise`) is the default.  The scalar tier (`engine="reference"`) is
for audit and tests: the published algorithms one value at a time, slower, with early exits.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safeselect import noise
from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.exact.rate import Decay
from safeselect.noise import Ranking
from safeselect.noise.arrays import Steps
from safeselect.noise.single import Kind, KnownNoise
from safeselect.randomness.bits import Bits
from safeselect.randomness.foreign import require_production

__all__ = ["Engine", "choose_engine"]


class _OneShot(Protocol):
    def __call__(
        self,
        steps: Steps,
        k: int,
        decay: Decay,
        bits: Bits,
        *,
        gaps: bool = False,
        gap_unit: Fraction = ...,
    ) -> Ranking: ...


class _Many(Protocol):
    def __call__(self, steps: Steps, decay: Decay, bits: Bits) -> NDArray[np.int64]: ...


class _Peeled(Protocol):
    def __call__(self, steps: Steps, k: int, decay: Decay, bits: Bits) -> Ranking: ...


class _One(Protocol):
    def __call__(self, kind: Kind, decay: Decay, digits: int, bits: Bits) -> KnownNoise: ...


class _Integers(Protocol):
    def __call__(self, n: int, decay: Decay, bits: Bits) -> NDArray[np.int64]: ...


class Engine(Protocol):
    """Ways to rank n scores in grid steps by noisy score, the k best first; and noise for one."""

    @property
    def exponential_top(self) -> _OneShot:
        """One draw of exponential noise for each score."""

    @property
    def exponential_peeled(self) -> _Peeled:
        """k rounds: exponential noise drawn anew for the scores that remain."""

    @property
    def gumbel_top(self) -> _OneShot:
        """One draw of Gumbel noise for each score."""

    @property
    def exponential_many(self) -> _Many:
        """One winner for each row of scores, by exponential noise."""

    @property
    def gumbel_many(self) -> _Many:
        """One winner for each row of scores, by Gumbel noise."""

    @property
    def laplace_top(self) -> _OneShot:
        """One draw of Laplace noise for each score."""

    @property
    def noise(self) -> _One:
        """Noise for one number, known by bounds."""

    @property
    def discrete_laplace(self) -> _Integers:
        """Noise alone: integers, as likely as the decay to the power of their size."""


_REFERENCE = "safeselect.reference._rankings"  # imported by name, and only when asked for


def choose_engine(name: object) -> Engine:
    """The engine of that name; None means the array engine.

    Raises:
        ParameterError: another name, or "reference" where only production is allowed.
    """
    if name is None:
        return noise
    if not isinstance(name, str) or name not in ("array", "reference"):
        raise ParameterError(f"engine must be 'array' or 'reference', got {describe(name)}")
    if name == "reference" and require_production():
        raise ParameterError(
            "engine='reference' is for audit and tests: its running time depends on the scores; "
            "SAFESELECT_REQUIRE_PRODUCTION forbids it"
        )
    engine: Engine = noise if name == "array" else import_module(_REFERENCE)
    return engine
