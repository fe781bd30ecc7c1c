"""`GaussianDP` as a public guarantee: it composes, and a ledger writes, reads and prices it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from ledgers import TERMS

from safeselect import Budget, GaussianDP
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


def test_a_budget_prices_it() -> None:
    assert Budget(**TERMS, rho=1).price(NOISE) == {"rho": Fraction(1, 18)}
    both = Budget(**TERMS, epsilon=3, delta="1e-6")
    found = both.price(NOISE)
    for name, excess in both.terms.moments.items():  # ln M(a) = a (a - 1) mu**2 / 2
        exact = (1 + excess) * excess / 18
        assert exact <= found[name] <= exact * (1 + Fraction(1, 2**60))
    assert (found["epsilon"], found["not_pure"], found["own_delta"]) == (0, 1, 0)
    assert guarantee_record(NOISE) == {"type": "GaussianDP", "mu_squared": "1/9"}


def test_gaussian_guarantees():
    at = GaussianDP(Fraction(16, 9)).approximate("1e-6").epsilon
    known = Fraction("6.8026572844381809376")
    assert known <= at <= known * (1 + Fraction(1, 10**11))
    assert GaussianDP("0.5").zcdp.rho == Fraction(1, 4)
    assert GaussianDP(1).pure is None
    assert GaussianDP(0).delta(0) == 0
    assert GaussianDP(0).approximate("1e-9").epsilon == 0
    assert GaussianDP(1).approximate("0.9").epsilon == 0
