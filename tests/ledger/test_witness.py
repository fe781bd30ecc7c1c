"""A witness keeps the newest head, and the lines: a ledger that was rolled back is found by it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, Kept, ListStore, new, pure, scope
from workers import ended, kinds, start_child

import safeselect
from safeselect import Budget, ChargeStands, Ledger, LedgerError, LedgerRolledBack, ParameterError
from safeselect.ledger import book as known_module
from safeselect.ledger.record import record_hash

pytestmark = pytest.mark.claim("C9")

SALT = b"s" * 32
BUDGETS = {"a": Budget(**TERMS, epsilon=1000)}
ANOTHER = r"differs from|the ledger ends at record"


def made(place: Any) -> tuple[Ledger, Kept]:
    kept = Kept()
    return Ledger.create(place, BUDGETS, witness=kept), kept


def test_every_record_is_kept_before_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger, kept = made(path)
    assert kept.text == path.read_bytes()
    pending = scope(ledger).pay(pure())
    assert kept.text == path.read_bytes()
    pending.released("x", SALT)
    assert str(kept.head).startswith("3:")
    again = Ledger.open(path, witness=kept)
    scope(again).pay(pure())
    scope(ledger).pay(pure())
    assert kept.text == path.read_bytes()
    assert kept.head == ledger.head == again.head


@pytest.mark.parametrize("charges", [0, 1, 2, 3])
def test_an_older_copy_and_one_that_went_another_way_are_refused(
    tmp_path: Path, charges: int
) -> None:
    """Also by a process that has not seen what is missing."""
    path = tmp_path / "l"
    ledger, kept = made(path)
    idle = Ledger.open(path, witness=kept)
    shutil.copy(path, tmp_path / "copy")
    for _ in range(2):
        scope(ledger).pay(pure())
    other = Ledger.open(tmp_path / "copy")
    for _ in range(charges):
        scope(other).pay(pure())
    shutil.copyfile(tmp_path / "copy", path)
    size = path.stat().st_size
    for use in (lambda: scope(idle).pay(pure()), lambda: Ledger.open(path, witness=kept)):
        with pytest.raises(LedgerRolledBack, match=ANOTHER if charges else "the published head"):
            use()
    assert path.stat().st_size == size
    Ledger.open(path)  # without the witness nobody can tell


@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
def test_whoever_is_kept_second_after_both_had_asked_is_refused(tmp_path: Path, ahead: int) -> None:
    """Whether the other branch is shorter, as long or longer: only one follows what was asked."""
    path, clone = tmp_path / "l", tmp_path / "clone"
    ledger, kept = made(path)
    there = scope(ledger)
    shutil.copy(path, clone)
    plain = kept.keep
    for _ in range(ahead):  # records whose writers died before they were kept
        scope(Ledger.open(clone)).pay(pure())
    charges = []

    def slow(head: str, lines: list[bytes], after: str | None) -> None:
        if not charges:
            charges.append(head)
            for _ in range(2):
                there.pay(pure())
        plain(head, lines, after)

    kept.keep = slow  # type: ignore[method-assign]
    with pytest.raises(LedgerRolledBack, match=ANOTHER):
        scope(Ledger.open(clone, witness=kept)).pay(pure())
    assert kinds(Ledger.open(path, witness=kept)).count("charged") == 2


def test_no_answer_means_no_charge(tmp_path: Path) -> None:
    ledger, kept = made(tmp_path / "l")
    there, count = scope(ledger), len(kinds(ledger))
    for mistake in (OSError("blue"), ParameterError("blue"), LedgerError("blue")):
        kept.fail = mistake
        with pytest.raises(LedgerError, match=r"the witness (failed|returned)") as caught:
            there.pay(pure())
        assert "blue" not in str(caught.value)
    kept.fail = None
    assert len(kinds(ledger)) == count
    kept.head, head = "no head", kept.head
    with pytest.raises(LedgerError, match="a value that is not a head"):
        there.pay(pure())
    kept.head = head
    there.pay(pure()).released("x", SALT)


def test_what_cannot_be_kept_withholds_the_answer_and_the_charge_stands(tmp_path: Path) -> None:
    ledger, kept = made(tmp_path / "l")
    there = scope(ledger)
    pending = there.pay(pure())
    kept.deaf = True
    said = r"record {} remains, and its answer is withheld: .*the witness failed with OSError"
    with pytest.raises(ChargeStands, match=said.format(2)):
        pending.released("x", SALT)
    with pytest.raises(ChargeStands, match=said.format(4)):
        safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1, ledger=there)
    kept.deaf = False
    session = safeselect.SparseVector(threshold=9, epsilon=1, sensitivity=1, k=1, ledger=there)
    session.query(3)
    kept.deaf = True
    for _ in range(2):
        with pytest.raises(ChargeStands, match=r"the witness failed with OSError; .*again"):
            session.close()
    kept.deaf = False
    session.close()
    assert session.receipt is not None
    assert ledger.balance("a").spent["epsilon"] > 1
    there.pay(pure()).released("x", SALT)
    assert kept.head == ledger.head
    kept.keep = lambda head, lines, after: None  # type: ignore[method-assign]
    with pytest.raises(LedgerError, match="head of the witness did not change after it received"):
        there.pay(pure())


@pytest.mark.parametrize("dead", [1, 250])
def test_records_whose_writers_died_are_kept_before_they_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: int
) -> None:
    """In several batches, and beyond the last hashes that a process keeps."""
    monkeypatch.setattr(known_module, "_BATCH", 100)
    path = tmp_path / "l"
    _, kept = made(path)
    reader = Ledger.open(path, witness=kept)

    def work() -> None:
        plain = Ledger.open(path)  # as if it was killed between the sync and the witness
        for number in range(dead):
            scope(plain).asked(f"r{number}").pay(pure("1/1000")).released("x", SALT)

    assert ended(start_child(work)) == 0
    kept.deaf, behind = True, kept.head
    for tell in (
        lambda: scope(reader).asked("r0").pay(pure("1/1000")),
        lambda: reader.request("r0"),
        lambda: reader.finish(2, SALT, "x"),
        lambda: reader.head,
    ):
        with pytest.raises(LedgerError, match="the witness failed"):
            tell()
    assert kept.head == behind
    kept.deaf = False
    with pytest.raises(safeselect.RepeatedRequest, match="which was released"):
        scope(reader).asked("r0").pay(pure("1/1000"))
    assert kept.text == path.read_bytes()
    assert kept.most <= 100


def test_each_ledger_has_a_witness_of_its_own(tmp_path: Path) -> None:
    _, kept = made(tmp_path / "l")
    with pytest.raises(LedgerError, match="the witness already holds the head of a ledger"):
        Ledger.create(tmp_path / "m", BUDGETS, witness=kept)
    assert not (tmp_path / "m").exists()
    Ledger.create(tmp_path / "m", BUDGETS)
    with pytest.raises(LedgerRolledBack, match="differs from the published head"):
        Ledger.open(tmp_path / "m", witness=kept)
    for wrong in (7, "x", Kept, object()):
        with pytest.raises(ParameterError, match="witness must implement the Witness protocol"):
            Ledger.open(tmp_path / "l", witness=wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="witness must implement the Witness protocol"):
            Ledger.create(tmp_path / "n", BUDGETS, witness=wrong)  # type: ignore[arg-type]


def test_an_empty_witness_is_refused_unless_a_head_vouches(tmp_path: Path) -> None:
    """It would believe any older copy; a published head tells an older one."""
    path, old = tmp_path / "l", tmp_path / "old"
    ledger, kept = made(path)
    early = ledger.head
    scope(ledger).pay(pure())
    shutil.copy(path, old)
    scope(ledger).pay(pure())
    fresh = Kept()
    with pytest.raises(LedgerError, match="the witness has no head yet; pass head="):
        Ledger.open(path, witness=fresh)
    with pytest.raises(LedgerRolledBack, match="before the published head"):
        Ledger.open(old, witness=fresh, head=ledger.head)
    assert fresh.head is None
    Ledger.open(path, witness=fresh, head=early)
    assert fresh.text == kept.text == path.read_bytes()
    Ledger.open(path, witness=fresh)


def test_a_witness_far_behind_and_a_head_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the rows that are kept, all records are replayed to find the witness's head."""
    monkeypatch.setattr(known_module, "_RECENT", 3)
    monkeypatch.setattr(known_module, "_BATCH", 4)
    path = tmp_path / "l"
    ledger, kept = made(path)
    early = kept.head
    for _ in range(12):
        scope(ledger).pay(pure())
    kept.forget(2)
    assert kept.head == early
    scope(ledger).pay(pure())
    assert kept.text == path.read_bytes()
    assert Ledger.open(path, witness=kept, head=early).head == kept.head
    kept.head = f"4:{'0' * 64}"
    for use in (lambda: scope(ledger).pay(pure()), lambda: Ledger.open(path, witness=kept)):
        with pytest.raises(LedgerRolledBack, match="record 4 differs from"):
            use()


class Edited(Kept):
    """Before it answers for the second time, somebody edits the store."""

    def __init__(self, edit: Callable[[], object]) -> None:
        super().__init__()
        self.edit, self.asked = edit, 0

    def last(self) -> str | None:
        self.asked += 1
        if self.asked == 2:
            self.edit()
        return None


@pytest.mark.parametrize("hashed_anew", [False, True])
def test_lines_are_chained_again_while_they_are_read_to_be_kept(
    hashed_anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were checked before, and are read a second time: somebody may write in between."""
    monkeypatch.setattr(known_module, "_RECENT", 3)
    store = ListStore()
    ledger = new(store)
    for _ in range(3):
        scope(ledger).pay(pure()).released("blue")

    def edit() -> None:
        rows = store.kept or []
        body = rows[4].body.replace("a test", "b test")
        assert body != rows[4].body
        rows[4] = rows[4]._replace(body=body)
        if hashed_anew:
            rows[4] = rows[4]._replace(hash=record_hash(body))

    kept = Edited(edit)
    with pytest.raises(LedgerError, match=r"does not (follow|match its hash)"):
        Ledger.open(store, witness=kept, head=ledger.head)
    assert kept.asked > 1
    assert not any(b"b test" in line for line in kept.lines)
