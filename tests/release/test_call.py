"""The one transaction: charge, read, draw, commit, in this order and with one outcome."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import in_child
from ledgers import new, outcomes, scope

from safeselect import BoundedRange, Budget, Ledger, LedgerError, PureDP, ScoreError, SourceError
from safeselect.release.call import UNREADABLE, Call, Charge
from safeselect.release.results import Receipt

pytestmark = pytest.mark.claim("C8")

COST = PureDP("1/4")
CHARGE = Charge("m/1", COST, ((COST, 1),), {"k": "3"})


@dataclass(frozen=True)
class Result:
    """The least that can be released."""

    guarantee: Any = COST
    mechanism: str = "m/1"
    receipt: Receipt | None = None

    def to_json(self) -> str:
        return "a result"


class Watched:
    """A source that notes its requests, and fails from one of them on."""

    name = "Watched"
    production = False

    def __init__(self, seen: list[Any], fails: int | None = None) -> None:
        self.seen, self.fails = seen, fails

    def begin(self) -> bytes:
        self.seen.append("nonce")
        return os.urandom(16)

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        if self.fails is not None and len(self.seen) > self.fails:
            raise SourceError("no more")
        self.seen.append(len(buffer))
        buffer[:] = os.urandom(len(buffer))


def call(ledger: Ledger, read: Callable[[], Any] = lambda: None, **more: Any) -> Call[Any]:
    return Call(CHARGE, read, **{"source": None, "scope": scope(ledger), **more})


def test_the_order_is_nonce_charge_salt_values_noise_and_record() -> None:
    seen: list[Any] = []
    events: Callable[[Any], None] = lambda event: seen.append(event.kind)  # noqa: E731
    budgets = {"a": Budget("person", "add_remove", epsilon=1)}
    ledger = Ledger.create(":memory:", budgets, on_event=events)
    seen.clear()
    with call(ledger, lambda: seen.append("values"), source=Watched(seen)) as this:
        this.bits.take(8)
        done = this.commit(Result())
    assert seen == ["nonce", "charged", 32, "values", 256, "released"]
    assert done.receipt is not None
    assert done.receipt.record == 3
    assert this.header["provenance"].parameters == (("k", "3"),)
    seen.clear()
    with call(ledger, lambda: seen.append("values"), source=Watched(seen), scope=None) as this:
        this.bits.take(8)
        assert this.commit(Result()).receipt is None
    assert seen == ["values", "nonce", 256]


def test_a_mechanism_cannot_forget_its_ledger_nor_release_what_it_had_not_charged() -> None:
    ledger = new(":memory:", epsilon=9)

    def makes(*results: Result) -> None:
        with call(ledger) as this:
            for result in results:
                this.commit(result)

    wrong = [Result(PureDP("1/8")), Result(BoundedRange("1/4")), Result(mechanism="m/2")]
    with pytest.raises(LedgerError, match="ended without a release"):
        makes()
    for each in wrong:
        with pytest.raises(LedgerError, match="had not charged for"):
            makes(each)
    with pytest.raises(LedgerError, match="had not charged for"):
        makes(Result(), Result())
    assert outcomes(ledger) == [*["charged", "error"] * 4, "charged", "released"]


def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("read", "fails", "error", "outcome"),
    [
        (lambda: None, 0, SourceError, "source"),  # the salt
        (lambda: 1 / 0, None, ScoreError, "input"),
        (interrupted, None, KeyboardInterrupt, "interrupt"),
        (lambda: None, 1, SourceError, "source"),  # the noise
    ],
)
def test_whatever_fails_after_the_charge_has_an_outcome(read, fails, error, outcome) -> None:
    ledger = new(":memory:")
    this = call(ledger, read, source=Watched([], fails))
    with pytest.raises(error), this:
        this.bits.take(8)
    assert outcomes(ledger) == ["charged", outcome]
    with pytest.raises(SourceError, match="this Bits object is closed"):
        this.bits.take(1)


def test_values_that_cannot_be_read_are_one_sentence_without_context() -> None:
    ledger = new(":memory:")
    with pytest.raises(ScoreError) as caught, call(ledger, lambda: 1 / 0):
        pass
    assert str(caught.value) == UNREADABLE
    assert caught.value.__context__ is None
    with pytest.raises(ZeroDivisionError), call(ledger, lambda: 1 / 0, scope=None):
        pass


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("paid", [False, True])
def test_values_and_bits_are_overwritten_whatever_became_of_the_call(paid, fails) -> None:
    values, ledger = np.array([3, 1, 2]), new(":memory:")
    this = call(ledger, lambda: values, **({} if paid else {"scope": None}))
    try:
        with this:
            assert values.tolist() == [3, 1, 2]
            if fails:
                raise KeyboardInterrupt
            this.commit(Result())
    except KeyboardInterrupt:
        pass
    assert values.tolist() == [0, 0, 0]
    with pytest.raises(SourceError, match="this Bits object is closed"):
        this.bits.take(8)
    if paid:
        assert outcomes(ledger)[1:] == ["interrupt" if fails else "released"]


def test_a_session_keeps_its_call_and_ends_it_once() -> None:
    ledger = new(":memory:", epsilon=9)
    with (this := call(ledger)).opened():
        this.bits.take(1)
    assert outcomes(ledger) == ["charged"]
    assert this.settle(Result(), {"k": 2}) is not None
    assert this.settle(Result(), {"k": 2}) is None
    with (other := call(ledger)).opened():
        pass
    assert isinstance(other.refuse("no"), ScoreError)
    with pytest.raises(SourceError, match="no"), (third := call(ledger)).opened():
        raise SourceError("no")
    assert third.settle(Result(), {}) is None
    with pytest.raises(KeyboardInterrupt), (fourth := call(ledger)).opened():
        raise KeyboardInterrupt
    with pytest.raises(SourceError, match="this Bits object is closed"):
        fourth.bits.take(1)
    ended = ["settled", "charged", "input", "charged", "source", "charged", "interrupt"]
    assert outcomes(ledger)[1:] == ended


def test_a_child_that_was_forked_in_a_call_cannot_end_it(tmp_path: Path) -> None:
    ledger = new(tmp_path / "l")
    with call(ledger) as this:

        def child() -> bytes:
            with pytest.raises(LedgerError, match="forked during a call"):
                this.commit(Result())
            return b"refused"

        assert in_child(child) == b"refused"
        this.commit(Result())
    assert outcomes(ledger) == ["charged", "released"]
