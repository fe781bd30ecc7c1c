"""What a user would otherwise run: the contender that a figure is set beside."""

from __future__ import annotations

from collections.abc import Iterable

from cases import (
    COPIES,
    DP_EM,
    DP_PEEL,
    DP_PF,
    DP_QUANTILE,
    DP_TOP,
    EM,
    FLOAT_COPIES,
    FLOAT_EM,
    FLOAT_PF,
    FLOAT_ROWS,
    FLOAT_RUNS,
    FLOAT_TOP,
    FLOAT_TOP_ROWS,
    FLOAT_WEIGHTED,
    OTHER_QUANTILE,
    OTHER_SEVEN,
    PEEL,
    PF,
    QUANTILE,
    ROWS,
    RUNS,
    SEVEN,
    TOP_ROWS,
    WEIGHTED,
)

__all__ = ["otherwise"]

# What a user would otherwise run, by how the label begins; the first that takes part counts.
_OTHERWISE = {
    WEIGHTED: (FLOAT_WEIGHTED,),
    COPIES: (FLOAT_COPIES,),
    (PF, "PermuteAndFlip", "report_noisy_max"): (FLOAT_PF, DP_PF),
    (EM, "ExponentialMechanism"): (FLOAT_EM, DP_EM),
    ("top_k exponential", "top_k one_shot", "top_k_with_gaps"): (FLOAT_TOP, DP_TOP),
    PEEL: (FLOAT_TOP, DP_PEEL),
    SEVEN: (OTHER_SEVEN,),
    QUANTILE: (OTHER_QUANTILE, DP_QUANTILE),
    RUNS: (FLOAT_RUNS,),
    ROWS: (FLOAT_ROWS,),
    TOP_ROWS: (FLOAT_TOP_ROWS,),
    "engine.discrete_laplace": ("rng.laplace",),
    "engine.geometric": ("rng.geometric",),
}


def otherwise(label: str, labels: Iterable[str]) -> str | None:
    """What a user would otherwise run, among the labels of a case; None where nobody said."""
    others = list(labels)
    for start, names in _OTHERWISE.items():
        if label.startswith(start):
            suffix = label[label.find(", n = ") :] if ", n = " in label else ""
            suffix = label[label.find(", k = ") :] if ", k = " in label else suffix
            wanted = [f"{name}{suffix}" for name in names]
            return next((name for name in wanted if name in others), None)
    return None
