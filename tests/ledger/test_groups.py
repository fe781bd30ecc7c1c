"""Records that threads of one process wait for are written together; each is judged by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, new, pure, scope
from workers import ended, in_threads, kinds, start_child

import safeselect
from safeselect import Budget, BudgetError, Ledger, LedgerBusy, LedgerError, RepeatedRequest
from safeselect.ledger import Ed25519Signer
from safeselect.ledger.book import Asked, Turn
from safeselect.ledger.stores.file import FileStore

pytestmark = pytest.mark.claim("C9")


class Held:
    """A store of which the next write waits until enough others wait for it."""

    def __init__(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self.book, self.writes = ledger._book, 0
        self.fails: list[BaseException] = []
        self.expected = 0
        real = FileStore.write

        def write(store: FileStore, work: Callable[[Any], Any]) -> Any:
            self.writes += 1
            if self.expected:
                expected, self.expected = self.expected, 0
                done = real(store, work)
                self.wait(expected)
                return done
            if self.fails:
                raise self.fails.pop()
            return real(store, work)

        monkeypatch.setattr(FileStore, "write", write)

    def has(self, expected: int) -> bool:
        """Whether so many wait."""
        return len(self.book._turn.queue) >= expected

    def wait(self, expected: int) -> None:
        for _ in range(1000):
            if self.has(expected):
                break
            time.sleep(0.005)

    def run(self, *calls: Callable[[], Any]) -> list[Any]:
        """What the calls return or raise: they all wait while a first charge is written."""
        self.expected, found = len(calls), [None] * len(calls)

        def begin() -> None:
            with suppress(LedgerError):
                scope(Ledger(self.book)).pay(pure("1/1000"))

        first = threading.Thread(target=begin)

        def call(place: int) -> None:
            try:
                found[place] = calls[place]()
            except BaseException as error:
                found[place] = error

        threads = [threading.Thread(target=call, args=(place,)) for place in range(len(calls))]
        first.start()
        while self.expected:
            time.sleep(0.001)
        self.writes = 0
        for thread in threads:
            thread.start()
            while thread.is_alive() and not self.has(threads.index(thread) + 1):
                time.sleep(0.001)
        for thread in (first, *threads):
            thread.join()
        return found


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(new(tmp_path / "l", epsilon=1), monkeypatch)


def test_what_waits_is_written_at_once_and_each_is_answered(held: Held) -> None:
    ledger = Ledger(held.book)
    there = scope(ledger)
    pending = there.pay(pure("1/10"))
    twin = pure("1/100")

    def handling() -> int:
        try:
            raise KeyError("what this thread handles is its own")
        except KeyError:
            return there.pay(pure("1/10")).charge

    found = held.run(
        handling,
        lambda: there.pay(pure("9/10")),
        lambda: pending.released("x").record,
        lambda: there.pay(twin).charge,
        lambda: there.asked("r").pay(pure("1/10")).charge,
    )
    assert held.writes == 1
    assert sorted(each for each in found if isinstance(each, int)) == [4, 5, 6, 7]
    assert isinstance(found[1], BudgetError)
    assert found[1].__context__ is None
    assert ledger.balance("a").spent == {"epsilon": Fraction(311, 1000)}
    assert ledger.check().head == ledger.head


def test_what_shares_a_nonce_a_request_or_a_charge_is_judged_after_the_first(held: Held) -> None:
    there, twin = scope(Ledger(held.book)), pure("1/100")
    pending = there.pay(pure("1/100"))
    for pair, error in (
        ([lambda: there.pay(twin)] * 2, safeselect.SourceError),
        ([lambda: there.asked("r").pay(pure("1/100"))] * 2, RepeatedRequest),
        ([lambda: pending.aborted("error")] * 2, LedgerError),
    ):
        found = held.run(*pair)
        assert sum(isinstance(each, error) for each in found) == 1, found
        assert held.writes == 2
    assert kinds(Ledger(held.book)).count("aborted") == 1


def test_refusals_of_a_group_close_a_scope_for_those_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "l", {"a": Budget(**TERMS, epsilon=1)}, max_refusals=2)
    held, there = Held(ledger, monkeypatch), scope(ledger)
    pending = [there.pay(pure("1/10")) for _ in range(3)]
    found = held.run(
        *(lambda each=each: each.aborted("input") for each in pending[:2]),
        lambda: pending[2].released("x"),
        lambda: there.pay(pure("1/10")),
    )
    assert (held.writes, found[:2]) == (1, [None, None])
    assert all(isinstance(each, BudgetError) and "closed" in str(each) for each in found[2:])
    assert ledger.check().scopes["a"].refusals == 2


@pytest.mark.parametrize("error", [LedgerError("x"), ValueError("x"), KeyboardInterrupt()])
def test_who_was_taken_up_in_vain_writes_alone(held: Held, error: BaseException) -> None:
    """A failed transaction, or an interrupt of the thread that wrote for others."""
    there = scope(Ledger(held.book))
    held.fails = [error]
    found = held.run(*[lambda: there.pay(pure("1/100")).charge] * 3)
    interrupted = isinstance(error, KeyboardInterrupt)
    assert sum(each is error for each in found) == interrupted
    assert len({each for each in found if isinstance(each, int)}) == 3 - interrupted
    assert kinds(Ledger(held.book)).count("charged") == 4 - interrupted


def test_a_group_that_was_written_is_not_written_again(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is interrupted after the commit: what others wait for is there already."""
    there, write = scope(Ledger(held.book)), FileStore.write
    interrupts = [KeyboardInterrupt()]

    def interrupted(store: FileStore, work: Callable[[Any], Any]) -> Any:
        is_first, done = bool(held.expected), write(store, work)
        if interrupts and not is_first:
            raise interrupts.pop()
        return done

    monkeypatch.setattr(FileStore, "write", interrupted)
    found = held.run(*[lambda: there.pay(pure("1/100")).charge] * 3)
    assert sum(isinstance(each, KeyboardInterrupt) for each in found) == 1
    assert len({each for each in found if isinstance(each, int)}) == 2
    ledger = Ledger(held.book)
    assert (kinds(ledger).count("charged"), len(ledger.check().pending)) == (4, 4)


