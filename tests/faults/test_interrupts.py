"""KeyboardInterrupt and MemoryError at every boundary of a call: what is left is consistent.

A charge comes before noise and is never taken back; there is no result without a record; the next
call works, so no lock and no transaction stays open.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import pytest
from interrupts import stopped_at
from ledgers import new, pure, scope
from sentinels import everything_of, found_in, near

import safeselect
from safeselect import BudgetError, Ledger, SafeSelectError

PRICE = 1


class Counted:
    """A good source that knows whether noise was drawn."""

    name = "Counted"
    production = False  # so that its bytes are taken as they are, and no others asked for
    drawn = 0

    def begin(self) -> bytes:
        return os.urandom(16)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        self.drawn += 1
        buffer[:] = os.urandom(len(buffer))


def release(ledger: Ledger | None) -> Callable[[Counted], Any]:
    there = None if ledger is None else scope(ledger)
    return lambda source: safeselect.permute_and_flip(
        near(3), epsilon=PRICE, sensitivity=1, ledger=there, source=source
    )


def session(ledger: Ledger | None) -> Callable[[Counted], Any]:
    there = None if ledger is None else scope(ledger)
    return lambda source: safeselect.SparseVector(
        threshold=1, k=1, epsilon=PRICE, sensitivity=1, ledger=there, source=source
    )


def counts(ledger: Ledger) -> dict[str, int]:
    kinds = [record.content["kind"] for record in ledger.records()]
    return {kind: kinds.count(kind) for kind in ("charged", "released", "aborted")}


def sweep(
    make: Callable[[Counted], Any], ledger: Ledger, kind: type[BaseException], stride: int
) -> None:
    """Stop the call at every stride-th boundary, one after the other."""
    for _ in range(2):
        make(Counted())  # fills the caches
    at = stops = 0
    while True:
        before, spent = ledger.head, ledger.balance("a").spent["epsilon"]
        source = Counted()
        done = stopped_at(lambda s=source: make(s), at, kind())
        if not done.place:
            assert done.error is None
            break
        charged = ledger.balance("a").spent["epsilon"] - spent
        assert charged in (0, PRICE), done.place
        assert charged == PRICE or not source.drawn, (
            f"bits are drawn, nothing is paid: {done.place}"
        )
        assert charged or ledger.head == before, done.place
        assert done.error is None or isinstance(done.error, (kind, SafeSelectError)), done.place
        assert done.result is None or charged, done.place
        if kind is KeyboardInterrupt:
            assert isinstance(done.error, KeyboardInterrupt), done.place
        assert done.error is None or found_in(everything_of(done.error)) == [], done.place
        at, stops = at + stride, stops + 1
    assert stops > 400 // stride
    balance, found = ledger.check().scopes["a"], counts(ledger)
    assert balance.spent == {"epsilon": found["charged"] * PRICE}
    assert found["charged"] >= found["released"] + found["aborted"] > 0
    assert found["aborted"] > 0


@pytest.mark.claim("C8")
@pytest.mark.parametrize(("kind", "stride"), [(KeyboardInterrupt, 2), (MemoryError, 5)])
def test_a_release_stopped_anywhere(kind, stride):
    ledger = new(":memory:", epsilon=10**6)
    sweep(release(ledger), ledger, kind, stride)


@pytest.mark.claim("C8")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_a_refusal_stopped_anywhere_is_counted_or_not_told(kind):
    at = 0
    while True:
        ledger = new(":memory:", epsilon=1)
        given = {"epsilon": 1, "sensitivity": 1, "ledger": scope(ledger), "source": Counted()}
        done = stopped_at(lambda g=given: safeselect.permute_and_flip([1, None], **g), at, kind())
        if not done.place:
            break
        chain = [done.error]
        while chain[-1] is not None:
            chain.append(chain[-1].__context__)
        told = any(isinstance(each, safeselect.ScoreError) for each in chain)
        assert ledger.balance("a").refusals or not told, done.place
        at += 1
    assert at > 400


def test_a_charge_after_the_noise_is_found_out():
    """The sweep sees the careless order, in which an interrupt leaves a release unpaid."""
    ledger = new(":memory:", epsilon=10**6)

    def careless(source: Counted) -> Any:
        result = safeselect.permute_and_flip([3, 1], epsilon=1, sensitivity=1, source=source)
        scope(ledger).pay(pure(PRICE)).released(result.to_json(), bytes(32))
        return result

    with pytest.raises(AssertionError, match="bits are drawn, nothing is paid"):
        sweep(careless, ledger, KeyboardInterrupt, 5)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_a_session_stopped_anywhere_as_it_opens(kind):
    ledger = new(":memory:", epsilon=10**6)
    sweep(session(ledger), ledger, kind, 7)


# A file that was opened, but not yet returned, is closed as it is forgotten, which Python tells.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO")
def test_a_release_with_a_ledger_in_a_file_stopped_anywhere(tmp_path):
    ledger = new(tmp_path / "budget.db", epsilon=10**6)
    sweep(release(ledger), ledger, KeyboardInterrupt, 41)
    gc.collect()  # forgotten here, and not in a test that comes later
    left = os.listdir(tmp_path)
    assert left == ["budget.db"]  # no journal of a transaction that hangs


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_answers_of_a_session_stopped_anywhere(kind):
    """Whatever an interrupt leaves, the session never answers twice with the same noise."""
    options: dict[str, Any] = {"k": 2, "epsilon": 2, "sensitivity": 1}
    for ask in (lambda each: each.query(5), lambda each: each.query_many([5, -900])):
        at = 0
        while True:
            source = Counted()
            opened = safeselect.SparseVector(threshold=1, source=source, **options)
            done = stopped_at(lambda o=opened, a=ask: a(o), at, kind())
            if not done.place:
                break
            assert done.error is None or isinstance(done.error, (kind, SafeSelectError))
            before = source.drawn
            try:
                after = opened.query(-900)
            except (safeselect.SourceError, BudgetError):
                assert opened._noise is None, done.place
                assert source.drawn == before
            else:
                # Nothing had been drawn when it was stopped.
                assert not after.above
                assert done.error is not None
            at += 1
        assert at > 30


def test_pay_what_you_get_stopped_anywhere():
    """A query that was stopped costs nothing, or all that it might have cost; never less."""
    at = 0
    while True:
        source = Counted()
        terms: dict[str, Any] = {"outcomes": 20, "queries": 5, "epsilon": 1, "delta": "1e-6"}
        opened = safeselect.PayWhatYouGet(source=source, **terms)
        done = stopped_at(
            lambda o=opened: o.query({"a": 5, "b": 5}, k=2, k_bar=2, places="all"),
            at,
            KeyboardInterrupt(),
        )
        if not done.place:
            break
        spent = opened.spent
        assert (spent.outcomes, spent.queries) in {(0, 0), (2, 1), (1, 1)}, done.place
        assert spent.queries == 1 or not source.drawn, done.place
        if spent.outcomes < 2 and spent.queries:
            assert source.drawn  # what came back is what the list did not need
        opened.query({"a": 5}, k=1, k_bar=1, places="all")  # the lock is free
        assert opened.spent.queries == spent.queries + 1
        at += 1
    assert at > 50
