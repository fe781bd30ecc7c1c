"""A receiver has every line elsewhere before it counts; an older copy is made whole from them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, ListStore, chained, new, pure, scope
from workers import ended, kinds, start_child

import safeselect
from safeselect import (
    Budget,
    ChargeStands,
    Ledger,
    LedgerDamaged,
    LedgerError,
    LedgerRolledBack,
    ParameterError,
    RepeatedRequest,
)
from safeselect.cli._main import main
from safeselect.ledger import Ed25519Signer, append
from safeselect.ledger import book as following
from safeselect.ledger import book as known_module

pytestmark = pytest.mark.claim("C9")

SALT = b"s" * 32
BUDGETS = {"a": Budget(**TERMS, epsilon=1000)}
SIGNER = Ed25519Signer(b"k" * 32, key_id="k")


class Kept:
    """A receiver as its protocol says, in memory; may fail."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.fail: BaseException | None = None
        self.deaf = False
        self.most = 0

    def last(self) -> str | None:
        if self.fail is not None:
            raise self.fail
        if not self.lines:
            return None
        return f"{len(self.lines) - 1}:{json.loads(self.lines[-1])['hash']}"

    def send(self, lines: list[bytes], after: str | None) -> None:
        if self.fail is not None or self.deaf:
            raise self.fail or OSError("blue")
        self.most = max(self.most, len(lines))
        if self.last() == after:
            self.lines += lines


def made(path: Any, **options: Any) -> tuple[Ledger, Kept]:
    kept = Kept()
    return Ledger.create(path, BUDGETS, ship=kept, **options), kept


def test_every_line_is_sent_before_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger, kept = made(path)
    assert b"".join(kept.lines) == path.read_bytes()
    pending = scope(ledger).pay(pure())
    assert b"".join(kept.lines) == path.read_bytes()
    pending.released("x", SALT)
    again = Ledger.open(path, ship=kept)
    scope(again).pay(pure())
    scope(ledger).pay(pure())
    assert b"".join(kept.lines) == path.read_bytes()
    assert len(kept.lines) == 6


@pytest.mark.parametrize("store", [lambda: ":memory:", ListStore])
def test_lines_of_every_store_are_sent(store: Callable[[], Any]) -> None:
    ledger, kept = made(store())
    scope(ledger).pay(pure()).released("x", SALT)
    assert [json.loads(line)["record"] for line in kept.lines] == [
        record.content for record in ledger.records()
    ]


def test_a_receiver_that_fails_withholds_the_answer_and_the_charge_stands(tmp_path: Path) -> None:
    ledger, kept = made(tmp_path / "l")
    there = scope(ledger)
    pending = there.pay(pure())
    kept.deaf = True
    said = (
        r"record {} stands, and its answer is withheld: .*the receiver of lines failed with OSError"
    )
    with pytest.raises(ChargeStands, match=said.format(2)):
        pending.released("x", SALT)
    with pytest.raises(ChargeStands, match=said.format(4)):
        safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1, ledger=there)
    kept.deaf = False
    assert ledger.balance("a").spent["epsilon"] > 1
    assert ledger.head == kept.last()
    kept.fail, count = OSError("blue"), len(kept.lines)
    with pytest.raises(LedgerError, match="the receiver of lines failed with OSError") as caught:
        scope(ledger).pay(pure())
    assert "blue" not in str(caught.value)
    kept.fail = None
    assert len(kinds(ledger)) == count  # without an answer before it, there is no charge
    kept.send = lambda lines, after: None  # type: ignore[method-assign]
    with pytest.raises(LedgerError, match="did not keep what it was told"):
        scope(ledger).pay(pure())


@pytest.mark.parametrize("dead", [1, 2, 250])
def test_lines_of_writers_that_died_are_sent_before_they_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: int
) -> None:
    """In several batches, and beyond the last hashes that a process keeps."""
    monkeypatch.setattr(following, "_BATCH", 100)
    path = tmp_path / "l"
    _, kept = made(path)
    reader = Ledger.open(path, ship=kept)

    def work() -> None:
        plain = Ledger.open(path)  # as if it was killed between the sync and the sending
        for number in range(dead):
            scope(plain).asked(f"r{number}").pay(pure("1/1000")).released("x", SALT)

    assert ended(start_child(work)) == 0
    kept.deaf = True
    for tell in (
        lambda: scope(reader).asked("r0").pay(pure("1/1000")),
        lambda: reader.request("r0"),
        lambda: reader.finish(2, SALT, "x"),
        lambda: reader.head,
    ):
        with pytest.raises(LedgerError, match="the receiver of lines failed"):
            tell()
    kept.deaf = False
    with pytest.raises(
        RepeatedRequest, match=", and was released; nothing was charged again and nothing drawn"
    ):
        scope(reader).asked("r0").pay(pure("1/1000"))
    assert b"".join(kept.lines) == path.read_bytes()
    assert kept.most <= 100


