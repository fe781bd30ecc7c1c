"""The session: what a query costs, what stops it, and what all queries together tell."""

from __future__ import annotations

from itertools import permutations
from math import exp, log
from typing import Any

import pytest
from unknown_laws import BOTTOM, Teller, excess, law_of_list

from safeselect import BudgetError, PayWhatYouGet
from safeselect.mechanisms import unknown

pytestmark = pytest.mark.claim("C2")

SESSION: dict[str, Any] = {"outcomes": 10, "queries": 4, "epsilon": 1, "delta": "1e-6"}
COUNTS = {"a": 5, "b": 4, "c": 3, "d": 2}


@pytest.fixture
def teller(monkeypatch: pytest.MonkeyPatch) -> Teller:
    """The engine of every session: it gives out the ranking that the test sets."""
    engine = Teller()
    monkeypatch.setattr(unknown, "engine", engine)
    return engine


def test_a_query_costs_the_draws_that_it_made(teller: Teller) -> None:
    session = PayWhatYouGet(**SESSION)
    assert (session.remaining.outcomes, session.remaining.queries) == (10, 4)
    teller.order = (0, 3, 1)  # the bottom comes second
    assert session.query(COUNTS, k=3, k_bar=3, places="all").labels == ("a",)
    assert (session.spent.outcomes, session.spent.queries) == (2, 1)
    teller.order = (3, 0, 1)  # nothing, however much was asked for
    assert session.query(COUNTS, k=3, k_bar=3, places="all").labels == ()
    assert (session.spent.outcomes, session.spent.queries) == (3, 2)
    teller.order = (2, 1, 0)  # all that was asked for: the bottom was never drawn
    assert session.query(COUNTS, k=3, k_bar=3, places="all").labels == ("c", "b", "a")
    assert (session.remaining.outcomes, session.remaining.queries) == (4, 1)
    # A dummy ends a list as the bottom does.
    teller.order = (0, 1)
    assert session.query({"a": 1}, k=2, k_bar=3, places="all").labels == ("a",)
    assert (session.remaining.outcomes, session.remaining.queries) == (2, 0)
    with pytest.raises(BudgetError, match="no queries left"):
        session.query(COUNTS, k=1, k_bar=1, places="all")


def test_a_query_that_may_cost_too_much_is_refused_and_costs_nothing(teller: Teller) -> None:
    session = PayWhatYouGet(**SESSION)
    for k in (11, 12):
        with pytest.raises(BudgetError, match=rf"session: 10; this .* use up to {k};"):
            session.query({"Zebedee": 4711}, k=k, k_bar=20, places="all")
    assert session.spent == unknown.Spent(0, 0)
    teller.order = tuple(range(21))  # three labels, then a dummy
    session.query(dict.fromkeys(range(3), 9), k=10, k_bar=20, places="all")
    assert session.remaining.outcomes == 6
    # One draw more where k_bar is chosen.
    with pytest.raises(BudgetError, match="session: 6; this query can use up to 7;"):
        session.query(COUNTS, k=6, k_bar=(6, 20), places="all")
    teller.order = ()
    session.query({}, k=5, k_bar=(5, 20), places="all")
    assert session.remaining.outcomes == 4


def _cost(order: tuple[int, ...], counts: dict[str, int], k: int) -> tuple[Any, int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unknown, "engine", Teller(order=order))
        session = PayWhatYouGet(**SESSION)
        labels = session.query(counts, k=k, k_bar=3, places="all").labels
    return labels, session.spent.outcomes


@pytest.mark.claim("C2")
@pytest.mark.parametrize("items", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_list_is_a_function_of_the_draws_it_is_charged_for_and_of_no_fewer(
    k: int, items: int
) -> None:
    """All rankings of three places and the bottom: the list, and its cost, follow from the draws
    that are charged for.  Without dummies some other ranking has one draw less in common with
    this one, and another list: a smaller cost would hide a draw.
    """
    counts = dict.fromkeys("abcd"[:items], 5)
    found = {order: _cost(order, counts, k) for order in permutations(range(4))}
    for order, (labels, cost) in found.items():
        agreeing = [answer for other, answer in found.items() if other[:cost] == order[:cost]]
        assert set(agreeing) == {(labels, cost)}
        assert cost <= k
        fewer = {
            answer for other, answer in found.items() if other[: cost - 1] == order[: cost - 1]
        }
        assert items < 3 or len(fewer) > 1


@pytest.mark.claim("C2")
def test_two_adaptive_queries_keep_the_promise(teller: Teller, monkeypatch: Any) -> None:
    """Exactly, over all pairs of neighbours of a small table: the second k follows the first list.

    It asks for all outcomes that are left, so that three draws are all there is.

    The same checker catches a session whose bottoms lack their 1 / epsilon.
    """

    def law(counts: dict[str, int]) -> dict[Any, float]:
        found: dict[Any, float] = {}
        for first, chance in single(counts, 2).items():
            for second, more in single(counts, 3 - len(first)).items():
                found[first, second] = found.get((first, second), 0) + float(chance * more)
        return found

    def single(counts: dict[str, int], k: int) -> dict[Any, Any]:
        def run(engine: Teller) -> Any:
            monkeypatch.setattr(unknown, "engine", engine)
            session = PayWhatYouGet(outcomes=3, queries=2, epsilon="3/2", delta="0.2")
            labels = session.query(counts, k=min(k, 2), k_bar=2, places="all").labels
            return labels if len(labels) == min(k, 2) else (*labels, BOTTOM)

        return law_of_list(run)

    def measured() -> float:
        tables = [{"a": a, "b": b} for a in range(3) for b in range(3)]
        laws = [(table, law({k: v for k, v in table.items() if v})) for table in tables]
        return max(
            excess(one, other, exp(1.5))
            for left, one in laws
            for right, other in laws
            if {left[label] - right[label] for label in left} in ({1}, {-1}, {0, 1}, {0, -1})
        )

    assert measured() <= 0.2

    monkeypatch.setattr(
        unknown, "gumbel_offset", lambda e, odds, m, grid: int(log(m / odds) / grid)
    )
    assert measured() > 0.2
