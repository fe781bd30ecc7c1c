"""The two tiers, by name: both offer the same ways to rank, with the same laws.

The array engine (`safeselect.noise`) is the default.  The scalar tier (`engine="reference"`) is
for audit and tests: the published algorithms one value at a time, slower, with early exits.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from safeselect import noise
from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.exact.rate import Decay
from safeselect.noise import Ranking
from safeselect.noise.arrays import Steps
from safeselect.randomness.bits import Bits
from safeselect.randomness.foreign import require_production

__all__ = ["Engine", "choose_engine", "named_engine"]

Tier = TypeVar("Tier")


class Engine(Protocol):
    """Ways to rank n scores in grid steps by score + noise, the k best first.

    `noise` is "exponential", "laplace" or "gumbel".
    """

    def noisy_top_k(
        self,
        noise: str,
        steps: Steps,
        k: int,
        decay: Decay,
        bits: Bits,
        *,
        gaps: bool = False,
        gap_unit: Fraction = ...,
    ) -> Ranking:
        """One draw of noise for each score."""

    def peeled_top_k(self, noise: str, steps: Steps, k: int, decay: Decay, bits: Bits) -> Ranking:
        """k rounds: noise drawn anew for the scores that remain."""

    def noisy_max_rows(
        self, noise: str, steps: Steps, decay: Decay, bits: Bits
    ) -> NDArray[np.int64]:
        """One winner for each row of scores."""


_REFERENCE = "safeselect.reference._rankings"  # imported by name, and only when asked for


def choose_engine(name: object) -> Engine:
    """The engine of that name for rankings; see `named_engine`."""
    return named_engine(name, noise, _REFERENCE)


def named_engine(name: object, array: Tier, reference: str) -> Tier:
    """The functions of the array engine or of the scalar tier; None means the array engine.

    Args:
        name: what a caller gave as `engine`.
        array: the functions of the array engine.
        reference: the module that has the same functions in the scalar tier.

    Raises:
        ParameterError: another name, or "reference" where only production is allowed.
    """
    if name is None:
        return array
    if not isinstance(name, str) or name not in ("array", "reference"):
        raise ParameterError(f"engine must be 'array' or 'reference', got {describe(name)}")
    if name == "reference" and require_production():
        raise ParameterError(
            "engine='reference' is for audit and tests: its running time depends on the scores; "
            "SAFESELECT_REQUIRE_PRODUCTION forbids it"
        )
    if name == "array":
        return array
    tier: Any = import_module(reference)
    found: Tier = tier
    return found