def test_a_receiver_far_behind_and_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_module, "_RECENT", 3)
    monkeypatch.setattr(following, "_BATCH", 4)
    path = tmp_path / "l"
    ledger, kept = made(path)
    for _ in range(12):
        scope(ledger).pay(pure())
    kept.lines = kept.lines[:3]
    scope(ledger).pay(pure())
    assert b"".join(kept.lines) == path.read_bytes()
    fresh = Kept()
    Ledger.open(path, ship=fresh)
    assert fresh.lines == kept.lines


def test_an_older_copy_and_another_ledger_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger, kept = made(path)
    idle = Ledger.open(path, ship=kept)
    shutil.copy(path, tmp_path / "old")
    scope(ledger).pay(pure())
    shutil.copyfile(tmp_path / "old", path)
    for use in (lambda: scope(idle).pay(pure()), lambda: Ledger.open(path, ship=kept)):
        with pytest.raises(LedgerRolledBack, match="before the published head"):
            use()
    other = Ledger.open(path)
    scope(other).pay(pure())
    with pytest.raises(LedgerRolledBack, match="another one"):
        Ledger.open(path, ship=kept)
    with pytest.raises(LedgerError, match="the receiver of lines knows a ledger already"):
        Ledger.create(tmp_path / "m", BUDGETS, ship=kept)
    assert not (tmp_path / "m").exists()
    for wrong in (7, "x", Kept, object()):
        with pytest.raises(ParameterError, match="ship must have the members of Receiver"):
            Ledger.open(path, ship=wrong)  # type: ignore[arg-type]


def test_one_object_may_be_anchor_and_receiver(tmp_path: Path) -> None:
    class Both(Kept):
        head: str | None = None

        def publish(self, head: str, after: str | None) -> None:
            assert self.last() == head  # the line is there before its head is published
            self.head = head

    both = Both()
    ledger = Ledger.create(tmp_path / "l", BUDGETS, anchor=both, ship=both)
    scope(ledger).pay(pure()).released("x", SALT)
    assert b"".join(both.lines) == (tmp_path / "l").read_bytes()


def test_several_processes_send_each_line_once(tmp_path: Path) -> None:
    import fcntl

    class InFile:
        def __init__(self, place: Path) -> None:
            self.place = place
            place.touch()

        def last(self) -> str | None:
            with self.place.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return self.head(file.read())

        def head(self, text: bytes) -> str | None:
            lines = text.splitlines()
            return f"{len(lines) - 1}:{json.loads(lines[-1])['hash']}" if lines else None

        def send(self, lines: list[bytes], after: str | None) -> None:
            with self.place.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self.head(file.read()) == after:
                    file.writelines(lines)

    path, kept = tmp_path / "l", InFile(tmp_path / "kept")
    Ledger.create(path, BUDGETS, ship=kept)

    def work() -> None:
        mine: Any = scope(Ledger.open(path, ship=kept))
        for _ in range(20):
            mine.pay(pure()).released("x", SALT)

    children = [start_child(work) for _ in range(3)]
    assert [ended(child) for child in children] == [0] * 3
    assert kept.place.read_bytes() == path.read_bytes()


def copies(tmp_path: Path, keep: int = 4, signer: Any = None) -> tuple[Path, list[bytes], str]:
    """An older copy of a ledger of 8 records, all its lines, and its head."""
    path = tmp_path / "l"
    ledger, kept = made(path, signer=signer)
    for _ in range(3):
        scope(ledger).pay(pure()).released("x", SALT)
    old = tmp_path / "old"
    old.touch(0o600)
    old.write_bytes(b"".join(kept.lines[:keep]))
    return old, kept.lines, ledger.head


@pytest.mark.parametrize("keep", [1, 4, 7, 8])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("torn", [b"", b'{"hash":"1', b"\0\0\n"])
def test_an_older_copy_is_made_whole(tmp_path: Path, keep: int, first: int, torn: bytes) -> None:
    old, lines, head = copies(tmp_path, keep)
    old.write_bytes(old.read_bytes() + torn)  # it was copied while a line was written
    for _ in range(2):  # safe to repeat
        assert append(old, lines[first:], head=head).head == head
        assert b"".join(lines) == old.read_bytes().removesuffix(torn if keep == 8 else b"-")
    scope(Ledger.open(old, head=head)).pay(pure())


