"""The work that contenders are given: score vectors, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAMILIES", "REAL", "Work", "make_scores", "make_weights"]

DATA = Path(__file__).parent / "data"
FAMILIES = ("uniform", "flat", "zipf", "one-peak")
REAL = {"netflix": ("NETFLIX.n17770.npy", 17_770), "searchlogs": ("SEARCHLOGS.n4096.npy", 4_096)}


@dataclass(frozen=True, slots=True)
class Work:
    """Select k of n candidates, or draw n values, with noise that decays by exp(-rate) per unit.

    Args:
        n: candidates, or values.
        scores: the name of a family, or of a real data set; counts, so monotonic.
        rate: epsilon of one draw over the range of the scores' change; 1 / scale of the noise.
        k: how many to select.
        batch: how many selections in one call.
    """

    n: int
    scores: str = "uniform"
    rate: Fraction = Fraction(1, 1000)
    k: int = 1
    batch: int = 1


@lru_cache(maxsize=4)
def make_scores(family: str, n: int) -> NDArray[np.int64]:
    """The scores, int64; always the same ones.  Writable, because OpenDP refuses other arrays.

    - flat: all 1000;
    - uniform: 0 .. 999, which suits an early exit;
    - zipf: 10**6 // i for the i-th, shuffled, which does not;
    - one-peak: one of 10**6, the others 0;
    - netflix, searchlogs: histograms of published data (DPBench), as they are.
    """
    if family in REAL:
        scores = np.load(DATA / REAL[family][0]).astype(np.int64)
    elif family == "flat":
        scores = np.full(n, 1000, dtype=np.int64)
    elif family == "uniform":
        scores = np.random.default_rng(1).integers(0, 1000, n, dtype=np.int64)
    elif family == "zipf":
        scores = 10**6 // np.arange(1, n + 1, dtype=np.int64)
        np.random.default_rng(2).shuffle(scores)
    elif family == "one-peak":
        scores = np.zeros(n, dtype=np.int64)
        scores[n // 3] = 10**6
    else:
        raise ValueError(f"no family {family}")
    return scores


@lru_cache(maxsize=4)
def make_weights(n: int) -> NDArray[np.int64]:
    """Public weights 1 .. 20, always the same ones."""
    return np.random.default_rng(4).integers(1, 21, n, dtype=np.int64)
