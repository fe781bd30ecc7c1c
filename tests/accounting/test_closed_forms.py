"""Published formulas: printed numbers, rounded towards privacy; the limit is no guarantee."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from safeselect import (
    ApproximateDP,
    BoundedRange,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
    compose,
)
from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.theorems.closed_forms import (
    bun_steinke_delta,
    bun_steinke_epsilon,
    bun_steinke_rho,
    dong_durfee_rogers_epsilon,
    durfee_rogers_epsilon,
    gaussian_limit,
    renyi_delta,
)

pytestmark = pytest.mark.claim("C2")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guarantees.json").read_text())


def above(ours: Fraction, printed: str) -> None:
    """At least the printed number (to its last digit), and next to nothing more."""
    theirs = Fraction(printed)
    assert theirs * (1 - Fraction(1, 10**27)) <= ours <= theirs * (1 + Fraction(1, 10**15))


def named(name: str) -> list[str]:
    return [part.split("=")[1] for part in name.split(",")]


@pytest.mark.parametrize("name", VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"])
def test_adaptive_bounds_for_bounded_range(name):
    case, (epsilon, k, delta) = VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"][name], named(name)
    above(dong_durfee_rogers_epsilon(epsilon, int(k), delta), case["ddr20"])
    above(durfee_rogers_epsilon(epsilon, int(k), delta), case["dr19"])


def test_the_three_ways_of_durfee_and_rogers():
    """Few draws are best summed, many small ones take the third form."""
    assert durfee_rogers_epsilon(1, 2, "1e-6") == 2
    with mpmath.workdps(40):
        third = 100 * mpmath.mpf("0.005") + mpmath.mpf("0.1") * mpmath.sqrt(50 * mpmath.log(10**6))
        above(durfee_rogers_epsilon("0.1", 100, "1e-6"), mpmath.nstr(third, 32))
        second = 4 * mpmath.tanh(2) * 300 + 4 * mpmath.sqrt(600 * mpmath.log(10))
        above(
            min(durfee_rogers_epsilon(4, 300, "0.1"), Fraction(1200)),
            mpmath.nstr(min(second, 1200), 32),
        )


@pytest.mark.parametrize("name", VECTORS["f7_zcdp_to_dp"]["cases"])
def test_from_zcdp(name):
    case, (rho, epsilon, order) = VECTORS["f7_zcdp_to_dp"]["cases"][name], named(name)
    above(bun_steinke_delta(rho, epsilon), case["bs16"])
    above(renyi_delta(rho, epsilon, order), case["cks"])
    best = renyi_delta(rho, epsilon)
    assert best <= renyi_delta(rho, epsilon, order)
    assert best > renyi_delta(rho, epsilon, order) / 2
    # Three ways to say the same.
    delta = bun_steinke_delta(rho, epsilon)
    assert abs(bun_steinke_epsilon(rho, delta) - Fraction(epsilon)) < Fraction(1, 10**15)
    assert abs(bun_steinke_rho(epsilon, delta) - Fraction(rho)) < Fraction(1, 10**15)
    assert bun_steinke_rho(epsilon, delta) <= Fraction(rho) * (1 + Fraction(1, 2**60))


def test_edges_of_the_conversions():
    assert bun_steinke_delta(1, 1) == bun_steinke_delta(1, 0) == 1
    assert renyi_delta(100, 0) == 1
    for order in (1, "0.5", 0):
        with pytest.raises(ParameterError, match="order"):
            renyi_delta(1, 1, order)


@pytest.mark.parametrize("name", VECTORS["h5_seed000_std"]["cases"])
def test_standard_deviations_of_one_shot_noise(name):
    """Laplace noise in one shot against Gumbel noise of the same total, by the published route."""
    case, (k, d, epsilon, delta) = VECTORS["h5_seed000_std"]["cases"][name], named(name)
    rho = bun_steinke_rho(epsilon, delta)
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


# ------------------------------------------------------------------------------- the limit


def test_the_gaussian_limit_is_near_and_is_no_guarantee():
    ranged = gaussian_limit([BoundedRange("1/20")] * 400)
    classical = gaussian_limit([PureDP("1/10")] * 400)
    assert (ranged.mu, classical.mu) == (Fraction(1, 2), 2)
    assert abs(ranged.delta("1/2") - Fraction("0.05244")) < Fraction(1, 10**5)
    assert abs(classical.delta("1/2") - Fraction("0.59919")) < Fraction(1, 10**5)
    with pytest.raises(ParameterError, match="every part must be a guarantee"):
        compose([ranged], "1e-6")
    assert "not a guarantee" in " ".join(type(ranged).__doc__.replace("*", "").split())
    assert not hasattr(ranged, "approximate")


def test_the_gaussian_limit_of_zcdp_is_the_gaussian_mechanism():
    limit = gaussian_limit([ZeroConcentratedDP("0.1")])
    with mpmath.workdps(40):
        mu = mpmath.sqrt(mpmath.mpf("0.2"))
        exact = mpmath.ncdf(mu / 2 - 1 / mu) - mpmath.e * mpmath.ncdf(-mu / 2 - 1 / mu)
        ours = limit.delta(1)
        assert (
            abs(mpmath.mpf(ours.numerator) / ours.denominator / exact - 1) < mpmath.mpf(10) ** -15
        )
    for wrong in ([], [PureDP(0)], [ApproximateDP(1, "0.1")]):
        with pytest.raises(ParameterError, match="Gaussian limit"):
            gaussian_limit(wrong)
