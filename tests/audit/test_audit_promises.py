"""Forgeries in which release and records agree, and promise more than the law or the draws give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, Case, Json, certificate
from written import EVERY

import safeselect as s
from safeselect.release.results import from_json

pytestmark = pytest.mark.claim("C9")

Run = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def certified() -> str:
    return certificate()


def kind(name: str, epsilon: str = "1") -> Json:
    return {"type": name, "epsilon": epsilon}


def one(each: Json) -> list[Json]:
    return [{"count": "1", "each": each}]


def select(**more: Any) -> Any:
    return s.permute_and_flip({"tea": 5, "milk": 1}, epsilon=1, sensitivity=1, **more)


def of_delta(**more: Any) -> Any:
    counts = {str(place): place for place in range(60)}
    return s.top_k(counts, k=40, epsilon=1, delta="1e-6", sensitivity=1, **more)


Change = Callable[[Case, list[Json]], None]


def cheap_draws(case: Case, records: list[Json]) -> None:
    """The whole is as it was, and what was paid is the price of draws that nobody made."""
    charged = records[CHARGED]
    cheap = one(kind("LaplaceDominated", "1/1000"))
    case.release["parts"] = charged["parts"] = cheap
    charged["charges"][0] |= {"charge": {"rho": "1/2000000"}, "after": {"rho": "1/2000000"}}


def paid_as(name: str, rho: str) -> Change:
    def change(case: Case, records: list[Json]) -> None:
        case.release |= {"guarantee": kind(name), "parts": one(kind(name))}
        charged = records[CHARGED]
        charged |= {"guarantee": kind(name), "parts": one(kind(name))}
        charged["charges"][0] |= {"charge": {"rho": rho}, "after": {"rho": rho}}

    return change


def less_than_its_draws(case: Case, records: list[Json]) -> None:
    case.release["guarantee"] = records[CHARGED]["guarantee"] = kind("LaplaceDominated", "1/100")
    amounts = {"charge": {"epsilon": "1/100"}, "after": {"epsilon": "101/100"}}
    records[CHARGED]["charges"][0] |= amounts


def less_with_delta(case: Case, records: list[Json]) -> None:
    less = {"type": "ApproximateDP", "epsilon": "1/100", "delta": "1/1000000"}
    case.release["guarantee"] = records[CHARGED]["guarantee"] = less


def pure_by_delta(case: Case, records: list[Json]) -> None:
    """Draws that compose to epsilon only with a delta."""
    case.release["guarantee"] = records[CHARGED]["guarantee"] = kind("LaplaceDominated")


def with_health(word: str) -> Change:
    return lambda case, records: records[CHARGED]["source"].update(health=word)


def with_parameter(**wrong: str) -> Change:
    def change(case: Case, records: list[Json]) -> None:
        case.release["statement"]["parameters"] |= wrong
        records[CHARGED]["parameters"] |= wrong

    return change


def twice_a_label(case: Case, records: list[Json]) -> None:
    case.release["labels"]["texts"] = ["tea", "tea"]


FORGERIES: dict[str, tuple[Any, bool, Change, str, str]] = {
    "draws that nobody made": (
        select,
        True,
        cheap_draws,
        "plan",
        "draws is 1 x {'type': 'LaplaceDominated', 'epsilon': '1/1000'}, and what follows is 1 x",
    ),
    "a bounded range of permute-and-flip": (
        select,
        True,
        paid_as("BoundedRange", "1/8"),
        "plan",
        "draws is 1 x {'type': 'BoundedRange', 'epsilon': '1'}, and what follows is 1 x {'type':",
    ),
    "less than its draws": (
        None,
        False,
        less_than_its_draws,
        "plan",
        "draws is 2 x {'type': 'LaplaceDominated', 'epsilon': '1/2'}, and what follows is 2 x",
    ),
    "less than its draws, with delta": (
        of_delta,
        False,
        less_with_delta,
        "plan",
        "draws is 40 x {'type': 'BoundedRange', 'epsilon': '",
    ),
    "without the delta of its draws": (
        of_delta,
        False,
        pure_by_delta,
        "plan",
        "draws is 40 x {'type': 'BoundedRange', 'epsilon': '",
    ),
    "a source that failed its tests": (
        None,
        False,
        with_health("failed"),
        "source",
        "and its tests were: failed",
    ),
    "noise that covers nothing": (
        None,
        False,
        with_parameter(effective_range="0"),
        "release",
        "a field is missing, has another form or does not fit the others",
    ),
    "scores that may be monotonic": (
        None,
        False,
        with_parameter(monotonic="perhaps"),
        "plan",
        "There is no such release: monotonic is neither yes nor no.",
    ),
    "a strategy for more keys of a user": (
        EVERY["a strategy"],
        False,
        with_parameter(max_partitions="6"),
        "draws",
        "It takes 6, and its record says 3.",
    ),
    "a label twice": (None, False, twice_a_label, "output", "It names a candidate twice."),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_promises_that_do_not_follow_are_refused_with_a_sentence(
    tmp_path: Path, certified: str, capfdbinary: Run, name: str
) -> None:
    call, of_rho, change, what, said = FORGERIES[name]
    case = Case(tmp_path, certified, call=call, of_rho=of_rho)
    assert case.audit(capfdbinary)[0] == 0
    case.rewrite(lambda records: change(case, records))
    case.rewrite(lambda records: None)  # the commitment is to the release as it is now
    if what != "release":  # that one says of itself that it is none
        from_json(json.dumps(case.release))
    code, lines, last = case.audit(capfdbinary)
    assert code == 3
    assert said in lines[what], lines
    assert not lines[what].startswith("holds")
    assert what in last
