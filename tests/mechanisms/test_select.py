"""The public functions: parameters, guarantees and results; what is drawn, and when nothing is."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from tapes import TapeSource

from safeselect import (
    BoundedRange,
    ParameterError,
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


SENTINEL = 987_654_321


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
PARAMETERS = {"epsilon": 1, "sensitivity": 1}


def refused(call, *arguments, error=ParameterError, **options) -> str:
    """The message of a refusal before which nothing was drawn."""
    source = TapeSource()
    source.production = True  # so that it is never refused for itself
    with pytest.raises(error) as caught:
        call(*arguments, **{"source": source, **options})
    assert (source.begun, source.asked) == (0, 0)
    message = str(caught.value)
    assert len(message) <= 450
    assert str(SENTINEL) not in message
    return message


# ---------------------------------------------------------------------- exactly one of each


@pytest.mark.parametrize("name", ALL)
def test_exactly_one_total(name):
    call, scores = ALL[name], [SENTINEL, 1, 2]
    change = {"sensitivity": 1}
    assert "exactly one of" in refused(call, scores, **change)
    assert "got none" in refused(call, scores, **change)
    both = refused(call, scores, epsilon=1, rho=1, **change)
    assert "exactly one of" in both
    assert "got epsilon and rho" in both


def test_exactly_one_total_for_base_2():
    change = {"sensitivity": 1}
    for totals in ({"base": "1/2", "epsilon": 1}, {"base": "1/2", "rho": 1}, {}):
        message = refused(exponential_mechanism_base2, [SENTINEL, 1], **totals, **change)
        assert message.startswith("give exactly one of epsilon, rho, base; got ")


@pytest.mark.parametrize("name", ALL)
def test_exactly_one_change(name):
    call, scores = ALL[name], [SENTINEL, 1, 2]
    total = {"epsilon": 1}
    assert "exactly one of sensitivity and range_; got none" in refused(call, scores, **total)
    both = refused(call, scores, sensitivity=1, range_=1, **total)
    assert "got sensitivity and range_" in both
    monotonic = refused(call, scores, range_=1, monotonic=True, **total)
    assert "monotonic=True requires sensitivity=" in monotonic


def test_delta_goes_with_epsilon():
    change = {"k": 1, "sensitivity": 1}
    assert "delta requires epsilon" in refused(top_k, [SENTINEL, 1], rho=1, delta=0.1, **change)
    assert "got none" in refused(top_k, [SENTINEL, 1], delta=0.1, **change)


@pytest.mark.parametrize("call", [permute_and_flip, exponential_mechanism, top_k, report_noisy_max])
def test_everything_but_the_scores_is_passed_by_name(call):
    with pytest.raises(TypeError, match="positional"):
        call([1, 2], 1)


# ------------------------------------------------------------------------------- wrong values

WRONG = {
    "epsilon": [0, -1, True, "0,5", float("nan"), float("inf"), "x", [1], np.array(1.0), 1 << 5000],
    "rho": [0, -1, True, np.True_, "0,5", float("nan"), "1e99999", Decimal("NaN")],
    "sensitivity": [0, -1, True, "0,5", float("nan"), float("inf"), "1/0", b"1"],
    "range_": [0, -1, True, "x", float("nan"), Fraction(0)],
    "monotonic": [0, 1, "yes", [], 1.0],
    "minimize": [0, 1, "yes", None],
    "grid": [0, -1, True, "x", float("nan"), 1 << 5000],
    "source": [0, 42, "seed", b"seed", np.random.default_rng(1), object(), TapeSource, print],
    "labels": ["ab", 5, ["a"], ["a", "a", "b"], [[], [], 2]],
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("parameter", WRONG)
def test_wrong_values_are_refused_and_nothing_is_drawn(name, parameter):
    for value in WRONG[parameter]:
        options = dict(PARAMETERS)
        if parameter == "rho":
            del options["epsilon"]
        if parameter == "range_":
            del options["sensitivity"]
        options[parameter] = value
        message = refused(ALL[name], [SENTINEL, 1, 2], **options)
        named = "seed" if parameter == "source" else parameter
        assert named in message or parameter == "source"


@pytest.mark.parametrize("bad", [0, 4, -1, 2**32, 2**32 + 3, 2**64 + 1, 1 << 10_000])
def test_k_is_between_1_and_n(bad):
    for mechanism in (*ORDERED, None):
        message = refused(top_k, [SENTINEL, 1, 2], k=bad, mechanism=mechanism, **PARAMETERS)
        assert message.startswith("k must be between 1 and 3, got ")


@pytest.mark.parametrize("bad", [True, 1.0, "1", None, Fraction(1), [1], np.array(1), Decimal(1)])
def test_k_is_an_integer(bad):
    message = refused(top_k, [SENTINEL, 1, 2], k=bad, **PARAMETERS)
    assert message.startswith("k must be an integer, got ")


@pytest.mark.parametrize(
    "bad", ["gumbel", "Exponential", "", 1, True, ["exponential"], np.array(["laplace", "gumbel"])]
)
def test_mechanism_names(bad):
    message = refused(top_k, [SENTINEL, 1], k=1, mechanism=bad, **PARAMETERS)
    assert message.startswith("mechanism must be 'exponential', 'exponential_base2',")


@pytest.mark.parametrize(
    "bad", ["Gumbel", "normal", "", None, 1, ["laplace"], np.array(["laplace", "gumbel"])]
)
def test_noise_names(bad):
    message = refused(report_noisy_max, [SENTINEL, 1], noise=bad, **PARAMETERS)
    assert message.startswith("noise must be 'exponential', 'laplace' or 'gumbel'")


@pytest.mark.parametrize("base", [0, 1, 2, -1, "x", True, float("nan"), "1e-99999"])
def test_the_base_lies_strictly_between_0_and_1(base):
    message = refused(exponential_mechanism_base2, [SENTINEL, 1], base=base, sensitivity=1)
    assert message.startswith("base must ")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("epsilon", ["1e-15", 10**8])
def test_a_rate_out_of_range_names_the_grid(name, epsilon):
    options = {**PARAMETERS, "epsilon": epsilon}
    message = refused(ALL[name], [SENTINEL, 1, 2], **options)
    assert message.startswith("the noise rate must be between 2**-40 and 2**20 per grid step")
    assert "grid=" in message


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


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": "0.2"}, "requires epsilon and delta"),
        ({"rho": "0.2"}, "requires epsilon and delta"),
        ({"epsilon": "0.2000001", "delta": "0.05"}, "epsilon <= 0.2 and delta <= 0.05"),
        ({"epsilon": "0.2", "delta": "0.0500001"}, "epsilon <= 0.2 and delta <= 0.05"),
    ],
)
def test_the_unordered_mechanism_where_it_is_proved(options, match):
    message = refused(top_k, [SENTINEL, 1], k=1, sensitivity=1, mechanism="laplace", **options)
    assert match in message


def test_the_unordered_mechanism_needs_two_candidates():
    options = {"epsilon": "0.2", "delta": "0.05", "sensitivity": 1}
    message = refused(top_k, [SENTINEL], k=1, mechanism="laplace", **options)
    assert "at least two" in message


# -------------------------------------------------------------- from the parameters to the noise


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


def told(**more):
    """The parameters of a call with sensitivity 1, and nothing else said of its scores."""
    return {
        "sensitivity": "1",
        "monotonic": "no",
        "effective_range": "2",
        "grid": "none",
        "minimize": "no",
        **more,
    }


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


# ----------------------------------------------------------------------------- production only


def test_an_empty_variable_asks_for_nothing(monkeypatch):
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "")
    assert permute_and_flip([1], **PARAMETERS).index == 0


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
        ([np.ma.array([1, 2]), [1, 2]], {}, ScoreError, "plain two-dimensional NumPy array"),
        (np.zeros((3, 0), int), {}, ScoreError, "at least one candidate"),
        ([[0.5, 1.0]], {}, ScoreError, "without grid=, scores must be integers"),
        (
            np.ma.masked_array(np.zeros((2, 2), int)),
            {},
            ScoreError,
            "plain two-dimensional NumPy array",
        ),
        (ROWS, {"mechanism": "laplace"}, ParameterError, "mechanism"),
        (ROWS, {"labels": ["a", "b"]}, ParameterError, "2 for 4"),
        (ROWS, {"rho": 1}, ParameterError, "exactly one"),
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


@pytest.mark.parametrize("max_rows", [0, 4, 1.5, True, "many"])
def test_max_rows_is_between_one_and_the_number_of_rows(max_rows):
    with pytest.raises(ParameterError, match="max_rows must be"):
        select_many([[1, 2]] * 3, max_rows=max_rows, epsilon=1, sensitivity=1)
