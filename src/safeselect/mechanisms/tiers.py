"""The two engines by name, for sessions and lists: the array engine, and the specification."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from safeselect import engine as array_engine
from safeselect.engine import Ranking
from safeselect.engine.arrays import GridScores
from safeselect.engine.draws import Weights
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate
from safeselect.exact.parameters import describe
from safeselect.randomness.bits import Bits
from safeselect.randomness.source import require_production

Tier = TypeVar("Tier")

_REFERENCE = "safeselect.spec.rankings"  # imported by name, and only when asked for


class Engine(Protocol):
    """Ways to rank n scores in grid steps by score + noise, the k best first.

    `noise` is "exponential", "laplace" or "gumbel".
    """

    def noisy_top_k(
        self,
        noise: str,
        scores_on_grid: GridScores,
        k: int,
        noise_rate: NoiseRate,
        bits: Bits,
        *,
        gaps: bool = False,
        gap_unit: Fraction = ...,
        weights: Weights | None = None,
    ) -> Ranking:
        """One draw of noise for each score."""

    def peeled_top_k(
        self, noise: str, scores_on_grid: GridScores, k: int, noise_rate: NoiseRate, bits: Bits
    ) -> Ranking:
        """k rounds: noise drawn anew for the scores that remain."""

    def noisy_max_rows(
        self,
        noise: str,
        scores_on_grid: GridScores,
        noise_rate: NoiseRate,
        bits: Bits,
        weights: Weights | None = None,
    ) -> NDArray[np.int64]:
        """One winner for each row of scores."""


def choose_engine(name: object) -> Engine:
    """The engine of that name for rankings; see `named_engine`."""
    return named_engine(name, array_engine, _REFERENCE)


def named_engine(name: object, array: Tier, reference: str) -> Tier:
    """The functions of the array engine or of the scalar tier; None means the array engine.

    Args:
        name: what a caller gave as `engine`.
        array: the functions of the array engine.
        reference: the module that has the same functions in the scalar tier.

    Raises:
        ParameterError: another name, or "reference" where only production is allowed.
    """
    if name is None or (isinstance(name, str) and name == "array"):
        return array
    if not isinstance(name, str) or name != "reference":
        raise ParameterError(f"engine must be 'array' or 'reference', got {describe(name)}")
    if require_production():
        raise ParameterError(
            "engine='reference' is for audit and tests: its running time depends on the scores; "
            "SAFESELECT_REQUIRE_PRODUCTION forbids it"
        )
    return cast(Tier, import_module(reference))
