"""How many more fit: of a guarantee, a release, a session, a call; nothing is charged for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ledgers import TERMS, new, pure, scope
from observed_calls import CASES, called, released
from observer import observed

import safeselect
from safeselect import ApproximateDP, BoundedRange, Budget, ParameterError, PureDP, ScoreError
from safeselect.ledger import Balance
from safeselect.ledger.quote import quoted
from safeselect.sources import CallbackSource

pytestmark = [pytest.mark.claim("C8")]

MILLIONTH: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


class Unread:
    """A score that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"a score was read: {name}")


def call(ledger: Any, **more: Any) -> Any:
    options: dict[str, Any] = {"k": 5, "epsilon": "1/10", "mechanism": "exponential", **more}
    return safeselect.top_k([Unread()] * 9, **options, sensitivity=1, ledger=ledger)


# ------------------------------------------------------------------------------- what may be asked


def test_a_call_is_asked_for_and_nothing_is_charged_read_or_drawn() -> None:
    ledger = new(":memory:", **MILLIONTH)
    head = ledger.head
    with observed() as seen:
        assert ledger.balance("a").fits(lambda there: call(there)) == 93
        assert scope(ledger).fits(lambda there: call(there)) == 93
        assert ledger.balance("a").forecast(lambda there: call(there)).startswith("fits 93 times")
    assert (seen.draws, seen.elsewhere, seen.reached) == ([], set(), set())
    assert ledger.head == head
    with pytest.raises(ScoreError):  # the scores that were not read are none
        safeselect.top_k([object()] * 9, k=5, epsilon="1/10", sensitivity=1, ledger=scope(ledger))
    assert ledger.head != head


def test_nothing_is_asked_of_a_device() -> None:
    """A source of the caller's own begins with the first byte that is drawn, or the charge."""
    asked: list[int] = []

    def device(count: int) -> bytes:
        asked.append(count)
        return os.urandom(count)

    source = CallbackSource(device, exclusive=True)
    there = scope(new(":memory:", **MILLIONTH))
    assert (there.fits(lambda there: call(there, source=source)), asked) == (93, [])
    with pytest.raises(ScoreError):
        safeselect.top_k(["x"], k=1, epsilon="1/10", sensitivity=1, ledger=there, source=source)
    assert asked


@pytest.mark.parametrize("name", CASES)
def test_every_call_is_asked_for_at_the_price_that_it_is_charged(name: str) -> None:
    args = CASES[name].args
    found = called(name, dict(args))
    assert found.refused is None
    ((_, guarantee, parts), *_) = found.charges
    kept = {key: value for key, value in args.items() if key not in ("tables", "moved", "people")}
    with warnings.catch_warnings(), observed() as seen:
        warnings.simplefilter("ignore")
        said = quoted(lambda there: released(name, kept, there), "person", "add_remove")
    assert (said[0], tuple(said[1])) == (guarantee, parts)
    assert seen.draws == []


COST: dict[str, Any] = {"k": 2, "epsilon": "1/10", "sensitivity": 1}
BOTH: dict[str, Any] = {"epsilon": "1/10", "delta": "1e-9"}
COUNTS = safeselect.Counts({"a": 90, "b": 85, "c": 80}, places="all")
ASKED: dict[str, Callable[[Any], Any]] = {
    "release": lambda there: safeselect.top_k([1, 5, 9, 3], **COST, ledger=there),
    "session": lambda there: safeselect.SparseVector(threshold=1, **COST, ledger=there),
    "adaptive": lambda there: safeselect.AdaptiveSparseVector(threshold=1, **COST, ledger=there),
    "lists": lambda there: safeselect.PayWhatYouGet(outcomes=5, queries=2, **BOTH, ledger=there),
    "list": lambda there: safeselect.unknown_domain_top_k(
        COUNTS, k=2, k_bar=2, **BOTH, ledger=there
    ),
}


@pytest.mark.parametrize(
    "terms", [MILLIONTH, {**MILLIONTH, "own_delta": "1e-6"}, {"rho": "1/50", "delta": "1e-7"}]
)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_what_was_released_and_its_call_fit_equally_often_as_are_granted(
    ask: Callable[[Any], Any], terms: dict[str, Any]
) -> None:
    """A release, an instance of a session, and the call that would make it."""
    ledger = new(":memory:", **terms)
    balance, there = ledger.balance("a"), scope(ledger)
    made, times = ask(None), balance.fits(ask)
    assert times is not None
    assert balance.fits(made) == times > 0
    asked = quoted(ask, "person", "add_remove")
    assert balance.budget.price(*quoted(made, "person", "add_remove")) == balance.budget.price(
        *asked
    )
    ask(there)
    assert ledger.balance("a").fits(ask) == times - 1
    for _ in range(times - 1):
        there.pay(pure(guarantee=asked[0], parts=asked[1]))
    assert there.fits(ask) == 0
    with pytest.raises(safeselect.BudgetError, match="does not allow"):
        ask(there)


