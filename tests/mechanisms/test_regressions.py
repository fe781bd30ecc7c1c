"""Hazards that selection code is known to fall into: each one tried on ours.

Hazards of samplers, sources, tables and of the ledger are tested beside those; the arithmetic
attacks are in `test_attacks.py`.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeselect import (
    BoundedRange,
    LaplaceDominated,
    ParameterError,
    ScoreError,
    SourceError,
    engine,
    exponential_mechanism,
    exponential_mechanism_base2,
    permute_and_flip,
    report_noisy_max,
    top_k,
)
from safeselect.accounting.composition import composed_epsilon
from safeselect.exact.interval import NoiseRate
from safeselect.mechanisms import select
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import Reading
from safeselect.spec.rankings import ExponentialNoise, combine_exponential
from safeselect.testing import DeterministicSource

FAST = settings(derandomize=True, deadline=None, max_examples=30)
SHARP = {"epsilon": 2**20, "sensitivity": 1}  # a rate of 2**19: the noise is nothing

pytestmark = [
    pytest.mark.claim("C2"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]


def one(mechanism):
    def call(scores, **options):
        return top_k(scores, k=1, mechanism=mechanism, **options)

    return call


SELECT = {
    "permute_and_flip": permute_and_flip,
    "exponential_mechanism": exponential_mechanism,
    "base 2": exponential_mechanism_base2,
    "exponential noise": lambda s, **o: report_noisy_max(s, noise="exponential", **o),
    "laplace noise": lambda s, **o: report_noisy_max(s, noise="laplace", **o),
    "gumbel noise": lambda s, **o: report_noisy_max(s, noise="gumbel", **o),
    "top_k exponential": one("exponential"),
    "top_k base 2": one("exponential_base2"),
    "top_k peeled": one("permute_and_flip"),
    "top_k one shot": one("one_shot_exponential"),
}


def winner(result) -> int:
    return (
        result.index
        if hasattr(result, "index") and not callable(result.index)
        else (result.indices[0])
    )


def deterministic(seed=0):
    return DeterministicSource(seed, i_understand_this_is_not_private=True)


def shortfalls(scores, *, minimize=False, grid=None):
    reading = Reading.read(grid=grid, on_grid=False, score_error=None)
    steps = read_candidates(scores).scores_on_grid(reading, minimize=minimize).tolist()
    return [max(steps) - step for step in steps]


# ------------------------------------------------------------ the right end, the right candidate


@pytest.mark.parametrize("name", SELECT)
def test_without_noise_the_maximum_and_never_the_minimum(name):
    """Hazard: an option that turns the maximum into the minimum, on one path only."""
    call, options = SELECT[name], {**SHARP}
    assert winner(call([1, 2, 3], **options)) == 2
    assert winner(call([1, 2, 3], minimize=True, **options)) == 0
    assert winner(call([3, 2, 1], **options)) == 0
    assert winner(call([3, 2, 1], minimize=True, **options)) == 2


@pytest.mark.parametrize("name", SELECT)
def test_sure_outcomes(name):
    call, options = SELECT[name], {**SHARP}
    assert winner(call([1, 2, 30, 2, 1], **options)) == 2
    assert winner(call([1, 1, 100_000], **options)) == 2
    assert winner(call([1, 100_000, 100_000], minimize=True, **options)) == 0
    assert {winner(call([100, 0, 0], **options)) for _ in range(20)} == {0}


@pytest.mark.parametrize(
    "mechanism", ["exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential"]
)
def test_sure_outcomes_of_two(mechanism):
    options = {**SHARP, "mechanism": mechanism}
    assert top_k([0, 0, 20, 40], k=2, **options).indices == (3, 2)


@pytest.mark.parametrize("name", SELECT)
def test_equal_scores_leave_every_candidate_its_share(name):
    """Hazard: ties that go to the last, or the first.  False alarm: 3 * 0.9**300 < 1e-13."""
    source = deterministic()
    found = {winner(SELECT[name]([7] * 3, source=source, **SHARP)) for _ in range(60)}
    assert found == {0, 1, 2}


# ------------------------------------------------------------------ numbers that leave a float


@pytest.mark.parametrize("name", SELECT)
@pytest.mark.parametrize("epsilon", ["0.5", 30])
def test_large_utilities_neither_overflow_nor_fail(name, epsilon):
    """Hazard: exp() of a score; a sum of weights that is 0, infinite or not a number."""
    for scores in (
        [2980, 2981],
        [1000] * 50,
        [10**9, 0, 10**9 - 1],
        [-(10**9), -(10**9) - 5],
        [10**30, 0],
        [0, -(10**30)],
    ):
        result = SELECT[name](scores, epsilon=epsilon, sensitivity=1)
        assert 0 <= winner(result) < len(scores)


def test_no_candidate_is_further_than_the_noise_can_reach():
    """Hazard: a truncated distribution function that gives a candidate 74 behind nothing at all.

    What the noise must exceed is finite for every candidate, and every rate has all powers.
    """
    for behind in (40, 74, 745, 10**6):
        noise = ExponentialNoise((0, behind + 1), (1, 0))
        assert combine_exponential((behind, 0), noise, 1).indices == (1,)
        assert NoiseRate(Fraction(1)).power(behind, 0, 64).lower > 0


def test_differences_are_exact_where_int64_wraps():
    assert shortfalls(np.array([2**62, -(2**62) - 5])) == [0, 2**63 + 5]
    assert shortfalls([2**62, -(2**62) - 5], minimize=True) == [2**63 + 5, 0]


def test_ties_are_exact_only():
    """Hazard: scores that count as equal because they are close."""
    assert shortfalls([10**18, 10**18 + 1]) == [1, 0]
    third, hair = Fraction(1, 3), Fraction(1, 10**30)
    assert shortfalls([third, third + hair], grid=hair / 3) == [3, 0]
    assert shortfalls([0.1, 0.1 + 2**-56], grid=Fraction(1, 2**56)) == [1, 0]  # the next float
    assert shortfalls([0.1, 0.1 + 2**-56], grid="1e-17") == [1, 0]  # 1.39 steps apart


def test_scores_off_the_grid_of_floats_are_refused_or_rounded():
    """Hazard: scores 2**-1074 apart; differences of floats; a silent cast."""
    with pytest.raises(ScoreError, match="must be integers where no grid= is given"):
        shortfalls([0.0, 5e-324])
    assert shortfalls([0.0, 5e-324], grid="0.001") == [0, 0]
    assert shortfalls([Decimal("0.1"), 0.1, Fraction(1, 10)], grid="0.01") == [0, 0, 0]


def test_the_order_of_the_candidates_is_no_matter():
    """Reordered scores give reordered steps, and the noise does not look at them."""
    for order in itertools.permutations([2**63 - 1, 0, -(2**63)]):
        assert shortfalls(list(order)) == [2**63 - 1 - score for score in order]
        result = permute_and_flip(list(order), **SHARP)
        assert order[result.index] == 2**63 - 1


def test_a_fractional_sensitivity_is_used_exactly(monkeypatch):
    """Hazard: a ratio of rate and sensitivity that is rounded, or rounded on one path only."""
    seen = []

    def rank(noise, steps, k, noise_rate, bits, **options):
        seen.append((noise, noise_rate))
        return select.Ranking((0,), None)

    monkeypatch.setattr(engine, "noisy_top_k", rank)
    for call in (permute_and_flip, exponential_mechanism):
        call([1, 2], epsilon="1/3", sensitivity="2/7")
    assert seen == [(noise, NoiseRate(Fraction(7, 12))) for noise in ("exponential", "gumbel")]


@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=5),
    st.lists(st.integers(0, 1), min_size=5, max_size=5),
)
@FAST
def test_cutting_is_monotone_and_never_stretches(values, moves):
    """Hazard: clamping that moves a score by more than the unit of privacy did."""
    far = 2**64 - 3
    scores = [value - far * (i % 2) for i, value in enumerate(values)]
    moved = [score + move for score, move in zip(scores, moves, strict=False)]
    pairs = list(zip(shortfalls(scores), shortfalls(moved), strict=True))
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        assert abs((a - b) - (c - d)) <= 1
    for (score, (cut, _)), (other, (other_cut, _)) in itertools.combinations(
        zip(scores, pairs, strict=True), 2
    ):
        assert (score - other) * (other_cut - cut) >= 0


# -------------------------------------------------------------------------------- accounting


def test_counts_are_counted():
    """Hazard: the count of a composed event that one branch forgets."""
    for kind in (BoundedRange, LaplaceDominated):
        once = composed_epsilon([(kind(1), 1)], "1e-6")
        many = composed_epsilon([(kind(1), 25)], "1e-6")
        assert many > 3 * once
        assert abs(many - composed_epsilon([(kind(1), 1)] * 25, "1e-6")) < many / 10**9
        assert composed_epsilon([(kind(0), 25)], "1e-6") == 0


def test_permute_and_flip_is_never_billed_as_the_exponential_mechanism():
    """Hazard: epsilon**2 / 8 for a law whose rho is close to epsilon**2 / 2."""
    for epsilon in ("0.01", 1, 3):
        result = permute_and_flip([1, 2], epsilon=epsilon, sensitivity=1)
        # n = 2, scores half a step apart that change places: KL bounds rho from below.
        e = float(Fraction(epsilon))
        p = math.exp(-e / 2) / 2
        divergence = (1 - 2 * p) * math.log((1 - p) / p)
        assert float(result.guarantee.zcdp.rho) >= divergence
        assert divergence > e**2 / 8


@pytest.mark.claim("C2")
@pytest.mark.parametrize(
    ("k", "monotonic", "epsilon", "rho"),
    [(1, False, 2, "1/2"), (1, True, 1, "1/8"), (2, False, 4, 1), (2, True, 2, "1/4")],
)
def test_the_privacy_map_at_scale_one(k, monotonic, epsilon, rho):
    """Gumbel noise of scale 1 on scores of sensitivity 1: what it costs, both ways of counting."""
    options = {"k": k, "sensitivity": 1, "monotonic": monotonic, "mechanism": "exponential"}
    result = top_k([1, 2, 3], epsilon=epsilon, **options)
    each = result.parts[0].epsilon
    assert each / (1 if monotonic else 2) == 1
    assert sum(part.epsilon for part in result.parts) == epsilon
    cost = sum(part.zcdp.rho for part in result.parts)
    assert Fraction(rho) * Fraction(9, 10) < cost < Fraction(rho)


# ----------------------------------------------------------------------------- k and the list


@pytest.mark.parametrize("k", [-1, 0, 4, 2**32, 2**32 + 1, 2**32 + 3, 2**64 + 3])
def test_k_never_wraps(k):
    with pytest.raises(ParameterError, match="between 1 and 3"):
        top_k([1, 2, 3], k=k, epsilon=1, sensitivity=1)


@pytest.mark.parametrize("k", [1.5, 1.0, "2", None, True, np.float64(1), Fraction(2)])
def test_k_is_no_other_number(k):
    with pytest.raises(ParameterError, match="k must be an integer"):
        top_k([1, 2, 3], k=k, epsilon=1, sensitivity=1)


@pytest.mark.parametrize(
    "mechanism",
    ["exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential", "laplace"],
)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_k_at_its_ends(mechanism, n):
    """Hazard: an index beyond the end where k + 1 candidates are looked at."""
    total = {"epsilon": "0.2", "delta": "0.05"}
    for k in {1, max(1, n - 1), n}:
        if mechanism == "laplace" and n == 1:
            continue
        result = top_k(list(range(n)), k=k, sensitivity=1, mechanism=mechanism, **total)
        assert len(set(result.indices)) == k
        assert set(result.indices) <= set(range(n))


@pytest.mark.parametrize("name", SELECT)
def test_an_empty_list_is_an_error_and_no_empty_release(name):
    for empty in ([], {}, np.array([], dtype=int)):
        with pytest.raises(ScoreError, match="at least one candidate"):
            SELECT[name](empty, epsilon=1, sensitivity=1)


# -------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("name", SELECT)
@pytest.mark.parametrize("parameter", ["epsilon", "sensitivity"])
@pytest.mark.parametrize("bad", [0, 0.0, -0.0, -1, math.nan, math.inf, True, None, "nan", b"1"])
def test_no_zero_no_nan_no_infinity(name, parameter, bad):
    """Hazard: a scale of 0 that means no noise; NaN that passes every comparison."""
    with pytest.raises(ParameterError) as caught:
        SELECT[name]([1, 2], **{"epsilon": 1, "sensitivity": 1, parameter: bad})
    assert parameter in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (0, "epsilon must be greater than zero, got 0 (int)"),
        (-1, "epsilon must be greater than zero, got -1 (int)"),
        (math.nan, "epsilon must be a finite number, got nan (float)"),
        (True, "epsilon must be a number, got True (bool)"),
        (
            "0,5",
            "epsilon must be a finite number, got '0,5' (str); write a decimal point, not a comma",
        ),
    ],
)
def test_messages_say_what_is_right(bad, sentence):
    """Hazard: a message that states the opposite of the rule."""
    with pytest.raises(ParameterError) as caught:
        permute_and_flip([1, 2], epsilon=bad, sensitivity=1)
    assert str(caught.value).startswith(sentence)  # all of it: tests/test_mistakes.py


@pytest.mark.claim("C10")
@pytest.mark.parametrize("value", [2**40, 2**70, -(2**70), 1099511627776.5, "secret 31337"])
def test_no_message_quotes_a_score(value):
    for scores in ([value, None], [value, 1j], [[value]], {"a": value, "b": 0.5}, value):
        with pytest.raises(ScoreError) as caught:
            shortfalls(scores)
        assert str(value) not in str(caught.value)
        assert "31337" not in str(caught.value)


@given(
    st.lists(
        st.integers(-(2**70), 2**70) | st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
        min_size=1,
        max_size=6,
    )
)
@FAST
def test_valid_scores_always_give_a_result(scores):
    """Hazard: an exception that only some data raise."""
    source = deterministic()
    for call in SELECT.values():
        result = call(scores, epsilon="0.5", sensitivity=1, source=source)
        assert 0 <= winner(result) < len(scores)


# ---------------------------------------------------------------------------------- sources


class Odd:
    """A source that is wrong in one way."""

    name = "Odd"
    production = True

    def __init__(self, how):
        self.how = how

    def begin(self):
        return {"nonce none": None, "nonce short": b"x", "nonce text": "0" * 16}.get(
            self.how, os.urandom(16)
        )

    def fill(self, buffer):
        if self.how == "raises":
            raise SourceError("failed")
        buffer[:] = os.urandom(len(buffer))


@pytest.mark.parametrize("name", SELECT)
@pytest.mark.parametrize("how", ["nonce none", "nonce short", "nonce text", "raises"])
def test_a_broken_source_gives_no_output(name, how):
    """Hazard: an unchecked read."""
    with pytest.raises(SourceError, match=r"gave something other|failed while drawing|the source"):
        SELECT[name]([1, 2], epsilon=1, sensitivity=1, source=Odd(how))


@pytest.mark.parametrize(
    "source", [0, 42, np.random.default_rng(1), np.random.RandomState(1), os.urandom, b"seed"]
)
def test_generators_for_simulations_are_no_source(source):
    with pytest.raises(ParameterError, match=r"is not a source|not a seed|cannot be the source"):
        permute_and_flip([1, 2], epsilon=1, sensitivity=1, source=source)


# ------------------------------------------------------------- ties below the grid, and at the top


def test_ties_are_broken_by_every_ranking_alike():
    """Hazard: a tie-break that compares numbers of different lengths and always goes one way."""
    for n in (2, 3, 4):
        first = Counter(
            combine_exponential([5] * n, ExponentialNoise((2,) * n, ranks), 1).indices[0]
            for ranks in itertools.permutations(range(n))
        )
        assert set(first.values()) == {math.factorial(n - 1)}
        assert len(first) == n


def test_the_best_candidate_wins_whenever_the_others_noise_is_nothing():
    """Hazard: a candidate accepted with probability 1 that is rejected all the same."""
    for scores in itertools.product(range(3), repeat=3):
        for ranks in itertools.permutations(range(3)):
            noise = ExponentialNoise((0, 0, 0), ranks)
            index = combine_exponential(scores, noise, 1).indices[0]
            assert scores[index] == max(scores)


# --------------------------------------------------------------------------- state and flags


def test_no_check_is_an_assertion():
    """Under -O and -OO every refusal stays."""
    program = (
        "import safeselect\n"
        "for options in (dict(epsilon=-5, sensitivity=1), dict(epsilon=1, sensitivity=0),\n"
        "                dict(epsilon=1, sensitivity=1, range_=1), dict(epsilon=1)):\n"
        "    try: safeselect.permute_and_flip([1, 2], **options)\n"
        "    except safeselect.ParameterError: continue\n"
        "    raise SystemExit('accepted')\n"
        "try: safeselect.top_k([1, 2], k=3, epsilon=1, sensitivity=1)\n"
        "except safeselect.ParameterError: print('refused')\n"
    )
    for flag in ("-O", "-OO"):
        done = subprocess.run(
            [sys.executable, flag, "-c", program], capture_output=True, text=True, timeout=60
        )
        assert done.stdout == "refused\n", done.stderr[-300:]


def test_no_state_is_left_between_calls():
    """Hazard: a flag that one call sets and another finds."""
    alone = [
        winner(call([3, 1, 2], epsilon=1, sensitivity=1, source=deterministic()))
        for call in SELECT.values()
    ]
    for wrong in ({"epsilon": -1}, {"grid": 0}, {"labels": ["a"]}):
        with pytest.raises(ParameterError, match="must be"):
            permute_and_flip([1, 2], **{"epsilon": 1, "sensitivity": 1, **wrong})
    with pytest.raises(SourceError, match="the source failed while drawing bytes"):
        permute_and_flip([1, 2], epsilon=1, sensitivity=1, source=Odd("raises"))
    after = [
        winner(call([3, 1, 2], epsilon=1, sensitivity=1, source=deterministic()))
        for call in reversed(SELECT.values())
    ]
    assert after == alone[::-1]
