"""What may happen to the file: an error that says so, nothing released, nothing lost."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import LONG
from ledgers import new, pure, scope
from workers import kinds

from safeselect import Ledger, LedgerBusy, LedgerDamaged, LedgerError, LedgerRolledBack
from safeselect.ledger import repair
from safeselect.ledger.stores.file import FileStore

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="files and limits of Unix"),
    pytest.mark.claim("C8"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with one charge of 1/10 that was released."""
    scope(new(tmp_path / "budget.ledger", epsilon=1)).pay(pure()).released("blue", b"s" * 32)
    return tmp_path / "budget.ledger"


# ------------------------------------------------------------------------------- torn and damaged


def test_a_tail_torn_at_any_byte_is_ignored_and_then_cut(path: Path) -> None:
    whole = path.read_bytes()
    starts = [0, *(at + 1 for at, byte in enumerate(whole) if byte == ord("\n"))][:-1]
    for end in range(starts[2] + 1, len(whole), 1 if LONG else 4):
        path.write_bytes(whole[:end])
        there = sum(start < end for start in starts) - (whole[end - 1] != ord("\n"))
        opened = Ledger.open(path)
        assert opened.check().count == there
        assert path.stat().st_size == end, "a reader changed the file"
        if end % (1 if LONG else 7) and end not in starts:
            continue
        scope(opened).pay(pure())
        *_, torn, charged = Ledger.open(path).records()
        if end in starts:
            assert torn.content["kind"] != "torn"
        else:
            tail = whole[starts[there] : end]
            assert torn.content["length"] == str(len(tail))
            assert torn.content["sha256"] == hashlib.sha256(tail).hexdigest()
        assert charged.content["kind"] == "charged"


def test_a_torn_tail_is_cut_even_if_the_charge_is_refused(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"hash":"')
    with pytest.raises(LedgerError, match="unprintable text"):
        scope(Ledger.open(path)).pay(pure(mechanism="two\nlines"))
    assert kinds(Ledger.open(path))[-1] == "torn"
    scope(Ledger.open(path)).pay(pure())


def test_a_hole_in_the_last_line_is_ignored_and_in_another_one_is_damage(path: Path) -> None:
    """Pages of one write that never reached the disk: zeros, up to the file's end or not."""
    scope(Ledger.open(path)).pay(pure(parameters={"long": "x" * 20_000}))
    whole = path.read_bytes()
    last, pages = whole.rindex(b"\n", 0, -1) + 1, 0
    for page in range(last // 4096, len(whole) // 4096 + 1):
        start, end = max(last, page * 4096), min(len(whole), (page + 1) * 4096)
        path.write_bytes(whole[:start] + bytes(end - start) + whole[end:])
        opened = Ledger.open(path)
        assert opened.check().count == 4
        scope(opened).pay(pure())
        assert kinds(Ledger.open(path))[4:] == ["torn", "charged"]
        pages += 1
        path.write_bytes(whole[:start] + bytes(end - start) + whole[end:] + whole[:last])
        with pytest.raises(LedgerDamaged, match=r"record [45] "):
            Ledger.open(path)
    assert pages >= 5


def test_an_edit_of_what_a_charge_builds_on_stops_it(path: Path) -> None:
    there, whole = scope(Ledger.open(path)), path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    path.write_bytes(
        whole[:start] + whole[start:].replace(b'"commitment":"', b'"commitment":"0', 1)
    )
    with pytest.raises(LedgerRolledBack, match="a record that this process has seen"):
        there.pay(pure())


@pytest.mark.parametrize("added", [b"a line\n", b"\n", b'{"record":{}}\n', b"\xff\xfe\n"])
def test_a_line_of_somebody_else_is_damage_for_who_saw_the_records_before(
    added: bytes, path: Path
) -> None:
    """A running process said that the ledger had been replaced or cut; all records were there."""
    ledger = Ledger.open(path)
    there, whole = scope(ledger), path.read_bytes()
    path.write_bytes(whole + added)
    for use in (lambda: there.pay(pure()), lambda: ledger.head, ledger.check):
        with pytest.raises(LedgerDamaged, match="record 4 is not valid: its line was changed"):
            use()
    path.write_bytes(whole)
    assert ledger.check().count == 4


FOREIGN: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "lines": lambda path: path.write_text("lines\nthat are\nno ledger\n"),
    "zeros": lambda path: path.write_bytes(bytes(5000)),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a database": lambda path: sqlite3.connect(path).execute("CREATE TABLE t (x)").close(),
}
SAID = "the ledger is empty|record 0 is not valid|it is not a regular file|of an earlier version"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_ledger_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    FOREIGN[kind](path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LedgerError, match=SAID):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="already exists; open it"):
        new(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


# ----------------------------------------------------------------------------- moved and replaced


def test_an_older_copy_in_the_ledgers_place_is_noticed(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".old"))
    ledger = Ledger.open(path)
    there = scope(ledger)
    pending, head = there.pay(pure()), ledger.head
    shutil.copy(path.with_suffix(".old"), path)
    for use in (
        lambda: there.pay(pure()),
        lambda: pending.released("blue", b"s" * 32),
        lambda: ledger.balance("a"),
        ledger.check,
        lambda: ledger.head,
    ):
        with pytest.raises(
            LedgerRolledBack, match="a record that this process has seen in the ledger is missing"
        ):
            use()
    with pytest.raises(LedgerRolledBack, match="its last records were removed"):
        Ledger.open(path, head=head)
    assert Ledger.open(path).check().count == 4  # who saw less cannot know