def test_of_scopes_that_are_joined_the_least_counts() -> None:
    budgets = {"a": Budget(**TERMS, epsilon=1), "b": Budget(**TERMS, **MILLIONTH)}
    ledger = safeselect.Ledger.create(":memory:", {**budgets, "c": Budget(**TERMS, rho=10)})
    a, b, c = (scope(ledger, name) for name in "abc")
    asked = BoundedRange("1/20")
    assert (a.fits(asked), b.fits(asked)) == (20, 75)
    assert (a & b).fits(asked) == (b & a).fits(asked) == (c & b & a).fits(asked) == 20
    scope(ledger, "a").pay(pure("9/10"))
    assert (b & c & a).fits(asked) == 2
    free = ApproximateDP(0, "1e-9")
    assert b.fits(free) == 250
    with pytest.raises(ParameterError, match=r"ApproximateDP cannot be charged .* limits epsilon;"):
        (a & b).fits(free)


# --------------------------------------------------------------------------- what cannot be asked


@pytest.mark.parametrize("wrong", [None, 3, "1/10", [PureDP(1)], {}, object(), Budget])
def test_other_things_are_no_releases(wrong: Any) -> None:
    balance = new(":memory:", **MILLIONTH).balance("a")
    said = "pass a guarantee such as PureDP|must pass the scope|must be text|missing"
    with pytest.raises((ParameterError, TypeError), match=said):
        balance.fits(wrong)


def test_a_function_that_charges_nothing_is_told_so() -> None:
    ledger = new(":memory:", **MILLIONTH)
    for wrong in (
        lambda there: None,
        lambda there: PureDP(1),
        lambda there: safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1),
    ):
        with pytest.raises(ParameterError, match="must pass its argument to a mechanism as"):
            ledger.balance("a").fits(wrong)
    # Its own ledger would be charged for real: what was handed over was not used.
    own = new(":memory:", epsilon=1)
    with pytest.raises(ParameterError, match="must pass its argument to a mechanism as"):
        ledger.balance("a").fits(lambda there: ASKED["release"](scope(own)))
    assert ledger.balance("a").spent == dict.fromkeys(ledger.balance("a").budget.terms.names, 0)


def test_wrong_arguments_of_the_call_are_told_as_the_call_tells_them() -> None:
    balance = new(":memory:", **MILLIONTH).balance("a")
    for more, said in (
        ({"k": 0}, "k must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"mechanism": "x"}, "mechanism must be"),
    ):
        with pytest.raises(ParameterError, match=said):
            balance.fits(lambda there, more=more: call(there, **more))
    replaced = Balance.fresh(Budget("person", "replace_one", **MILLIONTH))
    with pytest.raises(ParameterError, match="requires add/remove neighbours, but scope 'a quote'"):
        replaced.fits(lambda there: call(there, monotonic=True))


def test_a_closed_way_and_a_closed_budget_fit_nothing() -> None:
    balance = Balance.fresh(Budget(**TERMS, epsilon=1))
    with pytest.raises(ParameterError, match="use a budget with epsilon and delta"):
        balance.fits(safeselect.ZeroConcentratedDP("1/1000"))
    ledger = new(":memory:", epsilon=1)
    scope(ledger).pay(pure(1))
    assert ledger.balance("a").fits(PureDP("1e-300")) == 0
    assert ledger.balance("a").forecast(PureDP("1/9")) == "fits 0 times, limited by epsilon"


def test_the_scope_of_a_function_can_be_joined_and_asked() -> None:
    ledger = new(":memory:", epsilon=1)
    for other in (lambda there: there & scope(ledger), lambda there: scope(ledger) & there):
        assert ledger.balance("a").fits(lambda there, to=other: call(to(there).asked("x"))) == 10


# ------------------------------------------------------------------------------- what is forecast


def test_the_forecast_says_what_stops_and_what_would_fit_more_often() -> None:
    def said(asked: Any, **more: Any) -> str:
        return Balance.fresh(Budget(**TERMS, **MILLIONTH, **more)).forecast(asked)

    assert quoted(ASKED["list"], "person", "add_remove")[0] == ApproximateDP("1/10", "1e-9")
    assert said(PureDP("1/4")) == "fits 4 times, limited by epsilon"
    assert said(PureDP("2/3")) == "fits 1 time, limited by moment 3"
    assert said(PureDP("1/100"), own_delta=0) == "fits 481 times, limited by moment 1"
    assert said(ApproximateDP(0, "1e-7"), own_delta="1e-6") == "fits 10 times, limited by own delta"
    assert said(lambda there: call(there)) == (
        "fits 93 times, limited by moment 1; with own_delta=0 when the scope is opened: 95 times"
    )
    later = Balance(Budget(**TERMS, **MILLIONTH), price(PureDP("1/2")))
    assert "when the scope is opened" not in later.forecast(PureDP("1/200"))
    assert later.forecast(PureDP("1/200")) == "fits 442 times, limited by moment 2"
    free = Balance.fresh(Budget(**TERMS, rho=1))
    assert free.forecast(PureDP("1/10")) == "fits 200 times, limited by rho"


def price(guarantee: Any) -> dict[str, Fraction]:
    return Budget(**TERMS, **MILLIONTH).price(guarantee)