def test_a_lock_of_others_is_told_to_all_and_outcomes_are_tried_again(held: Held) -> None:
    there = scope(Ledger(held.book))
    pending = there.pay(pure("1/10"))
    held.fails = [LedgerBusy("locked")]
    found = held.run(
        lambda: there.pay(pure("1/100")),
        lambda: pending.released("x").record,
        lambda: there.pay(pure("1/100")),
    )
    assert [isinstance(each, LedgerBusy) for each in found] == [True, False, True]
    assert kinds(Ledger(held.book))[2:] == ["charged", "charged", "released"]


def test_who_waits_too_long_is_not_charged(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(held.book)
    held.book._turn, refused = Turn(0), []

    def late() -> None:
        with pytest.raises(LedgerBusy, match="other threads used the ledger for 0 seconds"):
            scope(ledger).pay(pure())
        refused.append(True)

    held.book._turn.take(lambda: in_threads(late))
    assert refused
    assert not held.book._turn.queue
    assert kinds(ledger) == ["created", "scope"]


def test_a_child_writes_nothing_that_threads_of_its_parent_wait_for(held: Held) -> None:
    turn, ledger = held.book._turn, Ledger(held.book)
    turn.queue.append(Asked(lambda _: ("torn", {"length": "1", "sha256": "0" * 64}), None, 0))
    assert ended(start_child(lambda: scope(ledger).pay(pure()))) == 0
    turn.queue.clear()
    assert kinds(ledger) == ["created", "scope", "charged"]


def test_a_key_or_a_scope_is_written_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in (1, 2)]
    ledger = new(tmp_path / "l", signer=keys[0], epsilon=1)
    held, there = Held(ledger, monkeypatch), scope(ledger)
    found = held.run(
        lambda: there.pay(pure("1/100")).charge,
        lambda: ledger.rotate(keys[1]),
        lambda: ledger.add_scope("b", Budget(**TERMS, epsilon=1)),
        lambda: there.pay(pure("1/100")).charge,
    )
    assert not [each for each in found if isinstance(each, BaseException)]
    assert (held.writes, sorted(kinds(ledger)[3:])) == (4, ["charged", "charged", "key", "scope"])
    assert ledger.check(public_keys=[keys[0].public_key]).count == 7
