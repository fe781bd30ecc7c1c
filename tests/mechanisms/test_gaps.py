"""The functions that release gaps: parameters, edges, results."""

from __future__ import annotations

import json
import os
import pickle
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from safeselect import (
    LaplaceDominated,
    ParameterError,
    SourceError,
    exponential_mechanism_with_gap,
    permute_and_flip,
    permute_and_flip_with_gap,
    report_noisy_max_with_gap,
    top_k,
    top_k_with_gaps,
)
from safeselect.engine import Ranking
from safeselect.mechanisms import select, table
from safeselect.results import Selection, TopK
from safeselect.scores.candidates import Candidates

pytestmark = pytest.mark.claim("C2")

ONE = {
    "permute_and_flip": permute_and_flip_with_gap,
    "exponential_mechanism": exponential_mechanism_with_gap,
    "noisy max exponential": partial(report_noisy_max_with_gap, noise="exponential"),
    "noisy max laplace": partial(report_noisy_max_with_gap, noise="laplace"),
    "noisy max gumbel": partial(report_noisy_max_with_gap, noise="gumbel"),
}
SEVERAL = {
    "top_k exponential": top_k_with_gaps,
    "top_k laplace": partial(top_k_with_gaps, noise="laplace"),
}
ALL = {**ONE, **{name: partial(call, k=1) for name, call in SEVERAL.items()}}
QUIET = {"epsilon": 2**19, "sensitivity": 1}  # noise of 2**-18 steps
each = pytest.mark.parametrize("name", ALL)


class Untouched:
    """A source that must not be asked."""

    name, production = "Untouched", True

    def begin(self):
        raise AssertionError("asked")

    def fill(self, buffer):
        raise AssertionError("asked")


def gap_of(result):
    return result.gap if isinstance(result, Selection) else result.gaps[0]


def refused(call, *arguments, **options) -> str:
    with pytest.raises(
        ParameterError, match=r"gap_grid |a gap needs|(k|noise|split|rho) must be"
    ) as caught:
        call(*arguments, source=Untouched(), **{"sensitivity": 1, **options})
    return str(caught.value)


# ------------------------------------------------------------------------------- parameters


@each
@pytest.mark.parametrize("bad", [0, -1, True, "x", "0,5", float("nan"), [1], 1 << 5000, "1/0"])
def test_the_grid_of_the_gap_is_a_positive_rational(name, bad):
    assert refused(ALL[name], [987_654, 1], epsilon=1, gap_grid=bad).startswith("gap_grid must ")


@each
def test_one_candidate_has_no_gap(name):
    message = refused(ALL[name], [987_654], epsilon=1)
    assert message == "a gap needs at least two candidates"


@pytest.mark.parametrize("bad", [0, 3, 4, -1, 2**64])
def test_k_leaves_one_candidate_for_the_last_gap(bad):
    message = refused(top_k_with_gaps, [987_654, 1, 2], k=bad, epsilon=1)
    assert message.startswith("k must be between 1 and 2, got ")


@pytest.mark.parametrize("bad", ["gumbel", "Laplace", "", None, 1, ["laplace"]])
def test_noise_of_top_k(bad):
    message = refused(top_k_with_gaps, [987_654, 1, 2], k=1, epsilon=1, noise=bad)
    assert message.startswith("noise must be 'exponential' or 'laplace', got ")
    assert "exponential_mechanism_with_gap" in message


@each
def test_a_grid_beyond_the_digits_of_the_noise_is_refused(name):
    """A step of the common grid is worth 2**-40 of the scale or more, whatever the engine."""
    options = {"epsilon": 1, "range_": 1, "sensitivity": None}
    for bad in (Fraction(1, 2**40 + 1), Fraction(2**41, 2**40 + 1), "1e-13"):
        assert refused(ALL[name], [987_654, 1], gap_grid=bad, **options).startswith(
            "gap_grid is too fine for this noise"
        )
    good = ALL[name]([5, 1], gap_grid=Fraction(3, 2**40), **options)
    assert (gap_of(good) / Fraction(3, 2**40)).denominator == 1
    fine = {**options, "grid": Fraction(1, 2**20), "score_error": 0}
    for step in (None, Fraction(1, 2**20), Fraction(1, 2**38)):
        assert gap_of(ALL[name]([5, 1], gap_grid=step, **fine)) >= 0
    assert refused(ALL[name], [987_654, 1], gap_grid=Fraction(1, 2**41), **fine).startswith(
        "gap_grid is too fine for this noise"
    )


def test_delta_is_not_offered():
    for call in ALL.values():
        with pytest.raises(TypeError, match="unexpected keyword"):
            call([1, 2], epsilon=1, delta="1e-6", sensitivity=1)


