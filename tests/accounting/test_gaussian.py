"""`GaussianDP` as a public guarantee: it composes, and a ledger writes, reads and prices it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from ledgers import TERMS

from safeselect import Budget, GaussianDP, ParameterError
from safeselect.promises.guarantees import guarantee_record

VECTORS = Path(__file__).parents[1] / "vectors" / "measurements.json"
NOISE = GaussianDP("1/9")


def test_delta_is_the_published_one() -> None:
    (vector,) = (
        each
        for each in json.loads(VECTORS.read_text("utf-8"))
        if each["name"] == "gaussian_delta_sensitivity_1"
    )
    given = vector["inputs"]
    found = GaussianDP(1 / Fraction(given["sigma_squared"])).delta(given["epsilon"])
    published = Fraction(vector["output"]["continuous_and_rounded_bound"])
    assert abs(found - published) <= published / 2**60
    # The discrete law is above: it is not Gaussian-DP.
    assert found < Fraction(vector["output"]["discrete"])


@pytest.mark.parametrize(
    ("budget", "price"),
    [({"rho": 1}, {"rho": Fraction(1, 18)}), ({"epsilon": 3, "delta": "1e-6"}, None)],
)
def test_a_budget_prices_it(budget: dict, price: dict | None) -> None:
    terms = Budget(**TERMS, **budget)
    found = terms.price(NOISE)
    if price is None:  # ln M(a) = a (a - 1) mu**2 / 2
        for name, excess in terms.terms.moments.items():
            exact = (1 + excess) * excess / 18
            assert exact <= found[name] <= exact * (1 + Fraction(1, 2**60))
        assert (found["epsilon"], found["not_pure"], found["own_delta"]) == (0, 1, 0)
    else:
        assert found == price
    assert guarantee_record(NOISE) == {"type": "GaussianDP", "mu_squared": "1/9"}


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"}]
)
def test_a_budget_that_it_does_not_bound_refuses_it(budget: dict) -> None:
    with pytest.raises(ParameterError, match="GaussianDP cannot be charged to this budget"):
        Budget(**TERMS, **budget).price(NOISE)


def test_gaussian_guarantees():
    at = GaussianDP(Fraction(16, 9)).approximate("1e-6").epsilon
    known = Fraction("6.8026572844381809376")
    assert known <= at <= known * (1 + Fraction(1, 10**11))
    assert GaussianDP("0.5").zcdp.rho == Fraction(1, 4)
    assert GaussianDP(1).pure is None
    assert GaussianDP(0).delta(0) == 0
    assert GaussianDP(0).approximate("1e-9").epsilon == 0
    assert GaussianDP(1).approximate("0.9").epsilon == 0