def test_whoever_uses_the_copy_reads_on(tmp_path: Path) -> None:
    old, lines, head = copies(tmp_path)
    ledger = Ledger.open(old)
    append(old, lines)
    assert ledger.head == head


def _other_chain(lines: list[bytes]) -> list[bytes]:
    records = [json.loads(line)["record"] for line in lines]
    records[5]["commitment"] = "0" * 64
    return chained(records).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[5:], "lines in between are missing"),
        (lambda lines: [*lines[:5], *lines[6:]], "does not follow"),
        (lambda lines: [*lines[:6], lines[5], *lines[6:]], "does not follow"),
        (lambda lines: lines[::-1], "does not follow|lines in between|another one"),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "no newline"),
        (lambda lines: [*lines[:-1], lines[-1][:-9] + b"\n"], "not a line of a ledger"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"released", b"aborted!")], "fields|kind"),
        (lambda lines: [*lines, b"\n"], "not a line of a ledger"),
        (lambda lines: [*lines, lines[-1]], "does not follow"),
        (lambda lines: [lines[0].replace(b"kind", b"King"), *lines[1:]], "canonical"),
        (lambda lines: [*lines[:3], lines[3].replace(b'"hash":"', b'"hash":"0', 1)], "not a line"),
        (lambda lines: lines[:6] + _other_chain(lines)[6:], "does not follow"),
        (lambda lines: _other_chain(lines)[:3] + lines[2:], "does not follow|another one"),
    ],
)
def test_lines_that_do_not_continue_the_chain_write_nothing(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], said: str
) -> None:
    old, lines, head = copies(tmp_path)
    before = old.read_bytes()
    with pytest.raises(LedgerDamaged, match=said):
        append(old, change(lines))
    assert old.read_bytes() == before
    append(old, lines, head=head)


def test_lines_of_another_ledger_or_short_of_a_head_write_nothing(tmp_path: Path) -> None:
    old, lines, head = copies(tmp_path)
    before = old.read_bytes()
    new(tmp_path / "other")
    foreign = (tmp_path / "other").read_bytes().splitlines(keepends=True)
    with pytest.raises(LedgerDamaged, match="another one than that of the ledger"):
        append(old, foreign)
    with pytest.raises(LedgerRolledBack, match="before the published head"):
        append(old, lines[:6], head=head)
    for wrong in (b"x", "x", 7, ["x"], [7]):
        with pytest.raises(ParameterError, match=r"must be a list of lines|must be bytes"):
            append(old, wrong)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="there is no file"):
        append(tmp_path / "none", lines)
    assert old.read_bytes() == before


def test_lines_of_a_signed_ledger_are_verified(tmp_path: Path) -> None:
    old, lines, head = copies(tmp_path, signer=SIGNER)
    before = old.read_bytes()
    forged = [*lines[:-1], lines[-1][:-4] + b"0" + lines[-1][-3:]]
    assert forged != lines or lines[-1][-4:-3] == b"0"
    with pytest.raises(ParameterError, match="only with public_keys="):
        append(old, lines)
    with pytest.raises(LedgerDamaged, match="not signed with the key"):
        append(old, lines, public_keys=[Ed25519Signer(b"o" * 32, key_id="other").public_key])
    last = json.loads(lines[-1])
    for signature in ("", "00" * 32):
        wrong = lines[-1].replace(last["signature"].encode(), signature.encode())
        with pytest.raises(LedgerDamaged, match="signature"):
            append(old, [*lines[:-1], wrong], public_keys=[SIGNER.public_key])
    assert old.read_bytes() == before
    assert append(old, lines, public_keys=[SIGNER.public_key]).head == head


def test_the_command_appends_a_file_or_its_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, lines, head = copies(tmp_path)
    log = tmp_path / "log"
    log.write_bytes(b"".join(lines[:6]))
    assert main(["ledger", "append", str(old), str(log)]) == 0
    assert "has 6 records" in capsys.readouterr().err
    done = subprocess.run(
        [sys.executable, "-m", "safeselect", "ledger", "append", str(old), "--head", head],
        input=b"".join(lines),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == f"{head}\n"
    log.write_bytes(lines[-1])
    assert main(["ledger", "append", str(old), str(log)]) == 0
    log.write_bytes(lines[-1].replace(b"released", b"settled!"))
    assert main(["ledger", "append", str(old), str(log)]) == 3
    assert old.read_bytes() == b"".join(lines)
