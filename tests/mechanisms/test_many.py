"""select_many, of one or k a row: totals, guarantees, results, errors; laws are in tests/engine."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from chances import fits

import safeselect
from safeselect import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    ParameterError,
    ScoreError,
    ZeroConcentratedDP,
    select_many,
)
from safeselect.accounting.composition import composed_epsilon
from safeselect.testing import DeterministicSource

pytestmark = pytest.mark.claim("C2")

SCORES = np.arange(24).reshape(6, 4) % 7


def test_epsilon_is_the_total_of_the_batch():
    result = select_many(SCORES, epsilon=3, range_=1)
    assert result.guarantee == LaplaceDominated(Fraction(3))
    assert result.parts == (LaplaceDominated(Fraction(1, 2)),) * 6
    assert result.indices.shape == (6,)
    assert result.indices.dtype == np.int64


def test_delta_and_rho_calibrate_all_draws():
    result = select_many(SCORES, k=2, epsilon=1, delta="1e-6", sensitivity=1, monotonic=True)
    assert result.guarantee == ApproximateDP(Fraction(1), Fraction(1, 10**6))
    assert len(result.parts) == 12
    assert isinstance(result.parts[0], BoundedRange)
    assert result.parts[0].epsilon > Fraction(1, 12)
    assert composed_epsilon([(result.parts[0], 12)], "1e-6") <= 1
    assert result.indices.shape == (6, 2)
    concentrated = select_many(SCORES, rho="0.1", range_=1)
    assert concentrated.guarantee == ZeroConcentratedDP(Fraction(1, 10))
    assert 6 * concentrated.parts[0].zcdp.rho <= Fraction(1, 10)


def test_sure_winners():
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


def test_rows_follow_the_law_of_permute_and_flip():
    with pytest.warns(safeselect.testing.InsecureSourceWarning):
        tape = DeterministicSource(b"many", i_understand_this_is_not_private=True)
    found = select_many(np.tile([2, 0, 1], (3000, 1)), epsilon=3000, range_=1, source=tape)
    assert fits(Counter(found.indices.tolist()), {0: 0.7054, 1: 0.0664, 2: 0.2282})


def test_results_cannot_be_changed_and_the_callers_scores_are_not():
    scores = SCORES.copy()
    result = select_many(scores, epsilon=1, range_=1)
    assert (scores == SCORES).all()
    with pytest.raises(ValueError, match="read-only"):
        result.indices[0] = 1


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
        (SCORES, {"mechanism": "laplace"}, ParameterError, "mechanism"),
        (SCORES, {"labels": ["a", "b"]}, ParameterError, "2 for 4"),
        (SCORES, {"rho": 1}, ParameterError, "exactly one"),
    ],
)
def test_mistakes_are_refused_in_words(scores, more, error, words):
    with pytest.raises(error, match=words):
        select_many(scores, epsilon=1, range_=1, **more)


def test_grid_and_k():
    result = select_many([[0.5, 100.25], [77, 2]], epsilon=10**6, range_=1, grid="0.25")
    assert result.indices.tolist() == [1, 0]
    with pytest.raises(ParameterError, match="k must be between 1 and 4"):
        select_many(SCORES, k=5, epsilon=1, range_=1)


def test_labels_in_json():
    """A label a row, or a list of them."""
    sure, labels = [[10**9, 5 * 10**8, 0], [5 * 10**8, 0, 10**9]], ["x", 2, "z"]
    one = select_many(sure, epsilon=8, sensitivity=1, labels=labels)
    many = select_many(sure, k=2, epsilon=8, sensitivity=1, labels=labels)
    assert one.labels == ["x", "z"]
    assert many.labels == [["x", 2], ["z", "x"]]
    kinds = ["text", "integer", "text"]
    assert json.loads(many.to_json())["names"] == {"texts": ["x", "2", "z"], "kinds": kinds}
    assert json.loads(many.to_json())["indices"] == [["0", "1"], ["2", "0"]]


# ---------------------------------------------------------------- one unit changes few of the rows


@pytest.mark.parametrize("total", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}])
@pytest.mark.parametrize("k", [1, 2])
def test_the_noise_is_that_of_as_many_rows_as_a_unit_changes(total, k):
    rows = [[3, 900, 7]] * 6
    some = safeselect.select_many(rows, k=k, max_rows=2, sensitivity=1, **total)
    two = safeselect.select_many(rows[:2], k=k, sensitivity=1, **total)
    assert (some.guarantee, some.parts, some.noise_rate) == (
        two.guarantee,
        two.parts,
        two.noise_rate,
    )
    assert len(some) == 6
    assert dict(some.statement.parameters)["max_rows"] == "2"
    every = safeselect.select_many(rows, k=k, max_rows=6, sensitivity=1, **total)
    assert every.parts == safeselect.select_many(rows, k=k, sensitivity=1, **total).parts


def test_two_changed_rows_of_three_cost_what_is_promised():
    """The law of a row is that of its single mechanism; the worst neighbours change two rows."""
    rows = [[0, 0], [0, 0], [0, 0]]
    found = safeselect.select_many(rows, max_rows=2, epsilon=1, sensitivity=1, monotonic=True)
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


def test_one_row_may_be_all_that_a_unit_changes():
    given = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    found = safeselect.select_many([[1, 2]] * 3, max_rows=1, **given)
    assert (len(found.parts), found.parts[0].epsilon, found.noise_rate) == (1, 1, 1)
    with pytest.raises(ParameterError, match="max_rows must be"):
        safeselect.select_many([[1, 2]] * 3, max_rows=-1, **given)


@pytest.mark.parametrize("max_rows", [0, 4, 1.5, True, "many"])
def test_max_rows_is_between_one_and_the_number_of_rows(max_rows):
    with pytest.raises(ParameterError, match="max_rows must be"):
        safeselect.select_many([[1, 2]] * 3, max_rows=max_rows, epsilon=1, sensitivity=1)
