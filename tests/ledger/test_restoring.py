"""By hand: a damaged file is repaired, and an older copy is made whole from its lines."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import pairs
from ledgers import Kept, chained, new, pure, scope
from workers import ended, kinds, start_child

from safeselect import Ledger, LedgerDamaged, LedgerError, LedgerRolledBack, ParameterError
from safeselect.cli._main import main
from safeselect.ledger import Ed25519Signer, append, correct, repair, restoring, set_aside
from safeselect.ledger.stores.file import FileStore

pytestmark = pytest.mark.claim("C9")

SIGNER = Ed25519Signer(b"k" * 32, key_id="k")


def made(path: Path, signer: Any = None) -> list[bytes]:
    """The lines of a ledger of 8 records."""
    ledger = new(path, signer=signer)
    for _ in range(3):
        scope(ledger).pay(pure()).released("x", b"s" * 32)
    return path.read_bytes().splitlines(keepends=True)


def head_at(lines: list[bytes], place: int) -> str:
    return f"{place}:{json.loads(lines[place])['hash']}"


def spoil(line: bytes) -> bytes:
    return line.replace(b"kind", b"king", 1)


CHANGES = [
    spoil,
    lambda line: b"\n",
    lambda line: b"",
    lambda line: line + line,
    lambda line: b"x" * 300_000 + b"\n",
    lambda line: b"\0" * len(line) + b"\n",
    lambda line: line[:-1] + b" \n",
]


@pytest.mark.parametrize(
    ("batch", "place", "change", "tail"),
    pairs([1000, 2], [1, 4, 6, 7], CHANGES, [b"", b'{"hash":"']),
)
def test_what_follows_the_last_good_line_is_moved(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    place: int,
    change: Callable[[bytes], bytes],
    tail: bytes,
) -> None:
    monkeypatch.setattr(restoring, "_BATCH", batch)
    path = tmp_path / "l"
    lines = made(path)
    good = b"".join(lines[: place + 1 if change(b"x") == b"xx" else place])
    bad = (b"".join([*lines[:place], change(lines[place]), *lines[place + 1 :]]) + tail)[
        len(good) :
    ]
    path.write_bytes(good + bad)
    if bad.removesuffix(tail).count(b"\n") == 0 or (
        place == 7 and change(b"y")[:1] in (b"", b"\0")
    ):
        # Nothing, or a page that never reached the disk: the next writer cuts that off.
        with pytest.raises(ParameterError, match="not damaged"):
            repair(path)
        return
    with pytest.raises(
        LedgerDamaged, match=r"does not follow|not valid: its line was changed|not have schema"
    ):
        Ledger.open(path)
    kept = repair(path)
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (bad, 0o600)
    assert path.read_bytes().startswith(good)
    ledger = Ledger.open(path)
    *_, record = ledger.records()
    assert (record.content["kind"], record.content["length"]) == ("torn", str(len(bad)))
    assert record.content["sha256"] == hashlib.sha256(bad).hexdigest()
    assert ledger.check().count == good.count(b"\n") + 1
    if place > 1:
        scope(ledger).pay(pure())
    with pytest.raises(ParameterError, match="not damaged, so there is nothing to repair"):
        repair(path)


def test_an_undamaged_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "l"
    lines = made(path)
    for tail in (b"", b'{"hash":"', b"\0\0\n"):
        path.write_bytes(b"".join(lines) + tail)
        before = path.read_bytes()
        with pytest.raises(ParameterError, match="not damaged, so there is nothing to repair"):
            repair(path)
        assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["l"]
    for wrong in (":memory:", 7, None):
        with pytest.raises(ParameterError, match="only a ledger in a file can be repaired"):
            repair(wrong)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="does not exist"):
        repair(tmp_path / "none")


@pytest.mark.parametrize("by", ["head", "witness"])
def test_what_is_known_elsewhere_is_never_moved(tmp_path: Path, by: str) -> None:
    path = tmp_path / "l"
    lines = made(path)
    path.write_bytes(b"".join([*lines[:5], spoil(lines[5]), *lines[6:]]))
    before = path.read_bytes()

    def known(head: str) -> dict[str, Any]:
        return {by: head if by == "head" else Kept(head)}

    for place in (5, 7):
        with pytest.raises(LedgerRolledBack, match="before the published head"):
            repair(path, **known(head_at(lines, place)))
    with pytest.raises(LedgerRolledBack, match="differs from the published head"):
        repair(path, **known(f"3:{'0' * 64}"))
    if by != "head":
        silent = Kept()
        silent.fail = OSError()
        with pytest.raises(LedgerError, match="failed with OSError"):
            repair(path, witness=silent)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["l"])
    repair(path, **known(head_at(lines, 4)))
    assert kinds(Ledger.open(path))[-1] == "torn"


def test_no_good_record_and_another_kind_of_file(tmp_path: Path) -> None:
    path = tmp_path / "l"
    for content in (b"", b"x\n", b"\n", spoil(made(tmp_path / "m")[0])):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(LedgerDamaged, match="the ledger is empty"):
            repair(path)
        assert path.read_bytes() == content


def test_a_signed_ledger_is_repaired_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "l"
    lines = made(path, SIGNER)
    signature = json.loads(lines[5])["signature"].encode()
    path.write_bytes(b"".join(lines).replace(signature, b"0" * len(signature)))
    before = path.read_bytes()
    with pytest.raises(ParameterError, match=r"the ledger is signed; call .*repair with"):
        repair(path)
    with pytest.raises(LedgerDamaged, match="not signed with the given key"):
        repair(path, signer=Ed25519Signer(b"o" * 32, key_id="k"))
    assert path.read_bytes() == before
    repair(path, signer=SIGNER)
    ledger = Ledger.open(path, signer=SIGNER)
    assert kinds(ledger)[-2:] == ["charged", "torn"]
    scope(ledger).pay(pure())


@pytest.mark.parametrize("later", ["nothing", "damage", "another signature", "both"])
def test_what_was_set_aside_is_no_damage(tmp_path: Path, later: str) -> None:
    path = tmp_path / "l"
    lines = made(path, SIGNER)

    def unsigned(place: int) -> bytes:
        signature = json.loads(lines[place])["signature"].encode()
        return lines[place].replace(signature, b"0" * len(signature))

    path.write_bytes(b"".join([*lines[:4], unsigned(4), unsigned(5), *lines[6:]]))
    assert set_aside(path, signer=SIGNER, reason="x") == (4, 5)
    scope(Ledger.open(path, signer=SIGNER)).pay(pure())
    scope(Ledger.open(path, signer=SIGNER)).pay(pure())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[9] = unsigned(9) if later in ("another signature", "both") else lines[9]
    lines[10] = spoil(lines[10]) if later in ("damage", "both") else lines[10]
    path.write_bytes(b"".join(lines))
    if later == "nothing":
        with pytest.raises(ParameterError, match="not damaged, so there is nothing to repair"):
            repair(path, signer=SIGNER)
    else:
        repair(path, signer=SIGNER)
    kept = {"nothing": 11, "damage": 10}.get(later, 9)
    after = path.read_bytes().splitlines(keepends=True)
    assert (after[:kept], len(after)) == (lines[:kept], kept + (later != "nothing"))
    assert len(Ledger.open(path, signer=SIGNER).check().aside) == 2


@pytest.mark.parametrize("call", ["write", "pwrite", "fdatasync", "ftruncate", "fsync"])
def test_a_repair_that_dies_loses_nothing(tmp_path: Path, call: str) -> None:
    """Killed before each call: the bytes are in the file still, or beside it."""
    path = tmp_path / "l"
    lines = made(path)
    damaged = b"".join([*lines[:5], spoil(lines[5]), *lines[6:]])
    bad = damaged[len(b"".join(lines[:5])) :]
    for number in range(3):
        for each in tmp_path.iterdir():
            each.unlink()
        path.write_bytes(damaged)
        path.chmod(0o600)

        def work(number: int = number) -> None:
            calls = []
            plain = getattr(os, call, None)

            def dying(*arguments: Any) -> Any:
                calls.append(call)
                if len(calls) > number:
                    os._exit(7)
                return plain(*arguments)  # type: ignore[misc]

            if plain is not None:
                setattr(os, call, dying)
            repair(path)

        if ended(start_child(work)) == 0:
            break
        left = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each != path)
        assert path.read_bytes() == damaged or bad in left
        if path.read_bytes() != damaged and b"torn" not in path.read_bytes():
            pytest.fail("the bytes are gone and no record says so")
        if b'"kind":"torn"' not in path.read_bytes():
            repair(path)
        assert b"torn" in path.read_bytes()


def test_the_command_repairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "l"
    lines = made(path)
    assert main(["ledger", "repair", str(path)]) == 2
    path.write_bytes(b"".join([*lines[:5], spoil(lines[5]), *lines[6:]]))
    shutil.copy(path, tmp_path / "copy")
    assert main(["ledger", "repair", str(path), "--head", head_at(lines, 7)]) == 3
    assert path.read_bytes() == (tmp_path / "copy").read_bytes()
    capsys.readouterr()
    assert main(["ledger", "repair", str(path), "--head", head_at(lines, 4)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{Ledger.open(path).head}\n"
    assert "l.torn-" in said.err
    assert "make any charges in that file again" in said.err
    assert main(["ledger", "verify", str(path)]) == 0


def copies(tmp_path: Path, keep: int = 4, signer: Any = None) -> tuple[Path, list[bytes], str]:
    """An older copy of a ledger of 8 records, all its lines, and its head."""
    path = tmp_path / "l"
    lines, old = made(path, signer), tmp_path / "old"
    old.touch(0o600)
    old.write_bytes(b"".join(lines[:keep]))
    return old, lines, head_at(lines, 7)


@pytest.mark.parametrize(
    ("keep", "first", "torn"), pairs([1, 4, 7, 8], [0, 1], [b"", b'{"hash":"1', b"\0\0\n"])
)
def test_an_older_copy_is_made_whole(tmp_path: Path, keep: int, first: int, torn: bytes) -> None:
    old, lines, head = copies(tmp_path, keep)
    old.write_bytes(old.read_bytes() + torn)  # it was copied while a line was written
    for _ in range(2):  # safe to repeat
        assert append(old, lines[first:], head=head).head == head
        assert b"".join(lines) == old.read_bytes().removesuffix(torn if keep == 8 else b"-")
    scope(Ledger.open(old, head=head)).pay(pure())


def _other_chain(lines: list[bytes]) -> list[bytes]:
    records = [json.loads(line)["record"] for line in lines]
    records[5]["commitment"] = "0" * 64
    return chained(records).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[5:], "the lines in between are missing"),
        (lambda lines: [*lines[:5], *lines[6:]], "does not follow"),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "does not end with a newline"),
        (lambda lines: [*lines[:-1], lines[-1][:-9] + b"\n"], "not valid: its line was changed"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"released", b"aborted!")], "fields|kind"),
        (lambda lines: [lines[0].replace(b"kind", b"King"), *lines[1:]], "canonical"),
        (lambda lines: lines[:6] + _other_chain(lines)[6:], "does not follow"),
        (lambda lines: _other_chain(lines)[:3] + lines[2:], "does not follow|differs"),
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
    with pytest.raises(LedgerDamaged, match=r"differs from the ledger's$"):
        append(old, foreign)
    with pytest.raises(LedgerRolledBack, match="before the published head"):
        append(old, lines[:6], head=head)
    for wrong in (b"x", "x", 7, ["x"], [7]):
        with pytest.raises(ParameterError, match=r"must be a list|must be bytes"):
            append(old, wrong)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="does not exist"):
        append(tmp_path / "none", lines)
    assert old.read_bytes() == before


def test_lines_of_a_signed_ledger_are_verified(tmp_path: Path) -> None:
    old, lines, head = copies(tmp_path, signer=SIGNER)
    before, forged = old.read_bytes(), [*lines[:-1], lines[-1][:-4] + b"0" + lines[-1][-3:]]
    assert forged != lines or lines[-1][-4:-3] == b"0"
    with pytest.raises(ParameterError, match="pass public_keys="):
        append(old, lines)
    with pytest.raises(LedgerDamaged, match="not signed with the given key"):
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
    command = [sys.executable, "-m", "safeselect", "ledger", "append", str(old), "--head", head]
    done = subprocess.run(command, input=b"".join(lines), capture_output=True, check=True)
    assert done.stdout.decode() == f"{head}\n"
    log.write_bytes(lines[-1].replace(b"released", b"settled!"))
    assert main(["ledger", "append", str(old), str(log)]) == 3
    assert old.read_bytes() == b"".join(lines)


def test_a_store_may_run_the_work_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does whose reply was lost: what the first run wrote is not there."""
    lines, write = made(tmp_path / "l"), FileStore.write

    def twice(store: FileStore, work: Callable[[Any], Any]) -> Any:
        store.read(work)
        return write(store, work)

    monkeypatch.setattr(FileStore, "write", twice)
    old = tmp_path / "old"
    old.write_bytes(b"".join(lines[:5]))
    old.chmod(0o600)
    assert append(old, lines).head == head_at(lines, 7)
    about: dict[str, Any] = {"advisory": "a", "sha256": "0" * 64, "charges": [2], "reason": "x"}
    old.write_bytes(old.read_bytes() + b'{"h')
    assert correct(old, **about).startswith("9:")
    assert kinds(Ledger.open(old))[-2:] == ["torn", "corrected"]
