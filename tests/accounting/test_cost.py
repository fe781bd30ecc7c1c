"""Every mechanism warns of an epsilon that protects nobody."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import safeselect
from safeselect import SafeSelectWarning

CALLS: dict[str, dict[str, Any]] = {
    "permute_and_flip": {"sensitivity": 1},
    "exponential_mechanism": {"sensitivity": 1},
    "exponential_mechanism_base2": {"sensitivity": 1},
    "report_noisy_max": {"sensitivity": 1, "noise": "laplace"},
    "permute_and_flip_with_gap": {"sensitivity": 1},
    "exponential_mechanism_with_gap": {"sensitivity": 1},
    "report_noisy_max_with_gap": {"sensitivity": 1, "noise": "laplace"},
    "top_k": {"sensitivity": 1, "k": 1},
    "top_k_with_gaps": {"sensitivity": 1, "k": 1},
    "top_k_above": {"sensitivity": 1, "k": 1, "threshold": 3},
    "select_many": {"sensitivity": 1},
    "top_k_many": {"sensitivity": 1, "k": 1},
    "unknown_domain_top_k": {"k": 1, "k_bar": 1, "delta": "1e-9", "places": "all"},
    "SparseVector": {"sensitivity": 1, "k": 1, "threshold": 3},
    "AdaptiveSparseVector": {"sensitivity": 1, "k": 1, "threshold": 3},
    "PayWhatYouGet": {"outcomes": 5, "queries": 1, "delta": "1e-9"},
    "explain": {"k": 1},
    "expected_error": {"n": 5, "gap": 1, "sensitivity": 1},
}


ELSEWHERE = {
    *("PureDP", "ApproximateDP", "BoundedRange", "LaplaceDominated", "Budget", "calibrate"),
    # The functions prepare these, and so warn.
    *("ExponentialMechanism", "ExponentialMechanismBase2", "PermuteAndFlip", "ReportNoisyMax"),
    "TopKMechanism",
    *("measure", "partition_strategy", "quantile", "quantiles", "select_partitions"),
}


def test_every_function_with_an_epsilon_is_here() -> None:
    found = {
        name
        for name in safeselect.__all__
        if callable(function := getattr(safeselect, name))
        and not (isinstance(function, type) and issubclass(function, Exception))
        and "epsilon" in inspect.signature(function).parameters
    }
    assert found == CALLS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CALLS)
def test_every_mechanism_warns_of_a_large_epsilon_before_anything_is_drawn(name: str) -> None:
    function = getattr(safeselect, name)
    first = next(iter(inspect.signature(function).parameters))
    data = {"scores": [1, 2, 3], "counts": {"a": 3, "b": 2}}
    scores: list[Any] = (
        [[[1, 2, 3]]] if name.endswith("_many") else [data[first]] if first in data else []
    )

    def draw(_: int) -> bytes:
        raise AssertionError("nothing is to be drawn")

    more = {**CALLS[name], "epsilon": 10.01}
    if "source" in inspect.signature(function).parameters:
        more["source"] = safeselect.CallbackSource(draw, exclusive=True, name="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SafeSelectWarning)
        with pytest.raises(SafeSelectWarning, match=r"^epsilon=10\.01 is above 10: "):
            function(*scores, **more)
