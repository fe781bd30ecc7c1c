"""Published formulas: printed numbers, rounded towards privacy."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.moments import (
    bun_steinke_epsilon,
    bun_steinke_rho,
    dong_durfee_rogers_epsilon,
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


@pytest.mark.parametrize("name", VECTORS["f7_zcdp_to_dp"]["cases"])
def test_from_zcdp(name):
    case, (rho, epsilon, _) = VECTORS["f7_zcdp_to_dp"]["cases"][name], named(name)
    # Two ways to say the same, at the delta of Lemma 3.5 there.
    delta = Fraction(case["bs16"])
    assert abs(bun_steinke_epsilon(rho, delta) - Fraction(epsilon)) < Fraction(1, 10**15)
    assert abs(bun_steinke_rho(epsilon, delta) - Fraction(rho)) < Fraction(1, 10**15)
    assert bun_steinke_rho(epsilon, delta) <= Fraction(rho) * (1 + Fraction(1, 2**60))


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
