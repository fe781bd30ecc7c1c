"""Every refusal of private input is counted, in sessions too, and a closed scope tells nothing.

Whether a value can be read depends on the value, and no budget bounds what that reveals.  So a
session ends at the first one, the ledger counts it, and a scope that reached its limit answers no
session any more: neither a value that can be read nor one that cannot.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from ledgers import TERMS, new, outcomes, scope
from stops import at_step

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerError, PayWhatYouGet, ScoreError
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C8")

SECRET = 987_654_321
ABOVE: dict[str, Any] = {"threshold": 5, "k": 2, "sensitivity": 1}
OPEN: dict[str, Callable[..., Any]] = {
    "sparse_vector": lambda **more: safeselect.SparseVector(**ABOVE, **more),
    "adaptive_sparse_vector": lambda **more: safeselect.AdaptiveSparseVector(**ABOVE, **more),
    "pay_what_you_get": lambda **more: PayWhatYouGet(
        outcomes=40, queries=40, delta="1e-12", **more
    ),
}
ASK: dict[str, Callable[[Any, object], object]] = {
    "sparse_vector": lambda session, value: session.query(value),
    "adaptive_sparse_vector": lambda session, value: session.query_many([value]),
    "pay_what_you_get": lambda session, value: session.query(
        {"a": value}, k=1, k_bar=1, places="all"
    ),
}


def ledger_of(**more: Any) -> Ledger:
    return new(":memory:", **{"epsilon": 1, "delta": "1/1000", **more})


@pytest.mark.parametrize("name", OPEN)
def test_private_bits_are_not_read_by_refusals_of_many_sessions(name: str) -> None:
    """Sixty sessions of a millionth of the budget each would read sixty private bits."""
    ledger, bits = ledger_of(), [place % 3 for place in range(60)]
    seen: list[str] = []
    for bit in bits:
        try:
            ASK[name](OPEN[name](epsilon="1/1000000", ledger=scope(ledger)), 3 if bit else None)
            seen.append("answered")
        except (ScoreError, BudgetError) as error:
            seen.append(type(error).__name__)
    assert seen.count("ScoreError") == ledger.balance("a").refusals == 10
    assert set(seen[28:]) == {"BudgetError"}


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        MemoryError(SECRET),
        RecursionError(SECRET),
        safeselect.SourceError(str(SECRET)),
        safeselect.BudgetError(str(SECRET)),
        safeselect.LedgerError(str(SECRET)),
        StopIteration(SECRET),
        KeyError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_a_value_is_the_one_sentence(name: str, error: Exception) -> None:
    class Unreadable(Fraction):
        @property
        def numerator(self) -> int:
            raise error

    ledger = ledger_of()
    session = OPEN[name](epsilon="1/2", ledger=scope(ledger))
    with pytest.raises(ScoreError, match="the charge remains") as caught:
        ASK[name](session, Unreadable(1, 3))
    assert str(SECRET) not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert outcomes(ledger) == ["charged", "input"]


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("value", [3, None])
def test_a_closed_scope_answers_no_open_session(name: str, value: object) -> None:
    ledger = Ledger.create(
        ":memory:", {"a": Budget(**TERMS, epsilon=1, delta="1/1000")}, max_refusals=1
    )
    open_before, refused = (OPEN[name](epsilon="1/9", ledger=scope(ledger)) for _ in range(2))
    with pytest.raises(ScoreError, match="the charge remains"):
        ASK[name](refused, None)
    head = ledger.head
    with pytest.raises(BudgetError, match="scope 'a' is closed") as caught:
        ASK[name](open_before, value)
    assert caught.value.__context__ is None
    assert ledger.head == head
    ledger.reopen("a", reason="found")
    if value is not None:
        ASK[name](open_before, value)  # nothing was spent by asking


@pytest.mark.parametrize("name", OPEN)
def test_a_refusal_that_cannot_be_counted_is_not_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever holds the ledger's lock, or fills its disk, reads on without a limit."""
    ledger, said = ledger_of(), set[str]()
    first, second = (OPEN[name](epsilon="1/2", ledger=scope(ledger)) for _ in range(2))

    def full(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "write", full)
        patch.setattr(MemoryStore, "read", full)
        for value in (3, None):  # before it is read
            with pytest.raises(LedgerError, match="the disk is full") as caught:
                ASK[name](first, value)
            said.add(str(caught.value))
        patch.undo()
        patch.setattr(MemoryStore, "write", full)
        for session in (first, second):
            for value in (None, 3):
                with pytest.raises(LedgerError, match="the disk is full") as caught:
                    ASK[name](session, value)
                assert caught.value.__context__ is None
                said.add(str(caught.value).replace("record 3", "record 2"))
    assert len(said) == 1
    with pytest.raises(ScoreError, match="the charge remains"):
        ASK[name](first, 3)
    second.close()
    assert outcomes(ledger) == ["charged", "charged", "input", "input"]


@pytest.mark.parametrize("name", OPEN)
def test_an_answer_does_not_follow_the_record_of_the_end(name: str) -> None:
    """Whatever line a signal interrupts whose handler closes the session."""
    closed, step, answered, late = [True], 0, 0, 0
    while closed:
        step, closed, found = step + 1, [], None
        ledger = ledger_of()
        session = OPEN[name](epsilon="1/2", ledger=scope(ledger))

        def close(session: Any = session, closed: list[bool] = closed) -> None:
            closed.append(True)
            with suppress(safeselect.ParameterError):
                session.close()

        with suppress(safeselect.SafeSelectError):
            found = at_step(partial(ASK[name], session, 10**6), step, close, "mechanisms")
            answered += 1
            late += outcomes(ledger) != ["charged"]
        session.close()
        assert outcomes(ledger) == ["charged", "settled"]
        assert found is None or max(dict(session.release.spent).values()) == 1
    assert answered > 20
    assert late <= 8  # the answer was complete


def test_a_session_that_asks_or_closes_itself_is_refused_and_does_not_hang() -> None:
    asked: list[Callable[[], object]] = []
    seen = [0]

    def drawn(count: int) -> bytes:
        for again in asked:
            with pytest.raises(safeselect.ParameterError, match="while it was answering"):
                again()
        seen.append(len(asked))
        return os.urandom(count)

    session = OPEN["pay_what_you_get"](epsilon=1, source=safeselect.sources.CallbackSource(drawn))
    asked += partial(ASK["pay_what_you_get"], session, 5), session.close
    asked[0]()
    assert (seen[-1], session.spent.queries) == (2, 1)
