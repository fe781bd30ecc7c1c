"""What a result says of itself: the rate of its noise, its ledger's words, and its candidates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, scope

import safeselect as s
from safeselect import Counts

pytestmark = pytest.mark.claim("C2")

SCORES = [3, 900, 2000]
SURE: dict[str, Any] = {"epsilon": 2**20, "sensitivity": 1}
HALF: dict[str, Any] = {"epsilon": "1/2", "sensitivity": 3, "grid": "1/4", "score_error": 0}
"""R is 6, and the rate per score unit epsilon / R, whatever the grid."""

KINDS: dict[str, tuple[Callable[..., Any], Fraction | None]] = {
    "permute_and_flip": (s.permute_and_flip, Fraction(1, 12)),
    "exponential_mechanism": (s.exponential_mechanism, Fraction(1, 12)),
    "exponential_mechanism_base2": (s.exponential_mechanism_base2, None),
    "permute_and_flip_with_gap": (s.permute_and_flip_with_gap, Fraction(1, 12)),
    "top_k": (lambda x, **o: s.top_k(x, k=2, **o), Fraction(1, 24)),
    "top_k_peeled": (
        lambda x, **o: s.top_k(x, k=2, mechanism="permute_and_flip", **o),
        Fraction(1, 24),
    ),
    "top_k_with_gaps": (lambda x, **o: s.top_k_with_gaps(x, k=2, **o), Fraction(1, 24)),
    "select_many": (lambda x, **o: s.select_many([x, x, x], **o), Fraction(1, 36)),
    "select_many k": (lambda x, **o: s.select_many([x, x, x], k=2, **o), Fraction(1, 72)),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_rate_of_the_noise_is_in_score_units(name: str) -> None:
    call, rate = KINDS[name]
    found = call(SCORES, **HALF)
    assert found.noise_rate == rate
    assert found.effective_range == 6


def test_the_rate_above_a_threshold_and_that_of_counts() -> None:
    above = s.top_k_above(SCORES, threshold=4, k=2, **HALF)
    assert above.noise_rate == Fraction(1, 24)
    assert above.effective_range == 6
    counts = {"a": 5, "b": 3}
    given: dict[str, Any] = {"k": 1, "k_bar": 1, "epsilon": 1, "delta": "1e-6", "places": "all"}
    listed = s.unknown_domain_top_k(counts, **given)
    assert listed.noise_rate == 1
    assert s.unknown_domain_top_k(counts, **given, max_contributions=4).noise_rate == Fraction(1, 4)


def test_results_are_their_candidates() -> None:
    given = {"labels": ["a", "b", "c"], **SURE}
    ordered = s.top_k(SCORES, k=2, **given)
    above = s.top_k_above(SCORES, k=2, threshold=50, **given)
    for each in (ordered, above):
        assert (len(each), list(each), each[0]) == (2, ["c", "b"], "c")
    far = {**given, "epsilon": "1/5", "delta": "1/100"}
    unordered = s.top_k([x * 10**6 for x in SCORES], k=2, mechanism="laplace", **far)
    assert (len(unordered), list(unordered)) == (2, ["b", "c"])
    assert ["a" in unordered, "b" in unordered, "c" in unordered] == [False, True, True]
    mixed = s.top_k(
        [3, 10**9, 2 * 10**9], k=2, mechanism="laplace", **far | {"labels": [0, 7, "b"]}
    )
    assert list(mixed) == [7, "b"]
    rows = s.select_many([SCORES, SCORES[::-1]], **given)
    assert (len(rows), list(rows), rows[1]) == (2, ["c", "a"], "a")


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_result_on_a_ledger_says_what_its_scope_and_its_record_say(neighbours: str) -> None:
    words = {"unit": "one rider", "neighbours": neighbours}
    ledger = s.Ledger.create(":memory:", {"a": s.Budget(**words, epsilon=9, delta="1/100")})
    there = ledger.scope("a", **words, purpose="a test")
    found = s.permute_and_flip(SCORES, epsilon=1, sensitivity=1, ledger=there)
    (charged,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    said = found.statement
    assert (said.unit, said.neighbours) == ("one rider", neighbours)
    assert said.utc == charged["utc"]
    assert dict(said.parameters) == charged["parameters"]


def test_without_a_ledger_nothing_is_said_of_neighbours_or_time() -> None:
    said = s.permute_and_flip(SCORES, epsilon=1, sensitivity=1).statement
    assert (said.unit, said.neighbours, said.utc) == ("not stated", "not stated", None)
    monotonic = s.permute_and_flip(SCORES, epsilon=1, sensitivity=1, monotonic=True).statement
    assert monotonic.neighbours == "add_remove"


def test_counts_name_whose_privacy_it_is() -> None:
    rides = Counts({"a": 5, "b": 3}, places="all", unit="one rider")
    given: dict[str, Any] = {"k": 1, "k_bar": 1, "epsilon": 1, "delta": "1e-6"}
    assert s.unknown_domain_top_k(rides, **given).statement.unit == "one rider"
    known = Counts({"a": 5, "b": 3}, places="all", max_contributions=1, unit="one rider")
    said = s.permute_and_flip(known, epsilon=1, sensitivity=1, monotonic=True).statement
    assert said.unit == "one rider"
    paid = s.unknown_domain_top_k(
        {"a": 5}, **given, places="all", ledger=scope(new(":memory:", epsilon=2, delta="1/10"))
    )
    assert (paid.statement.unit, paid.statement.neighbours) == ("person", "add_remove")
    assert paid.statement.utc is not None


def test_a_base_is_one_draw_for_a_ledger() -> None:
    ledger = new(":memory:", epsilon=9)
    found = s.exponential_mechanism_base2(
        SCORES, base="1/2", sensitivity=1, monotonic=True, ledger=scope(ledger)
    )
    (charged,) = (r.content for r in ledger.records() if r.content["kind"] == "charged")
    assert [part["count"] for part in charged["parts"]] == ["1"]
    assert charged["parameters"]["k"] == "1"
    assert found.base == Fraction(1, 2)
