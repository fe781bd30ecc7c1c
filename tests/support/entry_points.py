"""Every public function with parameters that are right, so that one of them can be made wrong."""

from __future__ import annotations

import inspect
from typing import Any

from public import PUBLIC
from rules_table import EVERY

from safeselect import AdaptiveSparseVector, BoundedRange, PayWhatYouGet, SparseVector

SCORES = {"a": 5, "b": 1, "c": 3}
_DATA = ("scores", "counts", "values")
_ROWS = [[5, 1, 3], [1, 2, 3]]
_NOISE = {"noise": "laplace"}
_BOUND = {"gap": 1, "threshold": 3, "alpha": "1/20", "threshold_rate": 1, "value_rate": 2, **_NOISE}
_GAPS = {"measurements": [1, 2], "gaps": [1], "rate": 1, "measured_rate": 1, **_NOISE}

# Of what draws, the first variant in the table of rules; `EVERY` has those of a name in order.
FUNCTIONS: dict[str, dict[str, Any]] = {
    case.name: {**case.change, **case.cost, **case.fixed} for case in reversed(EVERY.values())
} | {
    "partition_strategy": {"max_partitions": 1, "epsilon": 1, "delta": "1e-6"},
    "measure": {"epsilon": 1, "sensitivity_l1": 1},
    "Budget": {"unit": "person", "neighbours": "add_remove", "epsilon": 1},
    "calibrate": {"family": BoundedRange, "k": 5, "epsilon": 1, "delta": "1e-6"},
    "expected_error": {"n": 5, "gap": 1, "epsilon": 1, "sensitivity": 1},
    "explain": {"k": 2, "epsilon": 1},
    "gap_p_value": {"gap": 1, "rate": 1, **_NOISE},
    "gap_confidence_bound": _BOUND,
    "estimate_from_gaps": _GAPS,
    "estimate_from_threshold": {"measurement": 1, "gap": 1, "threshold": 2, "variance_ratio": 1},
}
FUNCTIONS["exponential_mechanism_base2"] = {"base": "1/2", "sensitivity": 1}
FUNCTIONS["exponential_mechanism"] = {"rho": 1, "sensitivity": 1}


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
