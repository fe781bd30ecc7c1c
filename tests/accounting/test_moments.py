"""Rényi moments against the paper, and published closed forms, rounded towards privacy."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest
from composed import composed_epsilon
from effort import some
from mpmath import mpmathify as mp

import safeselect as s
from safeselect.accounting.moments import (
    bun_steinke_epsilon,
    bun_steinke_rho,
    dong_durfee_rogers_epsilon,
    epsilon_at_order,
    epsilon_by_orders,
    log_moment,
)
from vectors import vectors

pytestmark = pytest.mark.claim("C2")
VECTORS = vectors("guarantees")
DELTAS = ("1e-12", "1e-6", "0.01", "0.4")


def moment(guarantee, a: mpmath.mpf) -> mpmath.mpf:
    """E[(ratio)**(a - 1)] of the worst pair, as written in docs/mathematics.md."""
    if isinstance(guarantee, s.ZeroConcentratedDP):
        return mpmath.exp(a * (a - 1) * mp(guarantee.rho))
    e = mp(guarantee.epsilon)
    if isinstance(guarantee, s.LaplaceDominated):
        return a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(
            -a * e
        )
    if isinstance(guarantee, s.PureDP):
        return (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
    upper, lower = 1 - mpmath.exp(-a * e), mpmath.exp(-e) - mpmath.exp(-a * e)
    constant = (a - 1) ** (a - 1) / a**a
    return constant * upper**a / (lower ** (a - 1) * (1 - mpmath.exp(-e)))


def certified(parts, delta, a: mpmath.mpf) -> mpmath.mpf:
    """The epsilon that one order certifies."""
    log_product = mpmath.fsum(count * mpmath.log(moment(each, a)) for each, count in parts)
    constant = (a - 1) * mpmath.log(a - 1) - a * mpmath.log(a)
    return (log_product + constant - mpmath.log(mp(delta))) / (a - 1)


def best_certificate(parts, delta) -> mpmath.mpf:
    """The smallest over all orders, by golden section on a logarithmic scale."""
    golden = (mpmath.sqrt(5) - 1) / 2

    def at(x):
        return certified(parts, delta, 1 + mpmath.exp(x))

    start = min((mpmath.mpf(x) / 2 for x in range(-40, 60)), key=at)
    low, high = start - 1, start + 1
    for _ in range(70):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at((low + high) / 2)


PARTS = [
    [(s.BoundedRange("0.1"), 10)],
    [(s.BoundedRange(1), 2)],
    [(s.BoundedRange(3), 40)],
    [(s.LaplaceDominated("0.05"), 100)],
    [(s.LaplaceDominated(2), 5)],
    [(s.PureDP("0.2"), 30)],
    [(s.PureDP(5), 3)],
    [(s.ZeroConcentratedDP("0.1"), 1)],
    [(s.ZeroConcentratedDP("0.001"), 50)],
    [(s.BoundedRange("0.1"), 10), (s.LaplaceDominated(1), 1), (s.PureDP("0.3"), 4)],
    [(s.BoundedRange("0.5"), 3), (s.ZeroConcentratedDP("0.02"), 2)],
]


@pytest.mark.parametrize(("parts", "delta"), some(itertools.product(PARTS, DELTAS), 3), ids=str)
def test_the_stated_epsilon_is_certified_and_nearly_the_best(parts, delta):
    ours, _ = epsilon_by_orders(parts, Fraction(delta))
    assert composed_epsilon(parts, delta, None) <= ours * (1 + Fraction(1, 10**9))
    with mpmath.workdps(50):
        best = best_certificate(parts, delta)
        best = max(best, mpmath.mpf(0))  # at a large delta nothing is left to pay for
        assert mp(ours) >= best * (1 - mpmath.mpf(10) ** -14)
        assert mp(ours) <= best * (1 + mpmath.mpf(10) ** -6)


@pytest.mark.parametrize("excess", [Fraction(1, 100), Fraction(1, 2), Fraction(7), Fraction(300)])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_every_order_is_the_paper_s_formula(parts, excess):
    low, high = epsilon_at_order(parts, Fraction(1, 10**6), excess, 300).fractions()
    with mpmath.workdps(60):
        true = certified(parts, "1e-6", 1 + mp(excess))
        assert mp(low) - abs(true) / 10**40 <= true <= mp(high) + abs(true) / 10**40
        assert mp(high) - mp(low) <= abs(true) / 10**40


def test_approximate_dp_has_no_moments():
    with pytest.raises(s.ParameterError, match="does not bound Rényi moments"):
        log_moment(s.ApproximateDP(1, "1e-9"), Fraction(3), 100)


def named(name: str) -> list[str]:
    return [part.split("=")[1] for part in name.split(",")]


def above(ours: Fraction, printed: str) -> None:
    """At least the printed number (to its last digit), and next to nothing more."""
    theirs = Fraction(printed)
    assert theirs * (1 - Fraction(1, 10**27)) <= ours <= theirs * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("name", VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"])
def test_adaptive_bounds_for_bounded_range(name):
    case, (epsilon, k, delta) = VECTORS["f8_adaptive_BR_bound_eps_g"]["cases"][name], named(name)
    above(dong_durfee_rogers_epsilon(Fraction(epsilon), int(k), Fraction(delta)), case["ddr20"])


@pytest.mark.parametrize("name", VECTORS["f7_zcdp_to_dp"]["cases"])
def test_from_zcdp(name):
    case, (rho, epsilon, _) = VECTORS["f7_zcdp_to_dp"]["cases"][name], named(name)
    # Two ways to say the same, at the delta of Lemma 3.5 there.
    delta = Fraction(case["bs16"])
    assert abs(bun_steinke_epsilon(Fraction(rho), delta) - Fraction(epsilon)) < Fraction(1, 10**15)
    assert abs(bun_steinke_rho(Fraction(epsilon), delta) - Fraction(rho)) < Fraction(1, 10**15)
    assert bun_steinke_rho(Fraction(epsilon), delta) <= Fraction(rho) * (1 + Fraction(1, 2**60))
