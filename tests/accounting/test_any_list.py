"""Whatever the list: it ends, its two bounds do not cross, and no valid bound contradicts another.

Kinds are mixed; sizes, counts and deltas go to their ends.  A bound is the least of several on
grids of their own, so more parts may come out a little cheaper; but never below what some adversary
reaches with fewer of them.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import (
    ApproximateDP,
    BoundedRange,
    GaussianDP,
    LaplaceDominated,
    ParameterError,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.accounting import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
from safeselect.accounting.composition import Composition, _best, _ordered, compose_delta
from safeselect.accounting.repetition import Repeated

pytestmark = [pytest.mark.claim("C2"), pytest.mark.slow("several bounds for each of many lists")]

NEAR = Fraction(1, 10)

USUAL = st.fractions(Fraction(1, 200), 3, max_denominator=200)
ENDS = [Fraction(1, 10**300), Fraction(1, 2**63), Fraction(1, 10**9), 4, Fraction(41, 10), 50]
ENDS += [Fraction(2**300 - 1, 3 * 2**300)]
SIZES = st.one_of(USUAL, USUAL, st.sampled_from([*map(Fraction, ENDS), Fraction(10**30)]))
FEW = st.integers(1, 20)
COUNTS = st.one_of(FEW, FEW, st.sampled_from([511, 513, 1024, 1025, 10**5, 10**6 + 1, 2**40]))
DELTAS = [Fraction(1, 10**n) for n in (300, 60, 12, 6, 2)]
DELTAS += [Fraction(1, 2), 1 - Fraction(1, 2**60)]

BASES = st.builds(lambda kind, e: kind(e), st.sampled_from([PureDP, BoundedRange]), USUAL)
PARTS = st.one_of(
    *(SIZES.map(kind) for kind in (BoundedRange, LaplaceDominated, PureDP)),
    SIZES.map(lambda size: GaussianDP(size * size)),
    SIZES.map(lambda size: ZeroConcentratedDP(size * size / 2)),
    st.builds(ApproximateDP, SIZES, st.sampled_from(["1e-40", "1e-12", "1e-5"])),
    st.builds(DiscreteLaplace, USUAL, st.integers(1, 9)),
    st.builds(DiscreteGaussian, st.fractions(Fraction(1, 4), 1000), st.integers(1, 5)),
    st.builds(RandomizedResponse, st.sampled_from(["0.01", "1/2", "0.99"]), st.integers(2, 9)),
    st.builds(Repeated, BASES, st.sampled_from([0, 1, "-1/2"]), st.sampled_from(["1/10", "1/2"])),
)
LISTS = st.lists(st.tuples(PARTS, COUNTS), min_size=1, max_size=6)


def composed(parts: list, delta: Fraction, near: Fraction | None = NEAR) -> Composition | None:
    """As `compose`, with counts; None where the parts have more delta than the total."""
    try:
        return _best(_ordered(parts), delta, near)
    except ParameterError:
        if not any(isinstance(part, ApproximateDP) for part, _ in parts):
            raise
        return None


def weaker(part):
    """The same part by what it implies."""
    if isinstance(part, (BoundedRange, LaplaceDominated)):
        return PureDP(part.epsilon)
    if isinstance(part, (DiscreteLaplace, RandomizedResponse)):
        return part.pure
    return part.zcdp if isinstance(part, (DiscreteGaussian, GaussianDP)) else part


@given(parts=LISTS, delta=st.sampled_from(DELTAS), place=st.integers(0, 5))
@settings(max_examples=2000 if LONG else 4)
def test_bounds_of_any_list_agree(parts, delta, place):
    found = composed(parts, delta)
    if found is None:
        return
    epsilon = found.guarantee.epsilon
    assert 0 <= found.lower <= epsilon
    assert epsilon <= composed(parts, delta, None).guarantee.epsilon

    # What a theorem allows for more, for weaker parts, or for less delta, it allows for this list.
    place %= len(parts)
    more = [*parts, (parts[place][0], 1)]
    implied = [(weaker(part), count) for part, count in parts]
    for others, at in ((more, delta), (implied, delta), (parts, delta / 2)):
        other = composed(others, at)
        assert other is None or other.guarantee.epsilon >= found.lower
    less = composed(parts, (1 + delta) / 2)
    assert less is None or less.lower <= epsilon

    if delta < Fraction(9, 10) and sum(count for _, count in parts) < 200:
        listed = [part for part, count in parts for _ in range(count)]
        back = compose_delta(listed, epsilon, NEAR)
        assert back.lower <= delta
