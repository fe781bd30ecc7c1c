"""Certificates: no transcript of a small session is likelier than promised on a neighbour.

All vectors of up to four values in 0 .. 3, all neighbours of them, all transcripts, gaps included;
with the rates, places, margins and costs that the shipped code works out.  The broken variants that
the literature has collected go through the same checker, which must refuse them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sparse_vector_laws import Certificate, Rules, certify, nodes, outcomes

from safeselect import AdaptiveSparseVector, LaplaceDominated, PureDP, SparseVector

pytestmark = pytest.mark.claim("C2")

EPSILON = 4
TOLERANCE = 1e-9  # far above the roundings of the quadrature, which are below 1e-13
NOISES = ("exponential", "laplace", "geometric")


def rules(kind=SparseVector, **options) -> Rules:
    options = {"threshold": 1, "k": 2, "epsilon": EPSILON, "sensitivity": 1, **options}
    return Rules.of(kind(**options)._terms)


def holds(found: Certificate) -> bool:
    return found.loss <= EPSILON + TOLERANCE and found.excess <= TOLERANCE


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.claim("C2")
def test_sparse_vector_keeps_its_promise(noise, k, monotonic):
    found = certify(rules(noise=noise, k=k, monotonic=monotonic), monotone=monotonic)
    assert holds(found)
    # The checker sees most of what is spent; with one-sided noise, all of it.
    assert found.loss > (0.6 if noise == "laplace" else 0.999) * EPSILON


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("noise", NOISES)
def test_the_adaptive_one_keeps_its_promise_and_what_each_answer_says_it_cost(noise, k, monotonic):
    shipped = rules(AdaptiveSparseVector, noise=noise, k=k, monotonic=monotonic, sigma=1)
    found = certify(shipped, monotone=monotonic)
    assert holds(found)
    assert found.loss > (0.6 if noise == "laplace" else 0.9) * EPSILON


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "options",
    [
        {"split": "1/10"},
        {"split": "9/10"},
        {"threshold": "7/3"},
        {"threshold": -2, "gap_grid": "3/2"},
        {"sensitivity": "3/4", "grid": 1},  # counts as 1
    ],
)
def test_any_split_threshold_and_gap_grid_is_as_private(noise, options):
    assert holds(certify(rules(noise=noise, **options), monotone=False, n=3))
    assert holds(certify(rules(AdaptiveSparseVector, noise=noise, **options), monotone=False, n=2))


def test_a_smaller_sensitivity_is_no_longer_enough_for_moves_of_one():
    """The checker's neighbours move by 1; noise for moves of 3/4 must be refused."""
    assert not holds(certify(rules(sensitivity="3/4"), monotone=False, n=2))


@pytest.mark.claim("C2")
def test_what_is_promised_is_the_strongest_kind_proved():
    for kind in (SparseVector, AdaptiveSparseVector):
        for noise in NOISES:
            session = kind(threshold=1, k=2, epsilon=EPSILON, sensitivity=1, noise=noise)
            family = PureDP if noise == "geometric" else LaplaceDominated
            assert session.guarantee == family(Fraction(EPSILON))


@pytest.mark.parametrize(
    ("start", "answer", "value", "chance"),
    [("1/2", "1/4", 3, "0.722277324864061833396849044498"), ("1/10", "1/5", 0, "0.5")],
)
@pytest.mark.claim("C1")
def test_the_quadrature_gives_the_chance_of_above_of_lemma_3(start, answer, value, chance):
    """The published one, of a value so far above the threshold."""
    epsilon = Fraction(start) + Fraction(answer)
    given = {"epsilon": epsilon, "split": Fraction(start) / epsilon, "monotonic": True}
    shipped = rules(k=1, threshold=0, noise="laplace", **given)
    eta, weight = nodes(shipped)
    below = outcomes(shipped, value, eta)[("below",)][0] @ weight
    assert abs(1 - below - float(chance)) < 1e-12


# --------------------------------------------------------------------------- broken variants


def missing_factor_two(noise):
    """Monotone noise for values that move both ways."""
    return rules(noise=noise, k=1, split="1/4", monotonic=True), EPSILON


def not_scaled_with_k(noise):
    """Every answer gets the noise of a session for one answer (Lee and Clifton's variant)."""
    one, two = rules(noise=noise, k=1, split="1/3"), rules(noise=noise, k=2, split="1/3")
    return two.with_rate(one.ways[0].rate), EPSILON


def the_noisy_value_itself(noise):
    """Above, value + noise is released with the noise that was compared (Roth's variant)."""
    return replace(rules(noise=noise, k=1, epsilon=8), released="value"), 8


BROKEN = [missing_factor_two, not_scaled_with_k, the_noisy_value_itself]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("noise", NOISES)
def test_the_checker_refuses_what_is_known_to_be_broken(broken, noise):
    variant, epsilon = broken(noise)
    assert certify(variant, monotone=False).loss > epsilon + 0.01


@pytest.mark.parametrize("noise", NOISES)
def test_the_checker_refuses_answers_that_understate_their_cost(noise):
    shipped = rules(AdaptiveSparseVector, noise=noise, monotonic=True, sigma=1)
    top, middle = shipped.ways
    cheap = replace(shipped, ways=(top, replace(middle, cost=top.cost)))
    assert certify(cheap, monotone=True, n=3).excess > 0.01
