"""What is promised: published numbers, the theorems between the kinds, exact laws below them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import get_args

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safeselect as s
from safeselect.accounting.composition import Accounted
from safeselect.accounting.moments import log_moment
from safeselect.exact.parameters import MAX_BITS
from vectors import mp, vectors

pytestmark = pytest.mark.claim("C2")

VECTORS = vectors("guarantees")
PURE_KINDS = (s.BoundedRange, s.LaplaceDominated, s.PureDP)  # from the strongest to the weakest
FAST = settings(derandomize=True, deadline=None, max_examples=40)
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000)
DELTAS = st.fractions(
    min_value=Fraction(1, 10**9), max_value=Fraction(999, 1000), max_denominator=10**9
)
SOME = [Fraction(x) for x in ("1/1000", "1/10", "1/2", "1", "2", "3", "7", "20")]
ORDERS = [Fraction(x) for x in ("1.001", "1.1", "1.5", "2", "3", "8", "30", "200")]


def agrees(ours: Fraction, printed: str, digits: int) -> bool:
    """Equal to so many digits, and never less than what was printed beyond its last digit."""
    theirs = Fraction(printed)
    return -theirs / 10**29 <= ours - theirs <= theirs / 10**digits


def true_value(function) -> Fraction:
    """A formula evaluated by mpmath with 60 digits."""
    with mpmath.workdps(60):
        sign, mantissa, exponent, _ = mpmath.mpf(function())._mpf_
    return Fraction(int(mantissa) * (-1) ** sign) * Fraction(2) ** exponent


# -------------------------------------------------------------------------- published numbers


@pytest.mark.parametrize("name", VECTORS["f4_single_mechanism_delta"]["cases"])
def test_delta_of_one_mechanism(name):
    case = VECTORS["f4_single_mechanism_delta"]["cases"][name]
    epsilon, at = (part.split("=")[1] for part in name.split(","))
    for kind, key in ((s.PureDP, "pure"), (s.LaplaceDominated, "laplace"), (s.BoundedRange, "br")):
        assert agrees(kind(epsilon).delta(at), case[key], 18), key


@pytest.mark.parametrize("name", VECTORS["f5_zcdp_parameters"]["cases"])
def test_zcdp_of_one_mechanism(name):
    case = VECTORS["f5_zcdp_parameters"]["cases"][name]
    assert agrees(s.BoundedRange(name).zcdp.rho, case["br_exact_KLmax"], 18)
    assert agrees(s.LaplaceDominated(name).zcdp.rho, case["laplace_dominated"], 18)
    assert agrees(s.PureDP(name).zcdp.rho, case["pure_exact"], 18)
    assert s.BoundedRange(name).zcdp.rho < Fraction(case["br_hoeffding"])
    assert s.PureDP(name).zcdp.rho < Fraction(case["pure_simple"])


@pytest.mark.parametrize("name", VECTORS["f6_renyi"]["cases"])
def test_renyi_divergences(name):
    case = VECTORS["f6_renyi"]["cases"][name]
    epsilon, order = (Fraction(part.split("=")[1]) for part in name.split(","))
    for kind, key in ((s.PureDP, "pure"), (s.LaplaceDominated, "laplace"), (s.BoundedRange, "br")):
        low, high = log_moment(kind(epsilon), order - 1, 160).fractions()
        theirs = Fraction(case[key]) * (order - 1)
        assert abs(low - theirs) <= theirs / 10**28, key
        assert abs(high - theirs) <= theirs / 10**28, key


@pytest.mark.parametrize("name", VECTORS["f7_zcdp_to_dp"]["cases"])
def test_zcdp_to_approximate_dp(name):
    """The conversion at the vector's order bounds ours, which searches for the best order."""
    case = VECTORS["f7_zcdp_to_dp"]["cases"][name]
    rho, epsilon = (Fraction(part.split("=")[1]) for part in name.split(",")[:2])
    ours = s.ZeroConcentratedDP(rho).approximate(case["cks"]).epsilon
    assert ours <= epsilon * (1 + Fraction(1, 10**12))
    assert ours > epsilon * Fraction(999, 1000)
    # The older conversion needs more epsilon for the same delta.
    assert ours < true_value(
        lambda: mp(rho) + 2 * mpmath.sqrt(mp(rho) * mpmath.log(1 / mpmath.mpf(case["cks"])))
    )