# ----------------------------------------------------------- from the parameters to the noise


def asked(monkeypatch, call, scores, **options):
    """The noise, its rate and the unit that a call asks of its engine."""
    seen = []

    class Engine:
        def noisy_top_k(self, noise, steps, k, noise_rate, bits, *, gaps, gap_unit):
            assert gaps
            seen.append((noise, k, noise_rate.rate, gap_unit))
            return Ranking(tuple(range(k)), (7,) * k)

    for module in (select, table):
        monkeypatch.setattr(module, "engine", Engine())
    return seen, call(scores, **options)


WAYS = {
    "permute_and_flip": "exponential",
    "exponential_mechanism": "gumbel",
    "noisy max exponential": "exponential",
    "noisy max laplace": "laplace",
    "noisy max gumbel": "gumbel",
    "top_k exponential": "exponential",
    "top_k laplace": "laplace",
}


@each
def test_noise_and_rate(monkeypatch, name):
    seen, _ = asked(monkeypatch, ALL[name], [1, 2, 3], epsilon="1/2", sensitivity=2)
    assert seen == [(WAYS[name], 1, Fraction(1, 8), 1)]


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_noise_of_top_k_has_k_times_the_scale(monkeypatch, name, k):
    options = {"epsilon": "1/2", "sensitivity": 1, "monotonic": True}
    seen, result = asked(monkeypatch, SEVERAL[name], [1, 2, 3, 4], k=k, **options)
    assert seen == [(WAYS[name], k, Fraction(1, 2 * k), 1)]
    assert result.gaps == (7,) * k


@pytest.mark.parametrize(
    ("grid", "gap_grid", "unit", "gap"),
    [
        (None, None, 1, 7),
        ("1/4", None, 1, Fraction(7, 4)),
        ("1/4", "1/2", 2, Fraction(7, 2)),
        ("0.1", "0.25", Fraction(5, 2), Fraction(7, 4)),
        (None, "2/3", Fraction(2, 3), Fraction(14, 3)),
        (10, 1, Fraction(1, 10), 7),
        (None, 0.1, Fraction(1, 10), Fraction(7, 10)),
    ],
)
@each
def test_units(monkeypatch, name, grid, gap_grid, unit, gap):
    seen, result = asked(
        monkeypatch, ALL[name], [1, 2], epsilon=1, range_=1, grid=grid, gap_grid=gap_grid
    )
    assert seen[0][3] == unit
    assert gap_of(result) == gap
    assert type(gap_of(result)) is Fraction


# -------------------------------------------------------------------------------- guarantees


@each
def test_the_guarantee_is_laplace_domination(name):
    """Never bounded range: the gap takes it away from the exponential mechanism."""
    result = ALL[name]([1, 2, 3], epsilon="0.1", sensitivity=1)
    assert result.guarantee == LaplaceDominated("0.1")
    result = ALL[name]([1, 2, 3], rho="0.02", sensitivity=1)
    assert type(result.guarantee) is LaplaceDominated
    assert result.guarantee.zcdp.rho <= Fraction(1, 50)
    more = LaplaceDominated(result.guarantee.epsilon * Fraction(1_000_001, 1_000_000))
    assert more.zcdp.rho > Fraction(1, 50)


@pytest.mark.parametrize("name", SEVERAL)
def test_all_gaps_together_are_one_part(name):
    result = SEVERAL[name]([1, 2, 3, 4], k=3, epsilon=1, sensitivity=1)
    assert type(result) is TopK
    assert result.guarantee == LaplaceDominated(1)
    assert result.parts == (LaplaceDominated(1),)


# ----------------------------------------------------------------------------- what comes out


def near(gap, difference, step) -> bool:
    """The floor of a gap that is the difference but for very little noise."""
    return (gap / step).denominator == 1 and difference - step <= gap <= difference


@each
@pytest.mark.parametrize("step", [1, Fraction(1, 3), 7])
def test_the_gap_is_the_difference_where_the_noise_is_nothing(name, step):
    call = partial(ALL[name], gap_grid=step, **QUIET)
    low, high = -(2**63), 2**63 - 1
    for scores, winner, difference in (
        ([0, 5000, 12], 1, 4988),
        ([low, high], 1, high - low),
        (np.array([low, high, low + 1]), 1, high - low - 1),
        (np.array([0, 2**64 - 1], dtype=np.uint64), 1, 2**64 - 1),
        ([10**30, 10**30 - 40], 0, 40),
    ):
        result = call(scores)
        index = result.index if isinstance(result, Selection) else result.indices[0]
        assert index == winner
        assert near(gap_of(result), difference, step) or near(gap_of(result), difference + 1, step)
    least = call([0, -5000, 12], minimize=True)
    assert near(gap_of(least), 5000, step) or near(gap_of(least), 5001, step)


