"""An anchor keeps the newest head elsewhere: a ledger that was rolled back is found by it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, pure, scope
from workers import ended, kinds, start_child

import safeselect
from safeselect import (
    Budget,
    ChargeStands,
    Ledger,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
    RepeatedRequest,
)
from safeselect.ledger import book as known_module

pytestmark = pytest.mark.claim("C9")

SALT = b"s" * 32
BUDGETS = {"a": Budget(**TERMS, epsilon=1000)}


class Register:
    """An anchor as its protocol says, in memory; may fail."""

    def __init__(self) -> None:
        self.head: str | None = None
        self.fail: BaseException | None = None
        self.deaf = False
        self.asked = 0

    def last(self) -> str | None:
        self.asked += 1
        if self.fail is not None:
            raise self.fail
        return self.head

    def publish(self, head: str, after: str | None) -> None:
        if self.fail is not None or self.deaf:
            raise self.fail or OSError("blue")
        if self.head == after:
            self.head = head


def made(path: Path) -> tuple[Ledger, Register]:
    register = Register()
    return Ledger.create(path, BUDGETS, anchor=register), register


def test_every_record_is_published_before_it_is_told(tmp_path: Path) -> None:
    ledger, register = made(tmp_path / "l")
    assert register.head == ledger.head
    pending = scope(ledger).pay(pure())
    assert register.head == ledger.head
    pending.released("x", SALT)
    assert register.head == ledger.head
    assert str(register.head).startswith("3:")
    again = Ledger.open(tmp_path / "l", anchor=register)
    scope(again).pay(pure())
    scope(ledger).pay(pure())
    assert register.head == ledger.head == again.head


@pytest.mark.parametrize("running", [True, False])
def test_an_older_copy_is_refused(tmp_path: Path, running: bool) -> None:
    path = tmp_path / "l"
    ledger, register = made(path)
    there = scope(Ledger.open(path, anchor=register))
    shutil.copy(path, tmp_path / "old")
    scope(ledger).pay(pure())
    shutil.copyfile(tmp_path / "old", path)
    size = path.stat().st_size
    # The process that runs has not seen what is missing.
    use = (lambda: there.pay(pure())) if running else lambda: Ledger.open(path, anchor=register)
    with pytest.raises(LedgerRolledBack, match="before the published head"):
        use()
    assert path.stat().st_size == size
    Ledger.open(path)  # without the anchor nobody can tell


@pytest.mark.parametrize("charges", [1, 2, 3])
def test_a_copy_that_went_another_way_is_refused(tmp_path: Path, charges: int) -> None:
    path = tmp_path / "l"
    ledger, register = made(path)
    idle = Ledger.open(path, anchor=register)
    shutil.copy(path, tmp_path / "copy")
    for _ in range(2):
        scope(ledger).pay(pure())
    other = Ledger.open(tmp_path / "copy")
    for _ in range(charges):
        scope(other).pay(pure())
    shutil.copyfile(tmp_path / "copy", path)
    for use in (lambda: scope(idle).pay(pure()), lambda: Ledger.open(path, anchor=register)):
        with pytest.raises(LedgerRolledBack, match=r"is another one than|the records end at"):
            use()


def test_two_machines_with_one_anchor_do_not_both_answer(tmp_path: Path) -> None:
    """A machine was cloned with its ledger: the second finds that it is the second."""
    path, clone = tmp_path / "l", tmp_path / "clone"
    ledger, register = made(path)
    shutil.copy(path, clone)
    other = Ledger.open(clone, anchor=register)
    scope(ledger).pay(pure())
    with pytest.raises(LedgerRolledBack, match="before the published head"):
        scope(other).pay(pure())


@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
def test_whoever_publishes_second_after_both_had_asked_is_refused(
    tmp_path: Path, ahead: int
) -> None:
    """Whether the other branch is shorter, as long or longer: only one follows what was asked."""
    path, clone = tmp_path / "l", tmp_path / "clone"
    ledger, register = made(path)
    there = scope(ledger)
    shutil.copy(path, clone)
    plain = register.publish
    for _ in range(ahead):  # records whose writers died before they were published
        scope(Ledger.open(clone)).pay(pure())
    charges = []

    def slow(head: str, after: str | None) -> None:
        if not charges:
            charges.append(head)
            for _ in range(2):
                there.pay(pure())
        plain(head, after)

    register.publish = slow  # type: ignore[method-assign]
    with pytest.raises(LedgerRolledBack, match=r"is another one than|the records end at"):
        scope(Ledger.open(clone, anchor=register)).pay(pure())
    assert kinds(Ledger.open(path, anchor=register)).count("charged") == 2


def test_an_anchor_that_keeps_nothing_withholds_the_answer(tmp_path: Path) -> None:
    ledger, register = made(tmp_path / "l")
    there = scope(ledger)
    register.publish = lambda head, after: None  # type: ignore[method-assign]
    with pytest.raises(LedgerError, match="the anchor did not keep what it was told"):
        there.pay(pure())


def test_no_answer_means_no_charge(tmp_path: Path) -> None:
    ledger, register = made(tmp_path / "l")
    there, count = scope(ledger), len(kinds(ledger))
    for mistake in (OSError("blue"), ParameterError("blue"), LedgerError("blue")):
        register.fail = mistake
        with pytest.raises(LedgerError, match=r"the anchor (failed|answered)") as caught:
            there.pay(pure())
        assert "blue" not in str(caught.value)
    register.fail = None
    assert len(kinds(ledger)) == count
    register.head, head = "no head", register.head
    with pytest.raises(LedgerError, match="something that is no head"):
        there.pay(pure())
    register.head = head
    there.pay(pure()).released("x", SALT)


def test_a_head_that_cannot_be_published_withholds_the_answer(tmp_path: Path) -> None:
    ledger, register = made(tmp_path / "l")
    pending = scope(ledger).pay(pure())
    register.deaf = True
    with pytest.raises(ChargeStands, match="record 2 stands, and its answer is withheld"):
        pending.released("x", SALT)
    with pytest.raises(LedgerError, match="the anchor failed with OSError"):
        safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1, ledger=scope(ledger))
    register.deaf = False
    scope(ledger).pay(pure()).released("x", SALT)
    assert register.head == ledger.head


def test_a_record_whose_writer_died_before_it_was_published_is_published_before_it_is_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l"
    _ledger, register = made(path)
    reader = Ledger.open(path, anchor=register)
    plain = Ledger.open(path)  # as if its process died between the sync and the anchor
    scope(plain).asked("r").pay(pure()).released("x", SALT)
    behind = register.head
    register.deaf = True
    for tell in (
        lambda: scope(reader).asked("r").pay(pure()),
        lambda: reader.request("r"),
        lambda: reader.finish(2, SALT, "x"),
        lambda: reader.head,
    ):
        with pytest.raises(LedgerError, match="the anchor failed"):
            tell()
    assert register.head == behind
    register.deaf = False
    with pytest.raises(
        RepeatedRequest, match=", and was released; nothing was charged again and nothing drawn"
    ):
        scope(reader).asked("r").pay(pure())
    assert register.head == plain.head


def test_one_anchor_a_ledger(tmp_path: Path) -> None:
    _, register = made(tmp_path / "l")
    with pytest.raises(LedgerError, match="the anchor knows a ledger already"):
        Ledger.create(tmp_path / "m", BUDGETS, anchor=register)
    assert not (tmp_path / "m").exists()
    Ledger.create(tmp_path / "m", BUDGETS)
    with pytest.raises(LedgerError, match="the anchor knows no ledger"):
        Ledger.open(tmp_path / "m", anchor=Register())
    with pytest.raises(LedgerRolledBack, match="is another one than the published head says"):
        Ledger.open(tmp_path / "m", anchor=register)
    for wrong in (7, "x", Register, object()):
        with pytest.raises(ParameterError, match="anchor must have the members of Anchor"):
            Ledger.open(tmp_path / "l", anchor=wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="anchor must have the members of Anchor"):
            Ledger.create(tmp_path / "n", BUDGETS, anchor=wrong)  # type: ignore[arg-type]


def test_an_anchor_far_behind_and_a_head_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the hashes that are kept, all records are replayed to find the anchor's."""
    monkeypatch.setattr(known_module, "_RECENT", 3)
    path = tmp_path / "l"
    ledger, register = made(path)
    early = register.head
    for _ in range(12):
        scope(ledger).pay(pure())
    register.head = early
    scope(ledger).pay(pure())
    assert register.head == ledger.head
    again = Ledger.open(path, anchor=register, head=early)
    assert again.head == register.head
    register.head = f"4:{'0' * 64}"
    for use in (lambda: scope(ledger).pay(pure()), lambda: Ledger.open(path, anchor=register)):
        with pytest.raises(LedgerRolledBack, match="record 4 is another one"):
            use()


def test_several_processes_keep_one_anchor_in_a_file(tmp_path: Path) -> None:
    import fcntl

    class InFile:
        def __init__(self, place: Path) -> None:
            self.place = place
            place.touch()

        def last(self) -> str | None:
            with self.place.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return file.read() or None

        def publish(self, head: str, after: str | None) -> None:
            with self.place.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if (file.read() or None) == after:
                    file.seek(0)
                    file.write(head)
                    file.flush()

    path, anchor = tmp_path / "l", InFile(tmp_path / "anchor")
    ledger = Ledger.create(path, BUDGETS, anchor=anchor)

    def work() -> None:
        mine: Any = scope(Ledger.open(path, anchor=anchor))
        for _ in range(25):
            mine.pay(pure()).released("x", SALT)

    children = [start_child(work) for _ in range(3)]
    assert [ended(child) for child in children] == [0] * 3
    assert anchor.last() == ledger.head
    assert kinds(ledger).count("released") == 75
