"""The public functions: parameters, guarantees and results; what is drawn, and when nothing is."""

from __future__ import annotations

import json
import logging
import os
import pickle
import time
import traceback
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from safeselect import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    ParameterError,
    SafeSelectError,
    ScoreError,
    SourceError,
    ZeroConcentratedDP,
    exponential_mechanism,
    exponential_mechanism_base2,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max,
    report_noisy_max_with_gap,
    top_k,
    top_k_with_gaps,
)
from safeselect.accounting.composition import composed_epsilon
from safeselect.ledger.record import library
from safeselect.mechanisms import select, table
from safeselect.results import Selection, TopK
from safeselect.scores.candidates import Candidates
from safeselect.testing import DeterministicSource, InsecureSourceWarning

pytestmark = pytest.mark.claim("C2")


SENTINEL = 987_654_321
GAP = 10**9  # in rates: the largest candidate wins but for e**-10**9
RATE_LIMIT = "the noise rate must be between 2\\*\\*-40 and 2\\*\\*20 per grid step"


class Counting:
    """A good source that counts what it is asked for, and fails after so many bytes."""

    name = "Counting"
    production = False  # so that its bytes are taken as they are, and no others asked for

    def __init__(self, failing_at: int | None = None, error: type[BaseException] = SourceError):
        self.begins = self.bytes = 0
        self.failing_at, self.error = failing_at, error

    def begin(self) -> bytes:
        self.begins += 1
        if self.failing_at is not None and self.failing_at < 0:
            raise self.error("failed")
        return os.urandom(16)

    def fill(self, buffer) -> None:
        if self.failing_at is not None and self.bytes + len(buffer) > self.failing_at:
            buffer[:] = bytes(len(buffer))
            raise self.error("failed")
        self.bytes += len(buffer)
        buffer[:] = os.urandom(len(buffer))

    @property
    def untouched(self) -> bool:
        return self.begins == self.bytes == 0


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
    source = Counting()
    source.production = True  # so that it is never refused for itself
    with pytest.raises(error) as caught:
        call(*arguments, **{"source": source, **options})
    assert source.untouched
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
    assert "monotonic=True goes with sensitivity=" in monotonic


def test_delta_goes_with_epsilon():
    change = {"k": 1, "sensitivity": 1}
    assert "delta goes with epsilon" in refused(top_k, [SENTINEL, 1], rho=1, delta=0.1, **change)
    assert "got none" in refused(top_k, [SENTINEL, 1], delta=0.1, **change)


@pytest.mark.parametrize("name", ALL)
def test_no_defaults_and_no_unknown_parameters(name):
    for options in ({}, {"epsilon": 1}, {"sensitivity": 1}):
        with pytest.raises(
            (ParameterError, TypeError),
            match=r"give exactly one|missing [0-9]+ required|must|no row",
        ):
            ALL[name]([1, 2, 3], **options)
    for unknown in ("seed", "random_state", "rng", "eps", "delta_", "scale"):
        with pytest.raises(TypeError, match="unexpected keyword"):
            ALL[name]([1, 2, 3], **PARAMETERS, **{unknown: 1})


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
    "source": [0, 42, "seed", b"seed", np.random.default_rng(1), object(), Counting, print],
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
def test_wrong_scores_are_refused_and_nothing_is_drawn(name):
    bad = [SENTINEL, None, 1], [float(SENTINEL), 0.5, 1], [SENTINEL, "1", 1], np.ones(3) / 2
    for scores in ([], "abc", np.zeros((2, 2)), {SENTINEL, 1, 2}, *bad):
        refused(ALL[name], scores, error=ScoreError, **PARAMETERS)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("epsilon", ["1e-15", 10**8])
def test_a_rate_out_of_range_names_the_grid(name, epsilon):
    options = {**PARAMETERS, "epsilon": epsilon}
    message = refused(ALL[name], [SENTINEL, 1, 2], **options)
    assert message.startswith("the noise rate must be between 2**-40 and 2**20 per grid step")
    assert "grid=" in message


@pytest.mark.parametrize("mechanism", ORDERED)
@pytest.mark.parametrize("k", [2, 3])
def test_a_long_epsilon_is_refused_before_the_draw_or_not_at_all(mechanism, k):
    """An epsilon of 4096 bits has none to spare for a k-th of it."""
    epsilon = Fraction(2**4095 + 1, 2**4095 + 5)
    source = Counting()
    options = {**PARAMETERS, "epsilon": epsilon, "source": source}
    try:
        result = top_k([1, 2, 3, 4], k=k, mechanism=mechanism, **options)
    except ParameterError:
        assert source.untouched
    else:
        assert result.guarantee.epsilon <= epsilon


