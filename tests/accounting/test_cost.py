"""The total of a call: warned of where it protects nobody; the noise of a set chosen at once."""

from __future__ import annotations

import warnings
from fractions import Fraction

import mpmath
import pytest
from entry_points import FUNCTIONS, call, parameters

import safeselect
from safeselect import SafeSelectWarning
from safeselect.accounting.cost import PrivacyCost
from safeselect.accounting.moments import bun_steinke_rho
from vectors import vectors

WARNING = [name for name in FUNCTIONS if "epsilon" in parameters(name)]
WARNING = [name for name in WARNING if name not in ("Budget", "calibrate")]
"""A budget, and an answer about many releases, may be as large as they like."""


@pytest.mark.parametrize("name", WARNING)
def test_every_mechanism_warns_of_a_large_epsilon_before_anything_is_drawn(name: str) -> None:
    def draw(_: int) -> bytes:
        raise AssertionError("nothing is to be drawn")

    given = {key: each for key, each in FUNCTIONS[name].items() if key not in ("rho", "base")}
    if "source" in parameters(name):
        given["source"] = safeselect.sources.CallbackSource(draw, exclusive=True, name="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SafeSelectWarning)
        with pytest.raises(SafeSelectWarning, match=r"^epsilon=10\.01 is above 10: "):
            call(name, **{**given, "epsilon": 10.01})


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
