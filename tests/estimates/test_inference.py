"""Expected gap, p-value and confidence bound: against vectors, integrals and their own promises."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from effort import some
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from mpmath import mpmathify as to_mpf

from safeselect.estimates import gap_confidence_bound, gap_p_value
from safeselect.estimates.inference import TAILS
from vectors import vectors


def tail(noise, t, threshold_rate, value_rate, precision=256):
    return TAILS[noise](t, threshold_rate, value_rate, precision)


VECTORS = vectors("estimates")
FAST = settings(derandomize=True, deadline=None, max_examples=40)
NOISES = ("exponential", "laplace", "gumbel")
ULP = Fraction(1, 2**62)  # all results are given to 64 significant bits
DIGITS = Fraction(1, 10**28)  # to which published numbers are compared
RATES = st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9)


def published(group: str) -> list[tuple[str, Fraction]]:
    return [(case, Fraction(text)) for case, text in VECTORS[group]["cases"].items()]


def parameters(case: str) -> dict[str, Fraction]:
    names = {"eps0": "threshold_rate", "epsstar": "value_rate", "t": "t"}
    pairs = (part.split("=") for part in case.split(","))
    return {names[name]: Fraction(value) for name, value in pairs}


# Tail, density and distribution function of each noise at rate 1.
LAWS = {
    "exponential": (
        lambda x: mpmath.exp(-x) if x > 0 else mpf(1),
        lambda x: mpmath.exp(-x) if x > 0 else mpf(0),
    ),
    "laplace": (
        lambda x: mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2,
        lambda x: mpmath.exp(-abs(x)) / 2,
    ),
    "gumbel": (lambda x: -mpmath.expm1(-mpmath.exp(-x)), lambda x: mpmath.exp(-x - mpmath.exp(-x))),
}


def wins_by(noise: str, scores: list, winner: int, gap) -> mpf:
    """P(winner wins by more than gap) at rate 1, by an integral over the best of the others."""
    survival, _ = LAWS[noise]
    rest = [score for place, score in enumerate(scores) if place != winner]
    own = scores[winner]
    kinks = sorted({mpf(-40), *map(mpf, rest), mpf(own - gap), mpf(50)})

    def below(x):
        return mpmath.fprod(1 - survival(x - score) for score in rest)

    # By parts: the density of the best of the others against the winner's tail.
    _, density = LAWS[noise]
    return mpmath.quad(lambda x: below(x) * density(x + gap - own), kinks)


# ----------------------------------------------------------------------------------------- p-value


@pytest.mark.parametrize(("gap", "value"), published("e2_gap_p_value_bound"))
def test_published_p_values(gap, value):
    found = gap_p_value(gap, rate=1, noise="gumbel")
    assert value * (1 - DIGITS) <= found <= value * (1 + ULP)
    # Units: at three times the rate a third of the gap says as much.
    assert gap_p_value(Fraction(gap) / 3, rate=3, noise="gumbel") == found


HYPOTHESES = [
    ([0, 1], 0),
    ([0, 0, 0, 0], 2),
    ([0, 3, -1], 0),
    ([2, 2, 0, 1, 1], 1),
    ([0, mpf("0.01"), -5, mpf("-0.5")], 0),
    ([1, 8, 9], 1),
]


@pytest.mark.parametrize(
    ("noise", "hypothesis"), some([(n, h) for n in NOISES for h in HYPOTHESES], 2), ids=str
)
def test_p_value_holds_given_who_won(noise, hypothesis):
    """Somebody else's score is as large: so large a gap is at most as likely as the p-value."""
    scores, winner = hypothesis
    with mpmath.workdps(15):
        wins = wins_by(noise, scores, winner, 0)
        for gap in (Fraction(1, 10), Fraction(1), Fraction(4)):
            true = wins_by(noise, scores, winner, to_mpf(gap)) / wins
            found = to_mpf(gap_p_value(gap, rate=1, noise=noise))
            assert true <= found * (1 + mpf("1e-9"))
            if noise == "exponential":
                assert abs(true - found) < 1e-9  # without memory: always exactly so


# -------------------------------------------------------------------------------- confidence bound


@pytest.mark.parametrize(("case", "value"), published("h1b_lemma3_quantile"))
def test_published_quantiles(case, value):
    bound = gap_confidence_bound(
        7, threshold=100, alpha="0.05", noise="laplace", **parameters(case)
    )
    t = 107 - bound
    assert value * (1 - DIGITS) <= t <= value * (1 + ULP)


def convolved(noise: str, t: mpf, threshold_rate: mpf, value_rate: mpf) -> mpf:
    """P(value's noise - threshold's noise > t) by an integral, both of mean 0."""
    survival, density = LAWS[noise]
    mean = 1 if noise == "exponential" else 0
    start, kink = -mean / threshold_rate, -mean / value_rate - t

    def integrand(y):
        own = survival(value_rate * (y + t) + mean)
        return own * threshold_rate * density(threshold_rate * y + mean)

    ends = [mpf(-60) / threshold_rate, mpf(0), start, kink, mpf(60) / threshold_rate]
    return mpmath.quad(integrand, sorted({end for end in ends if abs(end) < 1e9}))


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("rates", [(1, 1), (2, 1), (1, 3), (Fraction(1, 7), Fraction(1, 3))])
@pytest.mark.parametrize("t", [Fraction(0), Fraction(1, 2), Fraction(3)])
def test_tails_by_convolution(noise, rates, t):
    first, second = map(Fraction, rates)
    with mpmath.workdps(20):
        true = convolved(noise, to_mpf(t), to_mpf(first), to_mpf(second))
        low, high = tail(noise, t, first, second, 128).fractions()
        assert abs(to_mpf(low) - true) < 1e-10
        assert high - low < Fraction(1, 2**100)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@given(RATES, RATES, st.sampled_from(["0.9", "0.5", "0.4999", "0.05", "1e-9", "1e-300"]))
@FAST
def test_the_quantile_is_safe_and_the_smallest(noise, first, second, alpha):
    bound = gap_confidence_bound(
        0, threshold=0, alpha=alpha, threshold_rate=first, value_rate=second, noise=noise
    )
    t = -bound
    assert t >= 0
    assert tail(noise, t, first, second, 300).fractions()[1] <= Fraction(alpha)
    if t:
        less = t - Fraction(1, 2**60) / min(first, second)
        assert less <= 0 or tail(noise, less, first, second, 300).fractions()[0] > Fraction(alpha)
