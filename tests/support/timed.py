"""Calls whose work must not depend on the scores, and scores that differ in all that could show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import safeselect as s

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
COUNTS: dict[str, object] = {"sensitivity": 1, "monotonic": True}
"""What every mechanism is told of the scores' change; rates run from one nat a step to 1/50."""

_TOP = ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential")
MECHANISMS: dict[str, Callable[..., object]] = {
    "permute_and_flip": partial(s.permute_and_flip, epsilon=1, **COUNTS),
    "exponential_mechanism": partial(s.exponential_mechanism, epsilon="1/50", **COUNTS),
    "exponential_mechanism_base2": partial(s.exponential_mechanism_base2, base="1/2", **COUNTS),
    "report_noisy_max_laplace": partial(s.report_noisy_max, epsilon=1, noise="laplace", **COUNTS),
    **{
        f"top_k_{mechanism}": partial(s.top_k, k=5, epsilon=1, mechanism=mechanism, **COUNTS)
        for mechanism in _TOP
    },
    "top_k_laplace": partial(
        s.top_k, k=5, epsilon="0.2", delta="0.05", mechanism="laplace", **COUNTS
    ),
    "permute_and_flip_with_gap": partial(
        s.permute_and_flip_with_gap, epsilon=1, gap_grid="2/3", **COUNTS
    ),
    "exponential_mechanism_with_gap": partial(
        s.exponential_mechanism_with_gap, epsilon="1/50", gap_grid="1/3", **COUNTS
    ),
    "top_k_with_gaps": partial(
        s.top_k_with_gaps, k=5, epsilon=1, noise="laplace", gap_grid="9/4", **COUNTS
    ),
}


def families(n: int) -> dict[str, NDArray[np.int64]]:
    """Score vectors of one public shape that differ in all that could be seen."""
    one = np.zeros(n, dtype=np.int64)
    one[n // 2] = 1
    return {
        "all equal": np.zeros(n, dtype=np.int64),
        "one dominating": one * 10**6,
        "neighbour": one,
        "staircase": np.arange(n, dtype=np.int64),
        "all lowest": np.full(n, LOW),
        "all highest": np.full(n, HIGH),
        "both extremes": np.where(np.arange(n) % 2 == 0, LOW, HIGH),
        "random": np.random.default_rng(3).integers(LOW, HIGH, n, endpoint=True),
    }
