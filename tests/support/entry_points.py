"""Every public function with parameters that are right, so that one of them can be made wrong."""

from __future__ import annotations

import inspect
from typing import Any

from public import PUBLIC

from safeselect import AdaptiveSparseVector, BoundedRange, PayWhatYouGet, SparseVector

__all__ = ["FUNCTIONS", "SCORES", "call", "parameters"]

SCORES = {"a": 5, "b": 1, "c": 3}
_DATA = ("scores", "counts", "values")
_ROWS = [[5, 1, 3], [1, 2, 3]]

FUNCTIONS: dict[str, dict[str, Any]] = {
    "permute_and_flip": {"epsilon": 1, "sensitivity": 1},
    "exponential_mechanism": {"rho": 1, "sensitivity": 1},
    "exponential_mechanism_base2": {"base": "1/2", "sensitivity": 1},
    "report_noisy_max": {"epsilon": 1, "sensitivity": 1, "noise": "laplace"},
    "report_noisy_max_with_gap": {"epsilon": 1, "sensitivity": 1, "noise": "laplace"},
    "permute_and_flip_with_gap": {"epsilon": 1, "sensitivity": 1},
    "exponential_mechanism_with_gap": {"epsilon": 1, "sensitivity": 1},
    "select_many": {"epsilon": 1, "sensitivity": 1},
    "top_k": {"k": 2, "epsilon": 1, "sensitivity": 1},
    "top_k_with_gaps": {"k": 2, "epsilon": 1, "sensitivity": 1},
    "top_k_above": {"k": 2, "threshold": 2, "epsilon": 1, "sensitivity": 1},
    "PermuteAndFlip": {"epsilon": 1, "sensitivity": 1},
    "ExponentialMechanism": {"rho": 1, "sensitivity": 1},
    "ExponentialMechanismBase2": {"base": "1/2", "sensitivity": 1},
    "ReportNoisyMax": {"epsilon": 1, "sensitivity": 1, "noise": "laplace"},
    "TopKMechanism": {"k": 2, "epsilon": 1, "sensitivity": 1},
    "unknown_domain_top_k": {"k": 1, "k_bar": 2, "places": "all", "epsilon": 1, "delta": "1e-6"},
    "select_partitions": {"max_partitions": 1, "epsilon": 1, "delta": "1e-6"},
    "partition_strategy": {"max_partitions": 1, "epsilon": 1, "delta": "1e-6"},
    "measure": {"epsilon": 1, "sensitivity_l1": 1},
    "SparseVector": {"threshold": 2, "k": 2, "epsilon": 1, "sensitivity": 1},
    "AdaptiveSparseVector": {"threshold": 2, "k": 2, "epsilon": 1, "sensitivity": 1},
    "PayWhatYouGet": {"outcomes": 5, "queries": 2, "epsilon": 1, "delta": "1e-6"},
    "Budget": {"unit": "person", "neighbours": "add_remove", "epsilon": 1},
    "calibrate": {"family": BoundedRange, "k": 5, "epsilon": 1, "delta": "1e-6"},
    "expected_error": {"n": 5, "gap": 1, "epsilon": 1, "sensitivity": 1},
    "explain": {"k": 2, "epsilon": 1},
    "gap_p_value": {"gap": 1, "rate": 1, "noise": "laplace"},
    "gap_confidence_bound": {
        "gap": 1,
        "threshold": 3,
        "alpha": "1/20",
        "threshold_rate": 1,
        "value_rate": 2,
        "noise": "laplace",
    },
    "estimate_from_gaps": {
        "measurements": [1, 2],
        "gaps": [1],
        "rate": 1,
        "noise": "laplace",
        "measured_rate": 1,
    },
    "estimate_from_threshold": {"measurement": 1, "gap": 1, "threshold": 2, "variance_ratio": 1},
}


def parameters(name: str) -> list[str]:
    """The parameters of a function, but not the scores."""
    found = inspect.signature(PUBLIC[name]).parameters
    return [each for each in found if each not in _DATA]


def call(name: str, **given: Any) -> None:
    """Call a function on a few scores; of a session, ask one thing too."""
    function = PUBLIC[name]
    first = next(iter(inspect.signature(function).parameters))
    data = (
        [_ROWS if name.endswith("_many") else SCORES]
        if first in ("scores", "counts", "values")
        else []
    )
    found = function(*data, **given)
    repr(found)
    if callable(found):
        found(SCORES)
    if isinstance(found, (SparseVector, AdaptiveSparseVector)):
        found.query(3)
    if isinstance(found, PayWhatYouGet):
        found.query(SCORES, k=1, k_bar=2, places="all")
