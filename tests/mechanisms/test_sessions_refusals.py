"""Every refusal of private input is counted, in sessions too, and a closed scope tells nothing.

Whether a value can be read depends on the value, and no budget bounds what that reveals.  So a
session ends at the first one, the ledger counts it, and a scope that reached its limit answers no
session any more: neither a value that can be read nor one that cannot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ledgers import TERMS, new, outcomes, scope

import safeselect
from safeselect import (
    AdaptiveSparseVector,
    Budget,
    BudgetError,
    Ledger,
    LedgerError,
    PayWhatYouGet,
    ScoreError,
    SparseVector,
)
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C8")

SECRET = 987_654_321
ABOVE: dict[str, Any] = {"threshold": 5, "k": 2, "sensitivity": 1}
OPEN: dict[str, Callable[..., Any]] = {
    "sparse_vector": lambda **more: SparseVector(**ABOVE, **more),
    "adaptive_sparse_vector": lambda **more: AdaptiveSparseVector(**ABOVE, **more),
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


@pytest.mark.parametrize("value", [3, None])
def test_a_call_under_way_when_its_scope_closes_tells_nothing(value: object) -> None:
    """Charged before the scope closed, read after it: both kinds of values get one sentence."""
    ledger = Ledger.create(":memory:", {"a": Budget(**TERMS, epsilon=1)}, max_refusals=1)
    charged, closed = threading.Event(), threading.Event()

    class Waiting:
        name, production = "waiting", True

        def begin(self) -> bytes:
            return safeselect.sources.OpenSSLSource().begin()

        def fill(self, buffer: memoryview) -> None:
            safeselect.sources.OpenSSLSource().fill(buffer)
            if ledger.balance("a").spent["epsilon"]:
                charged.set()
                closed.wait(20)

    found: list[BaseException] = []

    def call() -> None:
        try:
            safeselect.permute_and_flip(
                [1, value], epsilon="1/9", sensitivity=1, source=Waiting(), ledger=scope(ledger)
            )
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert charged.wait(20)
    with pytest.raises(ScoreError, match=r"[Tt]he charge remains"):
        safeselect.permute_and_flip([1, None], epsilon="1/9", sensitivity=1, ledger=scope(ledger))
    closed.set()
    thread.join()
    (error,) = found
    assert type(error) is BudgetError
    assert "scope 'a' is closed" in str(error)
    assert error.__context__ is None


@pytest.mark.parametrize("name", OPEN)
def test_a_refusal_that_cannot_be_counted_is_not_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever holds the ledger's lock, or fills its disk, reads on without a limit."""
    session = OPEN[name](epsilon="1/2", ledger=scope(ledger_of()))

    def full(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(MemoryStore, "write", full)
    with pytest.raises(LedgerError, match="the disk is full") as caught:
        ASK[name](session, None)
    assert caught.value.__context__ is None


def test_a_session_that_asks_itself_is_refused_and_does_not_hang() -> None:
    asked: list[int] = []

    class Foreign:
        name, production = "asking", True

        def begin(self) -> bytes:
            return safeselect.sources.OpenSSLSource().begin()

        def fill(self, buffer: memoryview) -> None:
            safeselect.sources.OpenSSLSource().fill(buffer)
            with pytest.raises(safeselect.ParameterError, match="while it was answering"):
                session.query({"b": 5}, k=1, k_bar=1, places="all")
            asked.append(1)

    session = PayWhatYouGet(outcomes=4, queries=4, epsilon=1, delta="1e-9", source=Foreign())
    session.query({"b": 5}, k=1, k_bar=1, places="all")
    assert asked
    assert session.spent.queries == 1