@pytest.mark.parametrize("rho", ["1e-30", "1e-12", "0.001", "0.125", "1", "30", "1e6"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-9", "0.01", "0.5", "0.999999"])
def test_no_order_is_better_for_zcdp(rho, delta):
    """Against the least value of the formula, found by thirds between 1 + 2**-100 and 2**1100."""
    with mpmath.workdps(60):

        def epsilon(log_x):
            x = mpmath.exp(log_x)
            bend = x * log_x - (1 + x) * mpmath.log1p(x)
            return (1 + x) * mpmath.mpf(rho) + (bend - mpmath.log(mpmath.mpf(delta))) / x

        low, high = mpmath.mpf(-70), mpmath.mpf(770)
        for _ in range(120):
            third = (high - low) / 3
            if epsilon(low + third) < epsilon(high - third):
                high -= third
            else:
                low += third
        ours = mp(s.ZeroConcentratedDP(rho).approximate(delta).epsilon)
        assert ours <= max(epsilon(low), 0) * (1 + mpmath.mpf(2) ** -30) + mpmath.mpf(2) ** -3999


# ------------------------------------------------------------------- values: exact, right, rounded


@pytest.mark.parametrize("kind", PURE_KINDS)
@given(epsilon=EPSILONS, delta=DELTAS)
@FAST
def test_approximate_is_the_inverse_of_delta(kind, epsilon, delta):
    guarantee = kind(epsilon)
    found = guarantee.approximate(delta)
    assert type(found) is s.ApproximateDP
    assert found.delta == delta
    assert 0 <= found.epsilon <= epsilon
    # It holds ...
    assert guarantee.delta(found.epsilon) <= delta * (1 + Fraction(1, 2**50))
    # ... and nothing smaller does.
    if found.epsilon > Fraction(1, 10**9):
        smaller = found.epsilon * (1 - Fraction(1, 2**20))
        assert guarantee.delta(smaller) >= delta * (1 - Fraction(1, 2**50))
    else:
        assert guarantee.delta(0) <= delta * (1 + Fraction(1, 2**20))


def test_an_approximate_guarantee_holds_at_every_larger_delta():
    own = s.ApproximateDP(1, "0.01")
    assert own.approximate("0.01") == own
    assert own.approximate("0.5") == s.ApproximateDP(1, "0.5")
    with pytest.raises(s.ParameterError, match="delta must be at least 1/100"):
        own.approximate("0.009")


# ------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("kind", PURE_KINDS)
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 2**2100), Fraction(1, 2**4000), Fraction(2**4000), Fraction(10**9)]
)
def test_extreme_parameters_give_bounds_and_no_crash(kind, epsilon):
    guarantee = kind(epsilon)
    assert 0 < guarantee.zcdp.rho <= max(epsilon, Fraction(1, 2 ** (MAX_BITS - 100)))
    assert 0 < guarantee.delta(0) <= 1
    assert guarantee.delta(epsilon / 2) <= guarantee.delta(0)
    for delta in ("1e-300", "0.999999"):
        assert 0 <= guarantee.approximate(delta).epsilon <= epsilon


@pytest.mark.parametrize("kind", PURE_KINDS)
def test_zero_promises_everything(kind):
    assert (kind(1).pure, kind(0).delta(0)) == (s.PureDP(1), 0)
    assert kind(0).zcdp.rho == 0
    assert kind(0).approximate("1e-9").epsilon == 0
    assert log_moment(kind(0), Fraction(3), 64).fractions() == (0, 0)


@pytest.mark.parametrize("kind", get_args(Accounted))
def test_no_guarantee_has_a_subclass(kind: type) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} cannot be subclassed"):
        type("Mine", (kind,), {})


def test_guarantees_are_values():
    assert s.BoundedRange("0.1") == s.BoundedRange(0.1) == s.BoundedRange(Fraction(1, 10))
    assert s.BoundedRange(1) != s.LaplaceDominated(1)
    assert len({s.PureDP(1), s.PureDP("1"), s.PureDP(1.0)}) == 1
    with pytest.raises(AttributeError, match="cannot assign to field"):
        s.PureDP(1).epsilon = Fraction(1, 2)


# ----------------------------------------------------- the theorems that the guarantees rest on