# ------------------------------------------------------------------------------ guarantees

TOTALS = {
    "pure": {"epsilon": "1/2"},
    "delta": {"epsilon": "1/2", "delta": "1e-6"},
    "rho": {"rho": "1/50"},
}
ONE_KINDS = {
    "permute_and_flip": LaplaceDominated,
    "exponential_mechanism": BoundedRange,
    "exponential_mechanism_base2": BoundedRange,
    "noisy max exponential": LaplaceDominated,
    "noisy max laplace": LaplaceDominated,
    "noisy max gumbel": BoundedRange,
}


@pytest.mark.parametrize("name", ONE)
def test_the_guarantee_of_one(name):
    call, kind = ONE[name], ONE_KINDS[name]
    result = call([1, 2, 3], epsilon="0.1", sensitivity=1)
    assert result.guarantee == kind(Fraction(1, 10))
    result = call([1, 2, 3], rho="0.02", sensitivity=1)
    assert type(result.guarantee) is kind
    assert result.guarantee.zcdp.rho <= Fraction(1, 50)
    assert kind(result.guarantee.epsilon * Fraction(1_000_001, 1_000_000)).zcdp.rho > Fraction(
        1, 50
    )


def expected_kind(mechanism, total, k):
    if total == "delta":
        return ApproximateDP
    draws = 1 if mechanism == "one_shot_exponential" else k
    if draws == 1:
        return BoundedRange if mechanism.startswith("exponential") else LaplaceDominated
    return LaplaceDominated if total == "pure" else ZeroConcentratedDP


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("mechanism", ORDERED)
def test_the_guarantee_and_the_parts_of_top_k(mechanism, total, k):
    result = top_k([1, 2, 3, 4], k=k, mechanism=mechanism, sensitivity=1, **TOTALS[total])
    assert type(result) is TopK
    assert result.mechanism == f"top_k_{mechanism}/1"
    assert len(result.indices) == len(set(result.indices)) == k
    assert type(result.guarantee) is expected_kind(mechanism, total, k)
    # What the parts are, and that they add up to what was asked for.
    draws = 1 if mechanism == "one_shot_exponential" else k
    part = BoundedRange if mechanism.startswith("exponential") else LaplaceDominated
    assert [type(each) for each in result.parts] == [part] * draws
    assert len(set(result.parts)) == 1
    if total == "pure":
        assert result.guarantee.epsilon == Fraction(1, 2)
        assert sum(each.epsilon for each in result.parts) == Fraction(1, 2)
    elif total == "delta":
        assert result.guarantee == ApproximateDP("1/2", "1e-6")
        if draws == 1:
            assert result.parts[0].approximate("1e-6").epsilon <= Fraction(1, 2)
        else:
            assert composed_epsilon([(result.parts[0], k)], "1e-6") <= Fraction(1, 2)
        assert sum(each.epsilon for each in result.parts) >= Fraction(1, 2)
    else:
        assert result.guarantee.zcdp.rho <= Fraction(1, 50)
        assert sum(each.zcdp.rho for each in result.parts) <= Fraction(1, 50)
        assert sum(each.zcdp.rho for each in result.parts) > Fraction(1, 50) * Fraction(999, 1000)


@pytest.mark.parametrize(
    ("total", "mechanism"),
    [("pure", "one_shot_exponential"), ("delta", "exponential"), ("rho", "exponential")],
)
def test_the_default_mechanism_of_top_k(total, mechanism):
    result = top_k([1, 2, 3], k=2, sensitivity=1, **TOTALS[total])
    assert result.mechanism == f"top_k_{mechanism}/1"


def test_the_unordered_mechanism():
    result = top_k(
        [0, 10**9, 0, 10**9],
        k=2,
        epsilon="0.2",
        delta="0.05",
        sensitivity=1,
        mechanism="laplace",
        labels=["a", "b", "c", "d"],
    )
    assert type(result) is TopK
    assert (result.indices, result.labels, result.ordered) == ((1, 3), ("b", "d"), False)
    assert result.guarantee == ApproximateDP("0.2", "0.05")
    assert result.parts == (ApproximateDP("0.2", "0.05"),)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": "0.2"}, "needs epsilon and delta"),
        ({"rho": "0.2"}, "needs epsilon and delta"),
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


