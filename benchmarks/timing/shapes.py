"""Calls and scores that the timing scripts compare: one public shape, contents that differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import safeselect

__all__ = ["CALLS", "CONTROL", "scores_of"]

CALLS: dict[str, Callable[..., object]] = {
    "permute_and_flip": lambda scores, **more: safeselect.permute_and_flip(
        scores, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "exponential_mechanism": lambda scores, **more: safeselect.exponential_mechanism(
        scores, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "top_k": lambda scores, **more: safeselect.top_k(
        scores, k=10, epsilon=1, delta="1e-6", sensitivity=1, monotonic=True, **more
    ),
    "report_noisy_max_laplace": lambda scores, **more: safeselect.report_noisy_max(
        scores, epsilon=1, noise="laplace", sensitivity=1, monotonic=True, **more
    ),
}

CONTROL = "report_noisy_max_laplace"
"""Positive control with engine="reference": it refines noise while scores are close."""


def scores_of(family: str, n: int) -> NDArray[np.int64]:
    """tie: all equal; far: one dominating; neighbour: one more by 1; stairs; extremes; random."""
    scores = np.zeros(n, dtype=np.int64)
    if family == "far":
        scores[n // 2] = 1000
    elif family == "neighbour":
        scores[n // 2] = 1
    elif family == "stairs":
        scores[:] = np.arange(n)
    elif family == "extremes":
        limits = np.iinfo(np.int64)
        scores[0::2], scores[1::2] = limits.min, limits.max
    elif family == "random":
        scores[:] = np.random.default_rng(3).integers(0, 1000, n)
    elif family != "tie":
        raise ValueError(f"no family {family}")
    return scores
