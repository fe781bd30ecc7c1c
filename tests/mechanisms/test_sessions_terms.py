"""The public numbers of sessions by definition: rates, shares, recentring, records, requests.

Sensitivities above one step, fractions of one, and grids of several sizes: where all are 1, a
formula that forgets one of them says the same.
"""

from __future__ import annotations

import ssl
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from ledgers import new, scope

from safeselect import AdaptiveSparseVector, Counts, LedgerError, PayWhatYouGet, SparseVector
from safeselect.engine.single import SPARE
from safeselect.errors import SourceError
from safeselect.ledger.stores.memory import MemoryStore
from safeselect.testing import DeterministicSource, RecordingSource

pytestmark = [
    pytest.mark.claim("C2"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]

BASE: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": 1, "split": "1/4"}
CASES: list[tuple[dict[str, Any], Any, Any, Any]] = [
    # options; how far scores move one way; both ways; both ways if monotonic: in score units
    ({"sensitivity": 5}, 5, 10, 5),
    ({"sensitivity": "5/2"}, "5/2", 5, "5/2"),
    ({"sensitivity": 5, "noise": "geometric"}, 5, 10, 5),
    ({"sensitivity": "5/2", "noise": "geometric"}, 3, 6, 3),
    ({"sensitivity": "7/2", "noise": "laplace"}, "7/2", 7, "7/2"),
    ({"sensitivity": "1/2", "grid": "1/3"}, 1, 2, "4/3"),
    ({"sensitivity": 4, "grid": 2, "noise": "geometric"}, 6, 12, 8),
    ({"sensitivity": "7/20", "grid": "1/10", "score_error": 0}, "2/5", "4/5", "2/5"),
    ({"sensitivity": "7/20", "grid": "1/10", "on_grid": True}, "3/10", "3/5", "3/10"),
]
each_case = pytest.mark.parametrize(("options", "one_way", "both_ways", "monotonic"), CASES)


@each_case
def test_rates_cover_what_scores_may_move(
    options: dict[str, Any], one_way: Any, both_ways: Any, monotonic: Any
) -> None:
    for spread, given in (
        (Fraction(both_ways), options),
        (Fraction(monotonic), {**options, "monotonic": True}),
    ):
        plain = SparseVector(**BASE, **given)
        assert plain.threshold_rate == Fraction(1, 4) / Fraction(one_way)
        assert plain.value_rate == Fraction(3, 8) / spread
        adaptive = AdaptiveSparseVector(**BASE, **given)
        assert adaptive.threshold_rate == plain.threshold_rate
        assert adaptive.value_rates == {
            "top": Fraction(3, 16) / spread, "middle": Fraction(3, 8) / spread
        }  # fmt: skip
        # The standard deviation of Laplace noise of the rate of "top".
        assert abs(float(adaptive.sigma * adaptive.value_rates["top"]) - 2**0.5) < 1e-10


@each_case
def test_the_default_split_is_the_best_for_both_moves(
    options: dict[str, Any], one_way: Any, both_ways: Any, monotonic: Any
) -> None:
    for spread, given in ((both_ways, options), (monotonic, {**options, "monotonic": True})):
        session = SparseVector(threshold=5, k=7, epsilon=1, **given)
        share = session.threshold_rate * Fraction(one_way)
        best = 1 / (1 + float(7 * Fraction(spread) / Fraction(one_way)) ** (2 / 3))
        assert abs(float(share) - best) < 1e-9


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("grid", [None, 2])
def test_the_means_of_the_noises_are_subtracted(noise: str, grid: Any) -> None:
    given = {**BASE, "sensitivity": 4, "grid": grid, "noise": noise, "threshold": 6}
    terms = SparseVector(**given)._session.terms
    (branch,) = terms.branches

    def mean(rate: Fraction) -> Fraction:
        if noise == "laplace":
            return Fraction(0)
        if noise == "exponential":
            return 1 / rate
        power = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        return Fraction(int(mpmath.floor(power / (1 - power) * 2**20)), 2**20)

    with mpmath.workdps(40):
        moved = mean(branch.noise_rate.rate) - mean(terms.noise_rate.rate)
    assert Fraction(branch.place, terms.denominator) == 6 // (grid or 1) + moved


@pytest.mark.parametrize("gap_grid", ["1/1000000", "1/3", 1, 1000])
@pytest.mark.parametrize("epsilon", ["1/1000000", 1000, *(Fraction(1, 2**j) for j in range(9))])
def test_noise_has_digits_enough_for_the_narrowest_cell(gap_grid: Any, epsilon: Any) -> None:
    """A second round of digits has a probability below 2**-50 if 64 digits lie below a cell."""
    given = {**BASE, "epsilon": epsilon, "sensitivity": 1, "gap_grid": gap_grid}
    terms = SparseVector(**given)._session.terms
    rates = [terms.noise_rate.rate, *(branch.noise_rate.rate for branch in terms.branches)]
    cell = min(rates) * min(Fraction(gap_grid), Fraction(1))  # in nats
    assert 2**64 <= cell * 2 ** (terms.digits - SPARE) < 2 ** (64 + 16)
    assert terms.digits % 8 == 0


SURE: dict[str, Any] = {"epsilon": 2**20, "k": 9, "sensitivity": 1, "grid": "1/2"}


def test_the_threshold_goes_to_the_nearest_step_and_the_margin_does_not() -> None:
    session = SparseVector(**SURE, threshold="1.3", gap_grid="1/100")
    assert Fraction(99, 100) <= session.query(2.5).gap <= 1
    adaptive = AdaptiveSparseVector(**SURE, threshold=0, sigma=1)
    found = [adaptive.query(value) for value in (1.5, 0.5, -0.5)]
    assert [each.branch for each in found] == ["top", "middle", None]
    top, middle, below = found
    # Noise of a millionth of a step decides whether a gap is rounded down by a whole one.
    assert top.gap in (1, Fraction(3, 2))
    assert middle.gap in (0, Fraction(1, 2))
    assert below.gap is None
    assert 2 * top.cost == middle.cost
    assert below.cost == 0


@pytest.mark.parametrize("kind", [SparseVector, AdaptiveSparseVector])
def test_a_ledger_is_charged_once_and_told_what_the_noise_covers(kind: Any) -> None:
    ledger = new(":memory:", epsilon=2)
    given = {**BASE, "threshold": "1.3", "sensitivity": "1/2", "grid": "1/3", "monotonic": True}
    session = kind(**given, ledger=scope(ledger))
    (charged,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    assert charged["parts"] == [{"count": "1", "each": charged["guarantee"]}]
    told = charged["parameters"]
    assert (told["effective_range"], told["sensitivity"]) == ("4/3", "1/2")
    assert (told["threshold"], told["split"], told["monotonic"]) == ("4/3", "1/4", "yes")
    assert (told["gap_grid"], told["k"]) == ("1/3", "2")
    assert session.receipt is None
    session.close()
    assert session.receipt is not None
    plain = kind(**given)
    plain.close()
    assert plain.receipt is None
    assert told.get("top_margin") == (
        None if kind is SparseVector else "{}/{}".format(*session.sigma.as_integer_ratio())
    )
    other = kind(**{**given, "monotonic": False}, ledger=scope(ledger))
    other.close()
    assert [r.content for r in ledger.records() if r.content["kind"] == "charged"][1]["parameters"][
        "monotonic"
    ] == "no"


def test_a_session_of_lists_is_charged_its_draws_and_its_bottoms() -> None:
    ledger = new(":memory:", epsilon=2, delta="1/100")
    with PayWhatYouGet(
        outcomes=8, queries=4, epsilon=1, delta="1/1000", ledger=scope(ledger)
    ) as session:  # fmt: skip
        assert len(session.parts) == 9
    (charged,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    assert [part["count"] for part in charged["parts"]] == ["8", "1"]
    assert charged["parts"][1]["each"] == {
        "type": "ApproximateDP", "epsilon": "0", "delta": "1/2000"
    }  # fmt: skip


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize(("kind", "noises"), [(SparseVector, 1), (AdaptiveSparseVector, 2)])
def test_an_answer_asks_the_source_once_for_what_it_needs(
    kind: Any, noises: int, noise: str
) -> None:
    source = RecordingSource(DeterministicSource(1, i_understand_this_is_not_private=True))
    session = kind(**BASE, sensitivity=1, noise=noise, source=source)
    (opened,) = [size for size in source.requests if size][-1:]
    before = len(source.requests)
    for _ in range(3):
        assert not session.query(-(10**9)).above
    each = noises * session._session.terms.digits // 8
    assert list(source.requests[before:]) == [each] * 3
    before = len(source.requests)
    session.query_many([-(10**9)] * 3)
    assert list(source.requests[before:]) == [3 * each]
    assert opened


@pytest.mark.parametrize("kind", [SparseVector, AdaptiveSparseVector])
def test_a_record_that_cannot_be_written_loses_no_answer(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    ledger = new(":memory:", epsilon=2)
    session = kind(**{**BASE, "k": 1}, sensitivity=1, monotonic=True, ledger=scope(ledger))
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "write", full)
        while session.remaining:
            assert session.query(10**9).above
        assert session.receipt is None
    session.close()
    assert session.receipt is not None


LISTS: dict[str, Any] = {"outcomes": 8, "queries": 4, "epsilon": 1, "delta": "1/1000"}
ASKED: dict[str, Any] = {"k": 1, "k_bar": 2, "places": "all"}


def test_what_a_list_of_a_session_says_of_itself() -> None:
    plain = PayWhatYouGet(**LISTS).query({"a": 5}, **ASKED).statement
    assert (plain.unit, plain.neighbours) == ("not stated", "add_remove")
    told = dict(plain.parameters)
    assert (told["candidates"], told["k"]) == ("3", "1")
    rides = Counts({"a": 5}, places="all", unit="one rider")
    assert PayWhatYouGet(**LISTS).query(rides, k=1, k_bar=2).statement.unit == "one rider"
    with PayWhatYouGet(**LISTS, ledger=scope(new(":memory:", epsilon=2, delta="1/10"))) as session:
        assert session.query({"a": 5}, **ASKED).statement.unit == "person"


def test_a_failure_of_the_default_source_ends_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    session = PayWhatYouGet(**LISTS)
    with monkeypatch.context() as patch:
        patch.setattr(ssl, "RAND_status", lambda: False)
        with pytest.raises(SourceError, match="has not been seeded"):
            session.query({"a": 5}, **ASKED)
    session.query({"a": 10**9}, **ASKED)
    assert session.spent.queries == 2