def kept_steps(monkeypatch):
    """All private copies of scores that calls make from now on."""
    kept = []
    read = Candidates.scores_on_grid

    def spy(*arguments, **options):
        kept.append(read(*arguments, **options))
        assert kept[-1].any()
        return kept[-1]

    monkeypatch.setattr(Candidates, "scores_on_grid", spy)
    return kept


def decays(monkeypatch, call, scores, **options):
    """The noise rate that a call hands to its engine."""
    seen = []

    class Engine:
        def __getattr__(self, name):
            def rank(noise, steps, k, noise_rate, bits, **more):
                seen.append(noise_rate)
                return select.Ranking(tuple(range(k)), None)

            return rank

    for module in (select, table):
        monkeypatch.setattr(module, "engine", Engine())
    call(scores, **options)
    return seen[0]


CHANGES = [
    # options, scores, range of the change in grid steps
    ({"sensitivity": 1}, [1, 2], 2),
    ({"sensitivity": 1, "monotonic": True}, [1, 2], 1),
    ({"sensitivity": 1, "monotonic": np.True_}, [1, 2], 1),
    ({"range_": 1}, [1, 2], 1),
    ({"range_": "3/2"}, [1, 2], Fraction(3, 2)),
    ({"sensitivity": "1/3"}, [1, 2], Fraction(2, 3)),
    ({"sensitivity": 1}, [1.0, 2.0], 2),
    ({"sensitivity": "1/3", "monotonic": True}, [Fraction(1), 2.0], Fraction(1, 3)),
    ({"range_": 1}, [1.0, 2.0], 1),
    # On a grid h, read with an error e = h / 2: 2 ceil(s / h + 1), and ceil(s / h + 1) + 1.
    ({"sensitivity": "1/3", "grid": "1/2"}, [1, 2], 4),
    ({"sensitivity": 1, "grid": 2}, [1, 2], 4),
    ({"sensitivity": 3, "grid": 2}, [1, 2], 6),
    ({"sensitivity": 3, "grid": 2, "monotonic": True}, [1, 2], 4),
    ({"sensitivity": 1, "grid": 1}, [1.0, 2.0], 4),
    ({"sensitivity": 1, "grid": 1}, [1, 2], 4),
    ({"sensitivity": "1/3", "grid": 1}, [1.0, 2.0], 4),
    ({"sensitivity": "0.1", "grid": "0.1", "monotonic": True}, [1.0, 2.0], 3),
    ({"sensitivity": "0.11", "grid": "0.1", "monotonic": True}, [1.0, 2.0], 4),
    # Two scores: ceil(r / h + 2) + 1.
    ({"range_": 1, "grid": 1}, [1.0, 2.0], 4),
    ({"range_": 1, "grid": 1}, [1, 2], 4),
    ({"range_": "1.5", "grid": 1}, [Fraction(1), Fraction(2)], 5),
    ({"range_": 1, "grid": 2}, [1, 2], 4),
    ({"range_": 2, "grid": "0.5"}, [1, 2], 7),
    # Without an error, and with another.
    ({"sensitivity": 1, "grid": "0.4", "score_error": 0}, [1, 2], 6),
    ({"sensitivity": 1, "grid": "0.4", "score_error": 0, "monotonic": True}, [1, 2], 3),
    ({"sensitivity": 1, "grid": "0.4", "score_error": "0.01", "monotonic": True}, [1, 2], 4),
    ({"range_": 1, "grid": "0.4", "score_error": 0}, [1, 2], 4),
    ({"sensitivity": 1, "grid": "0.1", "score_error": "0.1"}, [1, 2], 24),
    # On the grid: whole steps.
    ({"sensitivity": 1, "grid": "1/2", "on_grid": True}, [1.0, 2.0], 4),
    ({"sensitivity": 1, "grid": "1/2", "on_grid": True, "monotonic": True}, [1, 2], 2),
    ({"sensitivity": 1, "grid": "0.4", "on_grid": True}, [1, 2], 4),
    ({"range_": 1, "grid": "0.4", "on_grid": True}, [1, 2], 2),
]