@pytest.mark.parametrize("kind", PURE_KINDS)
def test_rho_is_the_supremum_of_the_renyi_curve(kind):
    """ln M(a) <= a (a - 1) rho for every order, and towards order 1 it comes within 1e-4."""
    for epsilon in SOME:
        rho = kind(epsilon).zcdp.rho
        for order in [1 + Fraction(1, 10**6), *ORDERS, Fraction(10**4)]:
            low, high = log_moment(kind(epsilon), order - 1, 300).fractions()
            assert low <= high
            assert high <= order * (order - 1) * rho * (1 + Fraction(1, 2**60))
        low, _ = log_moment(kind(epsilon), Fraction(1, 10**6), 300).fractions()
        assert low / (Fraction(1, 10**6) * (1 + Fraction(1, 10**6))) >= rho * Fraction(9999, 10000)


# ------------------------------------------------------------------- exact laws of the mechanisms


NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def permute_and_flip(scores, rate):
    """McKenna and Sheldon's law, by its integral: of a polynomial, so without error."""
    chances = np.exp(-rate * (max(scores) - np.array(scores)))
    lost = 1 - np.outer(chances, (NODES + 1) / 2)
    return [
        chance * WEIGHTS @ np.prod(np.delete(lost, r, 0), 0) / 2 for r, chance in enumerate(chances)
    ]


def exponential_mechanism(scores, rate):
    best = max(scores)
    weights = [math.exp(-rate * (best - score)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def noisy_max_laplace(scores, rate):
    """By quadrature from score to score: in between all functions are sums of exponentials."""
    means = np.array(scores, float)[:, None] * rate
    ends = np.unique([means.min() - 45, *means[:, 0], means.max() + 45])
    half = np.diff(ends)[:, None] / 2
    x, weights = (ends[:-1, None] + half * (NODES + 1)).ravel(), (half * WEIGHTS).ravel()
    density = np.exp(-abs(x - means)) / 2
    below = np.where(x < means, density, 1 - density)
    return [weights @ (density[r] * np.prod(np.delete(below, r, 0), 0)) for r in range(len(scores))]


LAWS = {
    "permute_and_flip": (permute_and_flip, s.LaplaceDominated),
    "noisy_max_laplace": (noisy_max_laplace, s.LaplaceDominated),
    "exponential_mechanism": (exponential_mechanism, s.BoundedRange),
}


def test_the_laws_of_this_file_are_distributions_with_the_published_values():
    assert permute_and_flip([0, 1], 3)[0] == pytest.approx(0.024893534183931972, rel=1e-13)
    assert noisy_max_laplace([0, 1], 3)[0] == pytest.approx(0.06223383545982993, rel=1e-12)
    assert exponential_mechanism([0, 1], 3)[0] == pytest.approx(0.04742587317756678, rel=1e-13)
    for law, _ in LAWS.values():
        assert sum(law([0, 0.3, 1.7, 0.2], 1.3)) == pytest.approx(1, abs=1e-12)


def excess_of(law, kind, epsilon, scores, moved) -> float:
    """How far two neighbours' laws exceed what the guarantee allows, both ways round."""
    p, q = law(scores, epsilon), law(moved, epsilon)
    guarantee, worst = kind(Fraction(epsilon)), -math.inf
    for left, right in ((p, q), (q, p)):
        for order in ORDERS:
            a = float(order)
            logs = [
                a * math.log(x) + (1 - a) * math.log(y) for x, y in zip(left, right, strict=True)
            ]
            moment = max(logs) + math.log(sum(math.exp(log - max(logs)) for log in logs))
            allowed = float(log_moment(guarantee, order - 1, 200).fractions()[1])
            worst = max(worst, (moment - allowed) / (a - 1))
        for step in range(9):
            at = Fraction(epsilon) * step / 8
            stick = sum(
                max(x - math.exp(float(at)) * y, 0) for x, y in zip(left, right, strict=True)
            )
            worst = max(worst, stick - float(guarantee.delta(at)))
        worst = max(worst, max(math.log(x / y) for x, y in zip(left, right, strict=True)) - epsilon)
    return worst


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("epsilon", [0.125, 3.0])
def test_no_exact_law_exceeds_its_guarantee_on_a_lattice(name, epsilon):
    """All pairs of three scores from 0, 1/2, 1, 2 that move by 0 or 1 each: the worst cases."""
    law, kind = LAWS[name]
    for scores in itertools.product((0, 0.5, 1, 2), repeat=2):
        for moves in itertools.product((0, 1), repeat=3):
            start = [*scores, 0.5]
            moved = [score + move for score, move in zip(start, moves, strict=True)]
            assert excess_of(law, kind, epsilon, start, moved) <= 1e-7
