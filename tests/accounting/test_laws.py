"""Discrete Laplace, discrete Gaussian and randomized response as parts of a list.

The truth is worked out here from the probabilities themselves, answer by answer and without any
loss, grid or tail of the package.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from effort import LONG, some
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpmathify as mp

from safeselect import BoundedRange, GaussianDP, compose
from safeselect.accounting import (
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
    compose_delta,
)

pytestmark = pytest.mark.claim("C2")

ANSWERS = 280  # on each side of 0: more would be below 10**-24 for the noises here


def pair(part, shift=None):
    """The probabilities of all answers on both data sets, but for what ANSWERS cuts off."""
    if isinstance(part, RandomizedResponse):
        other = mp(part.p) / part.n
        kept, rest = 1 - mp(part.p) + other, [other] * (part.n - 2)
        return [kept, other, *rest], [other, kept, *rest]
    if isinstance(part, DiscreteLaplace):
        weight = lambda x: mpmath.exp(-mp(part.epsilon) * abs(x))  # noqa: E731
    else:
        weight = lambda x: mpmath.exp(-mpmath.mpf(x * x) / (2 * mp(part.sigma2)))  # noqa: E731
    moved = part.shift if shift is None else shift
    whole = mpmath.nsum(weight, [-mpmath.inf, mpmath.inf])
    places = range(-ANSWERS, ANSWERS + moved + 1)
    return [weight(x) / whole for x in places], [weight(x - moved) / whole for x in places]


def merged(both):
    """Answers with the same likelihood ratio are worth one."""
    found = defaultdict(lambda: [mpmath.mpf(0), mpmath.mpf(0)])
    for p, q in zip(*both, strict=True):
        place = found[mpmath.nstr(p / q, 15)]
        place[0] += p
        place[1] += q
    return [tuple(place) for place in found.values() if max(place) > mpmath.mpf(10) ** -30]


def hockey_stick(listed, epsilon):
    """delta at epsilon of all pairs together: every outcome of every one."""
    factor, total = mpmath.exp(epsilon), mpmath.mpf(0)
    for outcome in product(*(merged(both) for both in listed)):
        p = mpmath.fprod(both[0] for both in outcome)
        q = mpmath.fprod(both[1] for both in outcome)
        total += max(p - factor * q, 0)
    return total


PARTS = [
    DiscreteLaplace("1/2"),
    DiscreteLaplace("0.9", 3),
    DiscreteLaplace("1/3", 2),
    DiscreteGaussian(9),
    DiscreteGaussian("2.3", 2),
    DiscreteGaussian("0.4"),
    RandomizedResponse("1/4", 5),
    RandomizedResponse("0.9", 2),
]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_delta_alone_is_that_of_the_answers(part):
    for epsilon in ("0", "0.1", "0.5", "1", "1.7", "2.9"):
        with mpmath.workdps(40):
            true = hockey_stick([pair(part)], mp(Fraction(epsilon)))
            found = mp(part.delta(epsilon))
            assert (
                true - mpmath.mpf(10) ** -24 <= found <= true * (1 + mpmath.mpf(2) ** -60) + 1e-24
            )


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_epsilon_is_the_inverse_of_delta(part):
    for delta in ("1e-1", "1e-3", "1e-9"):
        found = part.approximate(delta).epsilon
        assert part.delta(found) <= Fraction(delta) * (1 + Fraction(1, 2**60))
        assert not found or part.delta(found * (1 - Fraction(1, 2**30))) > Fraction(delta)
    for more in (part.pure, part.zcdp):
        if more is not None:
            slack = 1 + Fraction(1, 2**38)
            assert part.approximate("1e-6").epsilon <= more.approximate("1e-6").epsilon * slack


LISTS = [
    [DiscreteLaplace("1/2")] * 2 + [RandomizedResponse("1/4", 3)],
    [DiscreteLaplace("1/3", 2), DiscreteLaplace("0.21", 3), RandomizedResponse("0.6", 4)],
    [DiscreteGaussian("1.5"), RandomizedResponse("0.3", 2)],
    [DiscreteGaussian("0.7"), DiscreteLaplace("0.4", 2)],
]


@pytest.mark.parametrize("parts", some(LISTS, 2), ids=str)
def test_lists_against_all_outcomes(parts):
    for epsilon in ("0", "0.4", "1.1") if LONG else ("0.4",):
        composed = compose_delta(parts, epsilon, "1e-4")
        with mpmath.workdps(30):
            true = hockey_stick([pair(part) for part in parts], mp(Fraction(epsilon)))
        upper, lower = mp(composed.guarantee.delta), mp(composed.lower)
        assert lower <= true * (1 + mpmath.mpf(10) ** -12)
        assert upper >= true * (1 - mpmath.mpf(10) ** -12)
        assert upper <= true * (1 + mpmath.mpf(10) ** -3)
        assert lower >= true * (1 - mpmath.mpf(10) ** -2)


@given(
    parts=st.lists(st.sampled_from(PARTS[:7]), min_size=1, max_size=4),
    others=st.lists(st.sampled_from([BoundedRange("0.3"), GaussianDP("0.1")]), max_size=2),
    delta=st.sampled_from(["1e-7", "1e-2"]),
)
@settings(derandomize=True, deadline=None, max_examples=15 if LONG else 4)
def test_never_above_what_they_imply_and_the_bounds_never_cross(parts, others, delta):
    composed = compose([*parts, *others], delta, "1e-1")
    implied = compose([part.pure or part.zcdp for part in parts] + others, delta, "1e-1")
    assert composed.lower <= composed.guarantee.epsilon
    assert composed.guarantee.epsilon <= implied.guarantee.epsilon * (1 + Fraction(1, 2**20))
    alone = max(part.approximate(delta).epsilon for part in parts)
    assert alone <= composed.guarantee.epsilon * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    "part",
    some(
        [
            DiscreteGaussian(Fraction(1, 10**300)),
            DiscreteGaussian(2**19, 4096),
            DiscreteGaussian(Fraction(10**1000 + 1, 10**1000)),
            DiscreteLaplace(10**6, 4096),
            DiscreteLaplace(Fraction(1, 10**300)),
            RandomizedResponse(Fraction(1, 10**300), 2),
            RandomizedResponse(1 - Fraction(1, 10**300), 2**62),
        ],
        2,
    ),
    ids=str,
)
def test_extreme_laws_end_and_hold(part):
    assert 0 <= part.delta(10**9) <= part.delta(1) <= part.delta(0) <= 1
    found = part.approximate("1e-6").epsilon
    assert compose([part] * 3, "1e-6", "1e-1").guarantee.epsilon >= found
    implied = part.pure or part.zcdp
    assert found <= implied.approximate("1e-6").epsilon * (1 + Fraction(1, 2**38))


def test_what_a_law_leaves_out_counts():
    atoms = DiscreteGaussian(2).atoms(60)
    assert atoms.beyond > 0
    beyond = max(high for _, high in atoms.losses) + 1
    assert atoms.above([beyond]) == [atoms.beyond]
    assert sum(high for _, high in atoms.masses) + atoms.beyond >= 1 << 60