WHILE: dict[str, Callable[[Path, Path], object]] = {
    "mv away": lambda path, other: os.rename(path, other),
    "mv over it": lambda path, other: (shutil.copy(path, other), os.rename(other, path)),
    "cp over it": lambda path, other: path.write_bytes(path.read_bytes().splitlines(True)[0]),
    "copytruncate": lambda path, other: (shutil.copy(path, other), os.truncate(path, 0)),
    "rm": lambda path, other: os.unlink(path),
    "somebody appends": lambda path, other: path.open("ab").write(b"x"),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("what", WHILE)
def test_what_happens_to_the_file_while_it_is_synced_withholds_the_answer(
    what: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scope(Ledger.open(path))
    pending, synced = there.pay(pure()), os.fdatasync

    def meanwhile(descriptor: int) -> None:
        synced(descriptor)
        WHILE[what](path, path.with_suffix(".other"))

    for use in (lambda: pending.released("blue", b"s" * 32), lambda: there.pay(pure())):
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", meanwhile)
            with pytest.raises(LedgerError, match=r"nothing is released"):
                use()
        path.unlink(missing_ok=True)
        path.write_bytes(before)


def test_one_file_of_two_names_is_one_ledger(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    hard, soft = tmp_path / "elsewhere" / "hard", tmp_path / "soft"
    os.link(path, hard)
    soft.symlink_to(path)
    ledgers = [Ledger.open(each) for each in (path, hard, soft)]
    for i in range(9):
        scope(ledgers[i % 3]).pay(pure())
    for ledger in ledgers:
        assert ledger.balance("a").left == {"epsilon": 0}


# ------------------------------------------------------------------------------ disks that fail


@pytest.mark.parametrize("failure", ["sync", "short write", "no write"])
def test_a_write_that_fails_is_taken_back(
    failure: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, before, failed = scope(Ledger.open(path)), path.read_bytes(), []
    synced, limit = os.fdatasync, resource.getrlimit(resource.RLIMIT_FSIZE)

    def fail(descriptor: int) -> None:
        failed.append(1)
        if len(failed) == 1:
            raise OSError(errno.EIO, "Input/output error")
        synced(descriptor)

    if failure == "sync":
        monkeypatch.setattr(os, "fdatasync", fail)
    else:
        room = 100 if failure == "short write" else 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, limit[1]))
    try:
        with pytest.raises(LedgerError, match=r"check the disk|disk is full|exceed the size limit"):
            there.pay(pure())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == before
    monkeypatch.undo()
    there.pay(pure())
    assert Ledger.open(path).check().scopes["a"].spent["epsilon"] * 10 == 2


def test_who_cannot_take_a_write_back_writes_no_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scope(Ledger.open(path))

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(LedgerError, match="check the disk"):
            there.pay(pure())
    with pytest.raises(LedgerError, match="this Ledger object will not write"):
        there.pay(pure())
    # Whether the line counts was not said: it does, and another process goes on behind it.
    other = Ledger.open(path)
    scope(other).pay(pure())
    assert other.balance("a").spent["epsilon"] * 10 == 3


def test_a_file_that_may_only_grow(path: Path) -> None:
    if subprocess.run(["chattr", "+a", str(path)], capture_output=True, check=False).returncode:
        pytest.skip("chattr +a is not allowed here")
    try:
        scope(Ledger.open(path)).pay(pure()).released("blue", b"s" * 32)
        with path.open("ab") as file:
            file.write(b'{"hash"')
        with pytest.raises(LedgerError, match="run chattr -a on the file"):
            scope(Ledger.open(path)).pay(pure())
    finally:
        subprocess.run(["chattr", "-a", str(path)], check=True)
    scope(Ledger.open(path)).pay(pure())
    assert kinds(Ledger.open(path))[-2:] == ["torn", "charged"]


# --------------------------------------------------------------------------------------- locks


def test_no_open_and_close_of_the_file_takes_the_lock_away(path: Path) -> None:
    """What every POSIX lock of the process is lost by."""
    store, impatient = FileStore(path), scope(Ledger.open(FileStore(path, wait=0)))

    def work(_: object) -> None:
        for _ in range(3):
            hashlib.sha256(path.read_bytes()).hexdigest()
            with path.open("rb") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with pytest.raises(LedgerBusy, match="other processes kept the ledger"):
                impatient.pay(pure())

    store.write(work)
    impatient.pay(pure())


def test_locks_that_let_others_in_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = scope(Ledger.open(path))
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(LedgerError, match="locks do not work"):
        there.pay(pure())


def test_a_ledger_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    with pytest.raises(LedgerError, match="cannot be created"):
        new(tmp_path / "no such folder" / "budget.ledger")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, hard[1]))
    try:
        with pytest.raises(LedgerError, match="cannot be created"):
            new(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, hard)
    assert list(tmp_path.iterdir()) == []
    new(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["budget.ledger"]


def test_a_read_only_ledger_can_be_read_and_not_charged(path: Path) -> None:
    path.chmod(0o444)
    for folder in path.parents:
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(folder.stat().st_mode | 0o005)
    there, child = scope(Ledger.open(path)), os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:  # who may write everywhere
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            Ledger.open(path).check()
            there.pay(pure())
        except LedgerError as error:
            os._exit(0 if "no permission for it" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Ledger.open(path).check().count == 4


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"], ids=["NUL", "surrogate"])
def test_a_name_that_no_file_has_is_a_ledger_error(tmp_path: Path, name: str) -> None:
    place = f"{tmp_path}/{name}"
    for use in (Ledger.open, repair):
        with pytest.raises(LedgerError, match="its path is not valid"):
            use(place)
    with pytest.raises(LedgerError, match="its path is not valid"):
        new(place)