@pytest.mark.parametrize(("options", "scores", "steps"), CHANGES, ids=str)
def test_the_range_of_the_change_in_steps(monkeypatch, options, scores, steps):
    noise_rate = decays(monkeypatch, permute_and_flip, scores, epsilon="1/2", **options)
    assert noise_rate.base is None
    assert noise_rate.rate == Fraction(1, 2) / steps


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rates_of_top_k(monkeypatch, k):
    def rate(mechanism, **options):
        total = options or {"epsilon": 1}
        return decays(
            monkeypatch,
            lambda scores, **more: top_k(scores, k=k, mechanism=mechanism, **more),
            [1, 2, 3],
            sensitivity=1,
            **total,
        ).rate

    for mechanism in ("exponential", "permute_and_flip", "one_shot_exponential"):
        assert rate(mechanism) == Fraction(1, 2 * k)
    # One shot of exponential noise is one release: all of rho at k times the scale.
    whole = rate("one_shot_exponential", rho="1/50") * 2 * k
    assert LaplaceDominated(whole).zcdp.rho <= Fraction(1, 50)
    assert LaplaceDominated(whole * Fraction(1001, 1000)).zcdp.rho > Fraction(1, 50)


def test_the_rate_of_the_unordered_mechanism(monkeypatch):
    """Scale 8 s sqrt(k ln(n / delta)) / epsilon, s half the range of the change."""
    noise_rate = decays(
        monkeypatch,
        lambda scores, **options: top_k(scores, k=3, mechanism="laplace", **options),
        [1, 2, 3, 4, 5],
        epsilon="0.1",
        delta="0.01",
        sensitivity=2,
    )
    with mpmath.workdps(40):
        scale = 8 * 2 * mpmath.sqrt(3 * mpmath.log(500)) / mpmath.mpf("0.1")
        rate = mpmath.mpf(noise_rate.rate.numerator) / noise_rate.rate.denominator
        assert rate <= 1 / scale
        assert rate > (1 - mpmath.mpf(2) ** -60) / scale


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


@pytest.mark.parametrize("change", [1, 2, Fraction(1, 3), Fraction(7, 2)])
def test_the_base_belongs_to_the_whole_range(monkeypatch, change):
    noise_rate = decays(monkeypatch, exponential_mechanism_base2, [1, 2], base="1/2", range_=change)
    assert noise_rate.base == Fraction(1, 2)
    assert noise_rate.rate == 1 / change


@pytest.mark.parametrize("total", [{"epsilon": 1}, {"epsilon": "1e-9"}, {"epsilon": 30}])
def test_epsilon_in_base_2_is_rounded_towards_privacy(total):
    result = exponential_mechanism_base2([1, 2, 3], sensitivity=1, **total)
    assert result.guarantee == BoundedRange(total["epsilon"])
    numerator = result.base * 2**64
    assert numerator.denominator == 1
    with mpmath.workdps(60):
        rate = mpmath.mpf(result.guarantee.epsilon.numerator) / (
            2 * result.guarantee.epsilon.denominator
        )
        weight = mpmath.exp(-rate) * mpmath.mpf(2) ** 64
        assert int(numerator) - 1 < weight <= int(numerator)
    peeled = top_k([1, 2, 3], k=1, mechanism="exponential_base2", sensitivity=1, **total)
    assert peeled.base == result.base


def test_only_base_2_has_a_base():
    for name, call in ALL.items():
        result = call([1, 2, 3], epsilon=1, sensitivity=1)
        assert (result.base is not None) == ("base2" in name)


# ------------------------------------------------------------------------------- results


@pytest.mark.parametrize("name", ONE)
def test_the_best_wins_where_the_noise_is_nothing(name):
    options = {"epsilon": 2**19, "sensitivity": 1}
    call = ONE[name]
    assert call([0, 5000, 0], **options).index == 1
    assert call([0, -5000, 0], minimize=True, **options).index == 1
    assert call({"a": 0, "b": 0, "c": 5000}, **options).label == "c"
    assert call([0, 5000], labels=["x", "y"], **options).label == "y"
    assert call(np.array([0, 5000, 0], dtype=np.uint16), **options).index == 1
    assert call([0.0, 0.25], grid="0.25", **{**options, "sensitivity": "0.25"}).index in (0, 1)
    assert call([5], **options).index == 0


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


