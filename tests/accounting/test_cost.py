"""The total of a call: warned of where it protects nobody; the noise of a set chosen at once."""

from __future__ import annotations

import inspect
import warnings
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from public import PUBLIC

import safeselect
from safeselect import SafeSelectWarning
from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.moments import bun_steinke_rho
from vectors import vectors

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
        for name, function in PUBLIC.items()
        if callable(function)
        and not (isinstance(function, type) and issubclass(function, Exception))
        and "epsilon" in inspect.signature(function).parameters
    }
    assert found == CALLS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CALLS)
def test_every_mechanism_warns_of_a_large_epsilon_before_anything_is_drawn(name: str) -> None:
    function = PUBLIC[name]
    first = next(iter(inspect.signature(function).parameters))
    data = {"scores": [1, 2, 3], "counts": {"a": 3, "b": 2}}
    scores: list[Any] = (
        [[[1, 2, 3]]] if name.endswith("_many") else [data[first]] if first in data else []
    )

    def draw(_: int) -> bytes:
        raise AssertionError("nothing is to be drawn")

    more = {**CALLS[name], "epsilon": 10.01}
    if "source" in inspect.signature(function).parameters:
        more["source"] = safeselect.sources.CallbackSource(draw, exclusive=True, name="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SafeSelectWarning)
        with pytest.raises(SafeSelectWarning, match=r"^epsilon=10\.01 is above 10: "):
            function(*scores, **more)


VECTORS = vectors("guarantees")


def named(name: str) -> list[str]:
    return [part.split("=")[1] for part in name.split(",")]


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", VECTORS["h5_seed000_std"]["cases"])
def test_standard_deviations_of_one_shot_noise(name):
    """Laplace noise in one shot against Gumbel noise of the same total, by the published route."""
    case, (k, d, epsilon, delta) = VECTORS["h5_seed000_std"]["cases"][name], named(name)
    rho = bun_steinke_rho(Fraction(epsilon), Fraction(delta))
    total = PrivacyCost.read(epsilon=epsilon, rho=None, delta=delta)
    _, rate = total.unordered(int(d), int(k), Fraction(2))  # each score moves by at most 1
    with mpmath.workdps(40):
        prime = 2 * mpmath.sqrt(mpmath.mpf(rho.numerator) / rho.denominator)
        laplace = mpmath.sqrt(2) * rate.denominator / rate.numerator
        ours = {
            "eps_prime": prime,
            "sigma_gumbel": mpmath.pi * mpmath.sqrt(int(k)) / (mpmath.sqrt(6) * prime),
            "sigma_lap_counts": 2 * mpmath.sqrt(2 * int(k)) / prime,
            "sigma_lap_oneshot": laplace,
        }
        for key, value in ours.items():
            assert abs(value / mpmath.mpf(case[key]) - 1) < mpmath.mpf(10) ** -15, key
        assert ours["sigma_gumbel"] < laplace / 4