@each
def test_scores_on_a_grid(name):
    call = partial(ALL[name], epsilon=2**19, sensitivity="0.01", grid="0.01")
    for scores in ([0.5, 12.25], [Decimal("0.5"), Decimal("12.25")], [Fraction(1, 2), 12.25]):
        result = call(scores)
        assert gap_of(result) in (Fraction("11.74"), Fraction("11.75"))
        coarse = call(scores, gap_grid="0.5")
        assert gap_of(coarse) == Fraction("11.5")


@each
def test_a_score_far_behind_counts_as_two_to_64_steps(name):
    """The shortfall is cut, so the gap is never told to be larger than it is."""
    result = ALL[name]([0, -(2**70), -(2**80)], **QUIET)
    assert abs(gap_of(result) - (2**64 - 1)) <= 1


@pytest.mark.parametrize("name", SEVERAL)
def test_every_gap_of_an_order(name):
    scores = {"c": 0, "a": 900, "d": -10, "b": 300}
    result = SEVERAL[name](scores, k=3, **QUIET)
    assert result.labels == ("a", "b", "c")
    assert result.indices is None
    for gap, difference in zip(result.gaps, (600, 300, 10), strict=True):
        assert gap in (difference - 1, difference)


@each
def test_ties_are_nothing_special(name):
    for n in (2, 3, 100):
        result = ALL[name]([4] * n, epsilon=1, sensitivity=1)
        assert gap_of(result) >= 0


def test_results_tell_the_gap_exactly():
    options = {"epsilon": 2**19, "sensitivity": 1, "gap_grid": "0.7"}
    one = permute_and_flip_with_gap([3, 100], labels=["a", "b"], **options)
    assert one.gap in (Fraction("96.6"), Fraction("97.3"))
    told = json.loads(one.to_json())
    assert told.pop("statement")["parameters"]["gap_grid"] == "7/10"
    assert told.pop("parts") == [{"count": "1", "each": told["guarantee"]}]
    assert told == {
        "schema": "safeselect.selection/1",
        "label": {"text": "b", "kind": "text"},
        "index": "1",
        "gap": str(one.gap),
        "guarantee": {"type": "LaplaceDominated", "epsilon": str(2**19)},
        "mechanism": "permute_and_flip_with_gap/1",
        "source": "OpenSSLSource",
    }
    several = top_k_with_gaps({"a": 3, "b": 100, "c": 50}, k=2, **options)
    told = json.loads(several.to_json())
    assert told["gaps"] == [str(gap) for gap in several.gaps]
    assert told["schema"] == "safeselect.top-k/1"
    assert [Fraction(gap) for gap in told["gaps"]] == list(several.gaps)
    for result in (one, several):
        assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own bytes


def test_names_of_the_laws():
    names = {call([1, 2, 3], epsilon=1, sensitivity=1).mechanism for call in ALL.values()}
    assert names == {
        "permute_and_flip_with_gap/1",
        "exponential_mechanism_with_gap/1",
        "report_noisy_max_with_gap_exponential/1",
        "report_noisy_max_with_gap_laplace/1",
        "report_noisy_max_with_gap_gumbel/1",
        "top_k_with_gaps_exponential/1",
        "top_k_with_gaps_laplace/1",
    }


def test_who_does_not_release_gaps_has_none():
    one = permute_and_flip([1, 2], epsilon=1, sensitivity=1)
    several = top_k([1, 2], k=1, epsilon=1, sensitivity=1)
    assert one.gap is None
    assert several.gaps is None
    assert '"gap' not in one.to_json()
    assert '"gap' not in several.to_json()


@each
@pytest.mark.parametrize("failing_at", [-1, 0, 256])
@pytest.mark.claim("C5")
def test_a_failing_source_gives_an_error_and_wiped_scores(monkeypatch, name, failing_at):
    class Failing:
        name, production, given = "Failing", False, 0

        def begin(self):
            if failing_at < 0:
                raise SourceError("failed")
            return os.urandom(16)

        def fill(self, buffer):
            self.given += len(buffer)
            if self.given > failing_at:
                raise SourceError("failed")
            buffer[:] = os.urandom(len(buffer))

    kept = []
    read = Candidates.scores_on_grid

    def spy(*arguments, **options):
        kept.append(read(*arguments, **options))
        return kept[-1]

    monkeypatch.setattr(Candidates, "scores_on_grid", spy)
    scores = np.arange(1000, 1200)
    with pytest.raises(SourceError, match="failed"):
        ALL[name](scores, epsilon="0.01", sensitivity=1, source=Failing())
    assert not kept[0].any()
    assert scores[0] == 1000