@pytest.mark.parametrize("name", ALL)
def test_corners_are_quick(name):
    """One huge gap of a billion rates, all equal, and a range of 2**64 steps."""
    call, n = ALL[name], 100
    for scores in (
        [GAP] + [0] * (n - 1),
        [5] * n,
        np.array([2**63 - 1, -(2**63)] * (n // 2)),
        list(range(n)),
    ):
        times = []
        for _ in range(3):
            start = time.process_time()
            result = call(scores, epsilon=1, sensitivity=1, monotonic=True)
            times.append(time.process_time() - start)
            if times[-1] < 0.05:
                break
        assert min(times) < 0.05
        index = result.index if isinstance(result, Selection) else result.indices[0]
        if scores[0] == GAP:
            assert index == 0


def test_top_k_of_all_and_of_all_but_one():
    for mechanism in ORDERED:
        for k in (1, 4, 5):
            result = top_k([7] * 5, k=k, mechanism=mechanism, **PARAMETERS)
            assert len(set(result.indices)) == k
            assert set(result.indices) <= set(range(5))
            assert all(type(index) is int for index in result.indices)


def test_results_are_frozen_values():
    result = permute_and_flip({"a": 1, "b": 2}, epsilon=1, sensitivity=1)
    assert type(result) is Selection
    assert result.mechanism == "permute_and_flip/1"
    assert result.source == "OpenSSLSource"
    assert result.base is None
    with pytest.raises((FrozenInstanceError, AttributeError), match="cannot assign to field"):
        result.index = 0
    with pytest.raises(
        (AttributeError, TypeError), match=r"super\(type, obj\): obj must be an instance or s"
    ):
        result.note = "x"
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own bytes


@pytest.mark.claim("C10")
def test_nothing_that_is_returned_shows_a_score():
    scores = {"a": SENTINEL, "b": SENTINEL + 1, "c": SENTINEL - 1}
    results = [call(scores, epsilon=1, sensitivity=1) for call in ALL.values()]
    results.append(
        top_k(scores, k=1, epsilon="0.1", delta="0.01", sensitivity=1, mechanism="laplace")
    )
    for result in results:
        for text in (repr(result), str(result), result.to_json(), str(pickle.dumps(result))):
            assert str(SENTINEL)[:6] not in text


def test_nothing_is_logged_or_printed(caplog, capsys):
    caplog.set_level(logging.DEBUG)
    for call in ALL.values():
        call([SENTINEL, 1, 2], **PARAMETERS)
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")


PUBLIC = {
    "unit": "not stated",
    "neighbours": "not stated",
    "library": {
        name: library()[name] for name in ("name", "version", "source_tree_sha256")
    },
}  # fmt: skip


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


def test_what_is_stated_of_one_and_of_several():
    given = {"sensitivity": 1}
    one = permute_and_flip([5000, 0], labels=["røm\n", "oslo"], epsilon="100000.5", **given)
    assert "\n" not in one.to_json()
    assert one.to_json().isascii()
    parameters = told(k="1", candidates="2", noise_rate="200001/4")
    assert dict(one.statement.parameters) == parameters
    scores, labels = [2 * 10**9, 10**9, 0], ["b", "a", "c"]
    both = top_k(scores, k=2, epsilon=1, delta="1e-6", labels=labels, **given)
    assert (both.labels, both.indices, both.ordered) == (("b", "a"), (0, 1), True)
    rate = both.parts[0].epsilon / 2
    parameters = told(k="2", candidates="3", noise_rate=str(rate))
    assert dict(both.statement.parameters) == parameters
    total = {"epsilon": "0.1", "delta": "0.01", "mechanism": "laplace"}
    some = top_k(scores, k=2, labels=labels, **total, **given)
    assert (some.labels, some.indices, some.ordered) == (("b", "a"), (0, 1), False)
    for result in (one, both, some):
        assert json.loads(result.to_json()).items() >= {"source": "OpenSSLSource"}.items()


def all_strings(value) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and all_strings(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(all_strings, value))
    return isinstance(value, str)


def test_integers_of_any_length_are_labels():
    """Once the noise is drawn, writing the result down must not fail."""
    label = 10**5000
    result = permute_and_flip([9, 0], labels=[label, 1], epsilon=10**4, sensitivity=1)
    assert json.loads(result.to_json())["label"]["text"] == "1" + "0" * 5000


def test_numbers_in_json_are_strings():
    for call in ALL.values():
        for labels in (None, [1, 2, 3], [(1, "x"), None, Fraction(1, 2)]):
            assert all_strings(json.loads(call([1, 2, 3], labels=labels, **PARAMETERS).to_json()))


# -------------------------------------------------------------------------------- the source


@pytest.mark.parametrize("name", ALL)
def test_one_nonce_a_call(name):
    source = Counting()
    for calls in (1, 2):
        ALL[name]([1, 2, 3], epsilon=1, sensitivity=1, source=source)
        assert source.begins == calls
    assert source.bytes > 0


@pytest.mark.parametrize("name", ALL)
def test_a_source_for_tests_is_named_loudly(name):
    with pytest.warns(InsecureSourceWarning):
        source = DeterministicSource(b"x", i_understand_this_is_not_private=True)
    result = ALL[name]([1, 2, 3], epsilon=1, sensitivity=1, source=source)
    assert result.source == "DeterministicSource (NOT PRIVATE)"
    assert "NOT PRIVATE" in result.to_json()


def test_a_known_tape_gives_a_known_result():
    results = []
    for _ in range(2):
        with pytest.warns(InsecureSourceWarning):
            source = DeterministicSource(b"x", i_understand_this_is_not_private=True)
        results.append([call([1, 2, 3], source=source, **PARAMETERS) for call in ALL.values()])
    assert results[0] == results[1]


@pytest.mark.claim("C5")
@pytest.mark.parametrize("error", [SourceError, KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("failing_at", [-1, 0, 256])
def test_a_failing_source_gives_an_error_no_result_and_wiped_scores(monkeypatch, failing_at, error):
    kept = kept_steps(monkeypatch)
    scores = np.arange(SENTINEL, SENTINEL + 200)
    before = scores.copy()
    source = Counting(failing_at, error)
    # Whatever a source raises is a failure of the source, but for what ends every call.
    raised = SourceError if error is OSError else error
    with pytest.raises(raised) as caught:
        top_k(scores, k=5, epsilon=1, sensitivity=1, mechanism="permute_and_flip", source=source)
    assert source.begins == 1
    assert str(SENTINEL)[:6] not in "".join(traceback.format_exception(caught.value))
    assert len(kept) == 1
    assert not kept[0].any()
    assert (scores == before).all()


@pytest.mark.parametrize("name", ALL)
def test_the_private_copy_is_wiped_after_a_good_call(monkeypatch, name):
    kept = kept_steps(monkeypatch)
    ALL[name]([5, 7, 3], epsilon=1, sensitivity=1)
    assert not kept[0].any()


@pytest.mark.parametrize("name", ALL)
def test_a_source_that_lies_about_its_nonce(name):
    class Short(Counting):
        def begin(self):
            return b"short"

    with pytest.raises(SourceError, match="the source gave a nonce that is not of"):
        ALL[name]([1, 2, 3], source=Short(), **PARAMETERS)


# ----------------------------------------------------------------------------- production only


@pytest.mark.parametrize("name", ALL)
def test_production_refuses_sources_for_tests(monkeypatch, name):
    class ForTests(Counting):
        production = False

    source = ForTests()
    options = {"epsilon": 1, "sensitivity": 1, "source": source}
    told = "ForeignSource(Counting) (NOT PRIVATE)"
    assert ALL[name]([1, 2, 3], **options).source == told
    drawn = source.bytes
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    with pytest.raises(ParameterError, match="is for tests"):
        ALL[name]([1, 2, 3], **options)
    assert source.bytes == drawn


def test_an_empty_variable_asks_for_nothing(monkeypatch):
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "")
    assert permute_and_flip([1], **PARAMETERS).index == 0


# ------------------------------------------------------------------------------ all in all


def test_every_error_is_one_of_ours():
    """A random walk through wrong calls: never a foreign exception, never a score in a message."""
    values = [None, 0, -1, 1, True, "1", "x", 0.5, [], {}, b"", object(), float("nan"), (1, 2)]
    names = ["epsilon", "rho", "sensitivity", "range_", "monotonic", "minimize", "grid", "labels"]
    walk = np.random.default_rng(20)
    tried, messages = 0, []
    for call in ALL.values():
        for _ in range(60):
            options = {}
            for name in walk.choice(names, size=walk.integers(1, 5), replace=False):
                options[str(name)] = values[walk.integers(len(values))]
            scores = [SENTINEL, 1, values[walk.integers(len(values))]]
            tried += 1
            try:
                call(scores, **options)
            except SafeSelectError as error:
                messages.append(str(error))
    assert len(messages) > tried * 0.9
    assert max(map(len, messages)) < 300
    assert not [message for message in messages if str(SENTINEL) in message]
