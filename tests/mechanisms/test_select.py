"""The public functions: parameters, guarantees and results; what is drawn, and when nothing is."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from tapes import TapeSource

from safeselect import (
    BoundedRange,
    ScoreError,
    exponential_mechanism,
    exponential_mechanism_base2,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max,
    report_noisy_max_with_gap,
    select_many,
    top_k,
    top_k_with_gaps,
)

pytestmark = pytest.mark.claim("C2")


def noisy(noise):
    def call(scores, **options):
        return report_noisy_max(scores, noise=noise, **options)

    return call


def best(mechanism, k=1):
    def call(scores, **options):
        return top_k(scores, k=k, mechanism=mechanism, **options)

    return call


ONE = {
    "permute_and_flip": permute_and_flip,
    "exponential_mechanism": exponential_mechanism,
    "exponential_mechanism_base2": exponential_mechanism_base2,
    "noisy max exponential": noisy("exponential"),
    "noisy max laplace": noisy("laplace"),
    "noisy max gumbel": noisy("gumbel"),
}
ORDERED = ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential")
WITH_GAP = {
    "permute_and_flip with gap": permute_and_flip_with_gap,
    "exponential_mechanism with gap": exponential_mechanism_with_gap,
    "noisy max laplace with gap": partial(report_noisy_max_with_gap, noise="laplace"),
    "top_k with gaps": partial(top_k_with_gaps, k=2),
}
ALL = {**ONE, **{f"top_k {name}": best(name, 2) for name in ORDERED}, **WITH_GAP}


# ------------------------------------------------------------------------------ guarantees

TOTALS = {
    "pure": {"epsilon": "1/2"},
    "delta": {"epsilon": "1/2", "delta": "1e-6"},
    "rho": {"rho": "1/50"},
}


@pytest.mark.parametrize(
    ("total", "mechanism"),
    [("pure", "one_shot_exponential"), ("delta", "exponential"), ("rho", "exponential")],
)
def test_the_default_mechanism_of_top_k(total, mechanism):
    result = top_k([1, 2, 3], k=2, sensitivity=1, **TOTALS[total])
    assert result.mechanism == f"top_k_{mechanism}/1"


# ------------------------------------------------------------------------------------ base 2


@pytest.mark.parametrize("base", ["1/2", "3/4", Fraction(125, 512), "0.999", "1/1000000"])
@pytest.mark.parametrize("change", [{"sensitivity": 1}, {"range_": 7}, {"sensitivity": "1/3"}])
def test_an_exact_base(base, change):
    result = exponential_mechanism_base2([1, 2, 3], base=base, **change)
    exact = Fraction(base)
    assert result.base == exact
    assert type(result.guarantee) is BoundedRange
    with mpmath.workdps(50):
        true = -mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
        ours = mpmath.mpf(result.guarantee.epsilon.numerator) / result.guarantee.epsilon.denominator
        assert true <= ours <= true * (1 + mpmath.mpf(2) ** -62)


# ------------------------------------------------------------------------------- results


@pytest.mark.parametrize("mechanism", [*ORDERED, None])
def test_the_order_is_right_where_the_noise_is_nothing(mechanism):
    scores = [i * 10**6 for i in (3, 0, 4, 1, 2)]
    options = {"epsilon": 2**18, "sensitivity": 1, "mechanism": mechanism}
    for k in (1, 2, 4, 5):
        assert top_k(scores, k=k, **options).indices == (2, 0, 4, 3, 1)[:k]
        assert top_k(scores, k=k, minimize=True, **options).indices == (1, 3, 4, 0, 2)[:k]
    named = top_k(dict(zip("abcde", scores, strict=True)), k=2, **options)
    assert named.labels == ("c", "a")
    assert named.indices is None
    listed = top_k(scores, k=2, labels=["a", "b", "c", "d", "e"], **options)
    assert (listed.labels, listed.indices) == (("c", "a"), (2, 0))


def test_integers_of_any_length_are_labels():
    """Once the noise is drawn, writing the result down must not fail."""
    label = 10**5000
    result = permute_and_flip([9, 0], labels=[label, 1], epsilon=10**4, sensitivity=1)
    assert json.loads(result.to_json())["label"]["text"] == "1" + "0" * 5000


# -------------------------------------------------------------------------------- the source


@pytest.mark.parametrize("name", ALL)
def test_one_nonce_a_call(name):
    source = TapeSource()
    for calls in (1, 2):
        ALL[name]([1, 2, 3], epsilon=1, sensitivity=1, source=source)
        assert source.begun == calls
    assert source.asked > 0


# -------------------------------------------------------------------------------- many rows

ROWS = np.arange(24).reshape(6, 4) % 7


def test_sure_winners_of_many():
    scores = np.zeros((4, 5), dtype=np.int64)
    scores[np.arange(4), [3, 0, 4, 1]] = 10**9
    result = select_many(scores, epsilon=4, sensitivity=1, labels=list("abcde"))
    assert result.indices.tolist() == [3, 0, 4, 1]
    assert result.labels == list("daeb")
    lowest = select_many(-scores, epsilon=4, sensitivity=1, minimize=True)
    assert lowest.indices.tolist() == [3, 0, 4, 1]
    ordered = np.array([[0, 10**8, 10**9]] * 2)
    both = select_many(ordered, k=3, epsilon=6, range_=1)
    assert both.indices.tolist() == [[2, 1, 0]] * 2
    content = json.loads(both.to_json())
    assert content["indices"] == [["2", "1", "0"]] * 2
    assert content["schema"] == "safeselect.batch/1"


@pytest.mark.parametrize(
    ("scores", "more", "error", "words"),
    [
        ([[1, 2], [3]], {}, ScoreError, "same number"),
        (np.zeros((2, 2, 2), int), {}, ScoreError, "two-dimensional"),
        (np.zeros(3, int), {}, ScoreError, "two-dimensional"),
        (np.zeros((0, 3), int), {}, ScoreError, "at least one row"),
        ([np.ma.array([1, 2]), [1, 2]], {}, ScoreError, "plain NumPy array"),
        (np.zeros((3, 0), int), {}, ScoreError, "at least one candidate"),
        ([[0.5, 1.0]], {}, ScoreError, "must be integers where no grid= is given"),
        (np.ma.masked_array(np.zeros((2, 2), int)), {}, ScoreError, "plain NumPy array"),
    ],
)
def test_mistakes_in_rows_are_refused_in_words(scores, more, error, words):
    with pytest.raises(error, match=words):
        select_many(scores, epsilon=1, range_=1, **more)


# ---------------------------------------------------------------- one unit changes few of the rows


def test_two_changed_rows_of_three_cost_what_is_promised():
    """The law of a row is that of its single mechanism; the worst neighbours change two rows."""
    rows = [[0, 0], [0, 0], [0, 0]]
    found = select_many(rows, max_rows=2, epsilon=1, sensitivity=1, monotonic=True)
    rate = found.noise_rate
    assert rate == Fraction(1, 2)

    def law(scores):  # permute-and-flip of two candidates
        best, other = max(scores), min(scores)
        miss = math.exp(-float(rate) * (best - other)) / 2
        return [1 - miss, miss] if scores[0] == best else [miss, 1 - miss]

    changed = [law([1, 0]), law([1, 0]), law([0, 0])]
    before = [law([0, 0])] * 3
    worst = max(
        abs(sum(math.log(a[i] / b[i]) for a, b, i in zip(changed, before, out, strict=True)))
        for out in itertools.product((0, 1), repeat=3)
    )
    assert worst <= 1 + 1e-12
    assert worst > 0.7
