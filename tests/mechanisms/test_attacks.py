"""Attacks on arithmetic, in two halves: the obvious code falls, ours does not.

The first half guards the second: an attack that hits nothing proves nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import safeselect
from safeselect import ScoreError, permute_and_flip, top_k
from safeselect.exact.interval import NoiseRate
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading
from safeselect.spec.rankings import ExponentialNoise, combine_exponential
from safeselect.testing import DeterministicSource

BASE = 2**60

pytestmark = [pytest.mark.claim("C3")]

MECHANISMS = {
    "permute_and_flip": permute_and_flip,
    "exponential_mechanism": safeselect.exponential_mechanism,
    "base 2": safeselect.exponential_mechanism_base2,
    "peeled": lambda scores, **options: top_k(scores, k=1, mechanism="permute_and_flip", **options),
    "one shot": lambda scores, **options: top_k(
        scores, k=2, mechanism="one_shot_exponential", **options
    ),
}


def outcomes(call, scores, *, epsilon, runs=40):
    """What the same tapes lead to: equal lists for equal laws, whatever the law is."""
    found = []
    for seed in range(runs):
        source = DeterministicSource(seed, i_understand_this_is_not_private=True)
        result = call(scores, epsilon=epsilon, sensitivity=1, source=source)
        found.append(result.indices if hasattr(result, "indices") else result.index)
    return found


def shortfalls(scores, *, minimize=False, grid=None):
    reading = Reading.read(grid=grid, on_grid=False, score_error=None)
    steps = read_candidates(scores).scores_on_grid(reading, minimize=minimize).tolist()
    return [max(steps) - step for step in steps]


def naive_softmax(scores, epsilon, *, shift):
    weights = np.exp(epsilon / 2 * (np.array(scores, dtype=float) - (max(scores) if shift else 0)))
    return weights / weights.sum()


# --------------------------------------------------------------- A1: overflow and underflow


def test_a1_naive_weights_overflow_on_one_neighbour_only():
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        fine = naive_softmax([1419, 0], 1, shift=False)
        broken = naive_softmax([1420, 0], 1, shift=False)
    rng.choice(2, p=fine)
    with pytest.raises(ValueError, match="NaN"):
        rng.choice(2, p=broken)
    with np.errstate(all="ignore"):
        assert np.isfinite(naive_softmax([-1490, -1490], 1, shift=False)).all()
        assert np.isnan(naive_softmax([-1491, -1491], 1, shift=False)).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a1_ours_behaves_the_same_on_both(name):
    call = MECHANISMS[name]
    for scores, neighbour in (([1419, 0], [1420, 0]), ([-1490, -1490], [-1491, -1491])):
        ours = outcomes(call, scores, epsilon=1)
        assert (ours, len(ours)) == (outcomes(call, neighbour, epsilon=1), 40)


# ------------------------------------------------------------ A2: absorption by a common offset


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
def test_a2_naive_noise_vanishes_beside_a_large_offset(noise):
    """At 2**60 floats are 256 apart: a lead of 128 rounds to nothing, one of 129 to 256."""
    runs, rng, better_wins = 200, np.random.default_rng(2), []
    for lead in (128, 129):
        scores = np.array([BASE, BASE + lead], dtype=np.int64)
        draws = getattr(rng, noise)(scale=2.0, size=(runs, 2))
        better_wins.append((scores + draws).argmax(axis=1).mean())
    assert better_wins == [0.0, 1.0]  # one release tells the neighbours apart


@pytest.mark.claim("C3")
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1, "0.01"])
def test_a2_ours_sees_differences_only(name, epsilon):
    call = MECHANISMS[name]
    for lead in (128, 129):
        plain = outcomes(call, [lead, 0], epsilon=epsilon)
        for offset in (BASE, -BASE, 2**62, 10**30):
            moved = [offset + lead, offset]
            assert outcomes(call, moved, epsilon=epsilon, runs=15) == plain[:15]
            if abs(offset) < 2**63:
                array = np.array(moved, dtype=np.int64)
                assert outcomes(call, array, epsilon=epsilon, runs=15) == plain[:15]
        assert shortfalls([BASE + lead, BASE]) == [0, lead]


# ------------------------------------------------------------------------- A3: integer wrap


def test_a3_naive_differences_wrap():
    extremes = np.array([2**63 - 1, -(2**63), 0])
    assert (extremes.max() - extremes)[1] == -1
    small = np.array([127, -128, 0], dtype=np.int8)
    assert (small.max() - small)[1] == -1
    lopsided = np.array([2**62, -(2**62) - 5])
    assert (lopsided.max() - lopsided).min() < 0
    with np.errstate(all="ignore"):
        assert (-np.array([2, 1], dtype=np.uint64)).argmax() == 1  # minimizing by a sign: right ...
        assert (-np.array([2, 0], dtype=np.uint64)).argmax() == 0  # ... and wrong


# ------------------------------------------------------------------------ A4: reachable outputs


def test_a4_naive_noisy_values_tell_where_they_came_from():
    """Adding to 1 rounds to multiples of 2**-53: most floats near 0 cannot be such a sum."""
    draws = np.random.default_rng(4).laplace(size=2000)
    unreachable = [
        y
        for y in 0 + draws
        if all(1 + x != y for x in (y - 1, np.nextafter(y - 1, 9), np.nextafter(y - 1, -9)))
    ]
    assert len(unreachable) > 0.4 * len(draws)


def test_a4_ours_releases_no_values_and_reaches_every_candidate_from_every_score():
    for scores in itertools.product(range(3), repeat=3):
        reached = {
            combine_exponential(scores, ExponentialNoise(floors, ranks), 1).indices
            for floors in itertools.product(range(4), repeat=3)
            for ranks in itertools.permutations(range(3))
        }
        assert reached == {(0,), (1,), (2,)}
    result = permute_and_flip([1, 2, 3], epsilon=1, sensitivity=1)
    assert {field.name for field in dataclasses.fields(result)} == {
        *("label", "index", "gap"),
        *("guarantee", "parts", "mechanism", "source", "provenance", "receipt"),
    }
    assert result.gap is None


# ------------------------------------------------------------------- A5: truncated noise


def test_a5_naive_gumbel_noise_ends():
    largest = -math.log(-math.log(1 - 2**-53))
    smallest = -math.log(-math.log(2**-53))
    assert largest < 36.75
    assert smallest > -3.61
    # Beyond 40.3 rates no draw lets the smaller of two scores win: its probability is exactly 0.
    assert largest - smallest < 40.4


# ------------------------------------------------------------------------------- A8: NaN


def test_a8_naive_maximum_follows_nan():
    assert np.argmax([1, np.nan, 5]) == 1
    assert max([float("nan"), 1.0]) != max([1.0, float("nan")])
    assert not np.isinf(np.nan)  # a check for infinity lets it pass


@pytest.mark.parametrize("name", MECHANISMS)
def test_a8_ours_refuses_with_one_sentence(name):
    messages = set()
    for scores in (
        [1.0, math.nan, 5.0],
        [math.nan, 77.0, 1.0],
        np.array([1, math.inf, 2]),
        [-math.inf, 0, 0],
        [Decimal("NaN"), 0, 0],
    ):
        with pytest.raises(ScoreError, match="must be finite numbers, not NaN or inf") as caught:
            MECHANISMS[name](scores, epsilon=1, sensitivity=1, grid=1)
        messages.add(str(caught.value))
    assert len(messages) == 1


# ------------------------------------------------------------------- A9: absorption in sums


def test_a9_naive_cumulative_sums_lose_small_weights_by_order():
    weights = np.array([1.0] + [2.0**-54] * 4096)
    forward, backward = np.cumsum(weights), np.cumsum(weights[::-1])[::-1]
    assert (forward == 1.0).all()  # every candidate but the first has probability exactly 0
    assert backward[0] > 1.0  # the other way round they keep it


# ---------------------------------------------------------------------- A10: coins of exp(-x)


def test_a10_naive_coins_stop_falling():
    """A uniform float is a multiple of 2**-53: below exp(-x) lies 0 alone, or nothing."""
    chances = {
        x: sum(k * 2.0**-53 < math.exp(-x) for k in range(4)) for x in (37, 100, 700, 745, 746)
    }
    assert chances == {37: 1, 100: 1, 700: 1, 745: 1, 746: 0}


@pytest.mark.parametrize("x", [37, 100, 700, 745, 746, 10**6])
def test_a10_ours_knows_them_apart(x):
    low, high = NoiseRate(Fraction(x)).power(1, 0, 80).fractions()
    with mpmath.workdps(60):
        true = mpmath.exp(-mpmath.mpf(x))
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert true <= mpmath.mpf(high.numerator) / high.denominator
    assert 0 < low < high <= low * (1 + Fraction(1, 2**78))


# --------------------------------------------------------------------- A15: messages as oracles


def naive_choice(scores):
    weights = [math.exp(score) for score in scores]
    chances = [weight / sum(weights) for weight in weights]
    if not math.isclose(sum(chances), 1):
        raise RuntimeError(f"probabilities {chances} of scores {scores} do not add up")
    return chances


def test_a15_a_naive_message_quotes_the_scores():
    with pytest.raises(
        (RuntimeError, OverflowError, ZeroDivisionError),
        match=r"probabilities \[nan, nan\] of scores \[nan,",
    ) as caught:
        naive_choice([float("nan"), 31337.0 / 100])
    assert "313.37" in str(caught.value)


@pytest.mark.claim("C10")
@pytest.mark.parametrize("name", MECHANISMS)
def test_a15_our_messages_are_the_same_for_all_scores(name):
    call = MECHANISMS[name]

    def message(scores, **options):
        with pytest.raises(ValueError, match=r".") as caught:
            call(scores, **{"epsilon": 1, "sensitivity": 1, **options})
        return str(caught.value)

    for build in (
        lambda x: ([x, x / 3], {}),
        lambda x: ([int(x), None], {}),
        lambda x: ([x, float("nan")], {"grid": 1}),
        lambda x: ([int(x), 1], {"epsilon": 10**8}),
        lambda x: ([int(x), 1], {"labels": ["a"]}),
        lambda x: (np.array([[x]]), {}),
        lambda x: (np.array([str(x)]), {}),
    ):
        (one, options), (other, _) = build(31337.5), build(7.25)
        assert message(one, **options) == message(other, **options)


# ------------------------------------------------------------------- A16: silent float columns


def test_a16_naive_arrays_turn_integers_into_floats():
    assert np.asarray([2**63, -1]).dtype == np.float64
    assert np.asarray([2**53 + 1, 0.5])[0] == 2**53
    assert np.asarray([2**64]).dtype == object


def test_a16_ours_reads_element_by_element():
    assert shortfalls([2**63, -1]) == [0, 2**63 + 1]
    assert shortfalls([2**53 + 1, 2**53, 0.5], grid="0.5")[:2] == [0, 2]
    assert shortfalls([2**64 + 1, 2**64]) == [0, 1]
    with pytest.raises(ScoreError, match="without grid=, scores must be integers"):
        shortfalls([2**53 + 1, 0.5])
    options = {"epsilon": 2**19, "sensitivity": 1}
    assert permute_and_flip([2**63, 2**63 + 1, -1], **options).index == 1
