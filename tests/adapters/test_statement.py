"""A release in words: from the release alone, and no more than its guarantee."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import safeselect as s
from safeselect.adapters.statement import _odds
from safeselect.ledger.record import canonical
from safeselect.testing import DeterministicSource
from shapes import RELEASES, SAID

TITLES = ["What was asked", "What was released", "What was promised, and to whom"]
TITLES += ["What was assumed", "What was not promised"]
SCORES = {"red": 12, "blue": 3000, "green": 29}


def test_the_sections_of_a_release() -> None:
    said = s.permute_and_flip(SCORES, epsilon="1/2", sensitivity=1, monotonic=True).statement()
    assert [line for line in said.splitlines() if line and line[0] != " "] == TITLES
    for sentence in (
        "Which of 3 candidates has the largest score?",
        "'blue'.",
        "No score or count was released, true or noisy.",
        "had its data not been there",
        "no event becomes more than 1.65 times as likely",
        "at most 62.3 %",
        "changes any one score by more than 1.",
        "known without looking at the data",
    ):
        assert sentence in " ".join(said.split()), sentence


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "3", "49"])
@pytest.mark.parametrize("delta", ["0", "1e-6", "1/10"])
def test_odds_are_rounded_up_and_are_those_of_the_best_test(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    factor, right = _odds(e, d)
    grown = math.exp(e)
    assert 0 <= float(factor) - grown <= 0.01 * (1 + 1e-9) + grown * 1e-12
    # Randomized response that reveals all with probability delta, told apart by the likelier side.
    best = float(d) + (1 - float(d)) * grown / (1 + grown)
    best = max(best, (grown + float(d)) / (1 + grown))
    assert -1e-9 <= float(right) - 100 * best <= 0.1 * (1 + 1e-9)


def test_delta_is_said_and_zcdp_is_put_into_epsilon_and_delta() -> None:
    found = s.unknown_domain_top_k(
        s.Counts({"Oslo": 912}, places="all"), k=2, k_bar=10, epsilon=1, delta="1e-8"
    )
    said = " ".join(found.statement().split())
    assert "plus a probability of 0.00000001" in said
    assert "The set of items is private too." in said
    assert "known without looking" not in said
    best = s.top_k(SCORES, k=2, rho="1/10", sensitivity=1)
    bound = best.guarantee.approximate("1e-6")
    stated = re.search(r"With epsilon = ([0-9.]+) ", " ".join(best.statement().split()))
    assert stated is not None
    assert 0 <= Fraction(stated[1]) - bound.epsilon < Fraction(1, 100)


def test_numbers_say_their_noise_and_sources_for_tests_are_told() -> None:
    assert "off by at most 3" in s.measure([3], epsilon=1, sensitivity_l1=1).statement()
    source = DeterministicSource(b"1", i_understand_this_is_not_private=True)
    private = s.permute_and_flip(SCORES, epsilon=1, sensitivity=1, source=source)
    assert private.statement().startswith("THIS RELEASE IS NOT PRIVATE")


def test_a_lead_of_0_is_a_lead_and_nothing_has_no_counts() -> None:
    led = s.permute_and_flip_with_gap(SCORES, epsilon=1, sensitivity=1)
    for gap in (Fraction(0), Fraction(3)):
        assert "No score" not in replace(led, gap=gap).statement()
    for count, shown in ((9, "Nothing was found."), (900, "'b' (")):
        given = s.Counts({"b": count}, places="all", max_contributions=1)
        cost: dict[str, Any] = {"epsilon": 1, "delta": "1e-20", "max_contributions": 1}
        said = s.unknown_domain_top_k(given, k=1, k_bar=4, **cost).statement().split("\n\n")[1]
        assert " ".join(said.split()).startswith(f"What was released {shown}"), said
        assert ("count" in said) == (count == 900)


@pytest.mark.parametrize("minimize", [False, True])
def test_the_question_is_about_the_end_that_was_asked_for(minimize: bool) -> None:
    end, least = ("smallest", "at most") if minimize else ("largest", "at least")
    more: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "minimize": minimize}
    run: dict[str, Any] = {"base": s.PureDP(1), "gamma": "1/2", "minimize": minimize}
    for release, asked in (
        (s.permute_and_flip(SCORES, **more), f"Which of 3 candidates has the {end} score?"),
        (s.top_k(SCORES, k=2, **more), f"3 candidates have the {end} scores (top 2)?"),
        (s.select_many([[1, 2]], **more), f"which of 2 candidates has the {end} score?"),
        (
            s.top_k_above(SCORES, k=2, threshold="5/2", **more),
            f"Which candidates (up to 2) have the {end} scores of {least} 5/2?",
        ),
        (
            s.first_above(lambda _: (3, "x"), threshold=3, **run),
            f"Is there a private run with a score of {least} 3?",
        ),
    ):
        assert asked in " ".join(release.statement().split())


def test_no_text_of_a_release_moves_a_cursor_or_starts_a_line() -> None:
    wild = "\x1b[2J\u202e\udc80\nWhat was promised"
    stated = tuple((name, wild) for name in ("base", "candidates", "sensitivity"))
    of = replace(SAID["provenance"], unit=wild, parameters=stated)
    forged: Any = {"provenance": of, "source": f"NOT PRIVATE {wild}", "spent": ((wild, 1),)}
    said = replace(RELEASES["closed"], **forged).statement()
    assert said.replace("\n", "").isprintable()
    assert said.count(r"\x1b[2J\u202e\udc80\nWhat") == 7


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("groups", "'x': 'b' (7), 'a' (2). 'y': nothing. Each count has noise: with probability"),
        ("measured", "'u' (-1), 'v' (5). Each number has noise: with probability"),
        ("run", "'out' (2)."),
        ("quantiles", "'1/2' (3)."),
        ("answers", "Values above the threshold: 2, each with its noisy lead over it."),
        ("closed", "The answers are not part of this release: they are released one by one."),
    ],
)
def test_what_was_released_is_listed_with_names_and_numbers(name: str, listed: str) -> None:
    said = RELEASES[name].statement().split("\n\n")[1]
    assert " ".join(said.split()).startswith(f"What was released {listed}")


def test_what_was_assumed_is_nothing_or_is_named() -> None:
    assert "asserted" not in RELEASES["a"].statement()
    run = "Each run, with its score and its output, costs at most PureDP ε = 1.\n  The caller asse"
    assert run in RELEASES["run"].statement()


def test_the_promise_is_about_the_neighbours_of_the_release() -> None:
    of = SAID["provenance"]
    for by, there in (
        ("add_remove", "this data was there or not there"),
        ("replace_one", "this data or its replacement was there"),
        ("my own", "this or that data set was there"),
    ):
        said = replace(RELEASES["a"], provenance=replace(of, neighbours=by)).statement()
        assert f"thinks it equally likely that {there}, and who" in " ".join(said.split())


def written(content: Any) -> Iterator[str]:
    """All releases in known answers, in their own spelling."""
    if isinstance(content, dict) and {"mechanism", "provenance"} <= content.keys():
        ran = dict.fromkeys(("deciding_sha256", "source_tree_sha256"), "unreadable")
        yield canonical({**content, "provenance": content["provenance"] | ran | {"version": "0"}})
    elif isinstance(content, (dict, list)):
        for each in content.values() if isinstance(content, dict) else content:
            yield from written(each)


def test_every_law_has_its_words() -> None:
    laws, place = set(), Path(s.known_answers.__file__).with_name("written.json")
    for text in written(json.loads(place.read_text("utf-8"))):
        release = s.from_json(text)
        said = release.statement()
        assert not {"{", "}"} & {*said}, said
        assert "(number not stated)" not in said, said
        laws.add(release.mechanism)
    assert len(laws) > 30
