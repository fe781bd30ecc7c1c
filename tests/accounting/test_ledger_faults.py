"""What may go wrong with the file: an error that says so, nothing released, nothing lost."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledgers import new, pure, scope, script

from safeselect import Ledger, LedgerError
from safeselect.accounting import _ledger_sqlite
from safeselect.accounting._ledger_sqlite import SQLiteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files and limits of Unix")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with one charge of 1/10 that was released."""
    made = new(tmp_path / "budget.db", epsilon=1)
    scope(made).charge(pure()).released("blue", b"s" * 32)
    return tmp_path / "budget.db"


def edit(path: Path, *statements: str) -> None:
    """Change the file as its owner could, without triggers in the way."""
    with sqlite3.connect(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = triggers.fetchall()
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in kept:
            connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET body = body || ' '",
        "UPDATE records SET body = replace(body, '1/10', '1/99') WHERE seq = 2",
        "DELETE FROM records",
        "DELETE FROM records WHERE seq = 3",
        "INSERT OR REPLACE INTO records SELECT 2, body, 'x', '', null, null, null FROM records",
        "INSERT INTO records SELECT 9, body, 'x', '', null, null, null FROM records WHERE seq = 3",
        "INSERT INTO records SELECT 1, body, 'x', '', null, null, null FROM records WHERE seq = 3",
        "INSERT INTO records SELECT 4, body, hash, '', null, null, null FROM records WHERE seq = 3",
        "REPLACE INTO records SELECT 4, body, '', '', null, nonce, null FROM records WHERE seq = 2",
        "REPLACE INTO records SELECT 4, body, '', '', null, null, 2 FROM records WHERE seq = 2",
    ],
)
def test_triggers_forbid_all_but_the_next_record(path: Path, statement: str) -> None:
    before = Ledger.open(path).head
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="records are"):
        connection.execute(statement)
    connection.close()
    assert Ledger.open(path).check(head=before).head == before


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE records SET body = replace(body, '1/10', '1/99') WHERE seq = 2", "record 2"),
        ("UPDATE records SET hash = hex(randomblob(32)) WHERE seq = 1", "record 1"),
        ("UPDATE records SET signature = 'ab' WHERE seq = 1", "record 1"),
        ("UPDATE records SET nonce = 'ab' WHERE seq = 2", "record 2 is filed under another"),
        ("UPDATE records SET nonce = null WHERE seq = 2", "record 2 is filed under another"),
        ("UPDATE records SET total_of = 'b' WHERE seq = 2", "record 2 is filed under another"),
        ("UPDATE records SET settles = null WHERE seq = 3", "record 3 is filed under another"),
        ("UPDATE records SET seq = 9 WHERE seq = 3", "record 9 is filed under another|lacks"),
        ("DELETE FROM records WHERE seq = 2", "record 2"),
        ("DELETE FROM records WHERE seq = 3", "the end was cut|lacks a record"),
        ("UPDATE records SET body = x'ff' WHERE seq = 2", "a row of the ledger .* was changed"),
        ("UPDATE records SET body = CAST(x'ff' AS TEXT) WHERE seq = 2", "is damaged"),
    ],
)
@pytest.mark.claim("C9")
def test_an_edit_of_the_file_is_found(path: Path, statement: str, said: str) -> None:
    head = Ledger.open(path).head
    edit(path, statement)
    with pytest.raises(LedgerError, match=said):
        Ledger.open(path).check(head=head)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET body = replace(body, '1/10', '1/99') WHERE seq = 2",
        "UPDATE records SET body = replace(body, '2', '3') WHERE seq = 3",
        "UPDATE records SET total_of = null WHERE seq = 2",
    ],
)
def test_an_edit_of_what_a_charge_builds_on_stops_it(path: Path, statement: str) -> None:
    ledger = Ledger.open(path)
    there = scope(ledger)
    edit(path, statement)
    if "total_of" in statement:
        # Filed wrongly, the charge is out of sight; the check of all records finds it.
        with pytest.raises(LedgerError, match="filed under another name"):
            ledger.check()
        return
    with pytest.raises(LedgerError, match=r"record [23] was changed"):
        there.charge(pure())


def test_an_older_copy_in_the_ledgers_place_is_noticed(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".old"))
    ledger = Ledger.open(path)
    there = scope(ledger)
    pending = there.charge(pure())
    shutil.copy(path.with_suffix(".old"), path)
    for use in (
        lambda: there.charge(pure()),
        lambda: pending.released("blue", b"s" * 32),
        lambda: ledger.standing("a"),
        ledger.check,
    ):
        with pytest.raises(LedgerError, match="lacks a record that this process has seen"):
            use()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a text that is no database at all, and long enough" * 9),
    "half a header": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "another database": lambda path: sqlite3.connect(path).execute("CREATE TABLE t (x)"),
    "a folder": lambda path: path.mkdir(),
    "another format": lambda path: edit_pragma(path, "user_version=2"),
    "another application": lambda path: edit_pragma(path, "application_id=7"),
    "no trigger": lambda path: edit_schema(path, "DROP TRIGGER records_are_never_deleted"),
    "another table": lambda path: edit_schema(path, "CREATE TABLE more (x)"),
    "another trigger": lambda path: edit_schema(
        path, "CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT 1; END"
    ),
}


def edit_schema(path: Path, statement: str) -> None:
    new(path)
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def edit_pragma(path: Path, pragma: str) -> None:
    edit_schema(path, f"PRAGMA {pragma}")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_ledger_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    FOREIGN[kind](path)
    before = path.read_bytes() if path.is_file() else b""
    said = r"is no ledger|is empty|has format 2|were changed|cannot be opened|is damaged"
    with pytest.raises(LedgerError, match=said):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="already"):
        new(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_another_programs_database_is_left_in_its_journal_mode(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is no ledger"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_every_damaged_page_is_an_error_or_harmless(path: Path) -> None:
    """Overwrite each stretch of the file: a LedgerError comes out, or all is as it was."""
    ledger = Ledger.open(path)
    head, whole = ledger.head, path.read_bytes()
    found = 0
    for start in range(0, len(whole), 512):
        path.write_bytes(whole[:start] + b"\xa5" * 256 + whole[start + 256 :])
        try:
            checker = Ledger.open(path).check(head=head)
            assert checker.head == head
            assert checker.scopes["a"].spent["epsilon"] * 10 == 1
        except LedgerError:
            found += 1
    path.write_bytes(whole)
    assert found > 5
    assert Ledger.open(path).check(head=head).head == head


def test_a_locked_ledger_is_a_clear_error(path: Path) -> None:
    ledger = Ledger.open(SQLiteStore(path, wait=0))
    there, pending = scope(ledger), scope(ledger).charge(pure())
    head = ledger.head
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for use in (lambda: there.charge(pure()), lambda: pending.released("x", b"s" * 32)):
        with pytest.raises(LedgerError, match="is locked by another process: try again"):
            use()
    assert ledger.head == head  # who only reads need not wait for a writer
    other.execute("ROLLBACK")
    other.close()
    pending.aborted("error")
    assert ledger.check(head=head).count == 6


def test_a_read_only_ledger_can_be_read_and_not_charged(path: Path) -> None:
    path.chmod(0o444)
    for folder in path.parents:
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(folder.stat().st_mode | 0o005)
    there = scope(Ledger.open(path))
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:  # who may write everywhere
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            there.charge(pure())
        except LedgerError as error:
            os._exit(0 if "is read-only" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Ledger.open(path).check().count == 4


FULL = """
import resource, sys
from ledgers import pure, scope
from safeselect import Ledger, LedgerError
there = scope(Ledger.open(sys.argv[1]))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
released = 0
try:
    for _ in range(40):
        pending = there.charge(pure("1/100"))
        print("charged", flush=True)
        pending.released("blue", b"s" * 32)
        print("released", flush=True)
except LedgerError as error:
    print(error, flush=True)
"""


@pytest.mark.parametrize("extra", [-1, 0, 3000, 9000, 17000])
@pytest.mark.claim("C8")
def test_where_no_file_may_grow_nothing_is_lost(path: Path, extra: int) -> None:
    limit = path.stat().st_size + extra if extra >= 0 else 600
    process = script(FULL, path, limit)
    out, errors = process.communicate(timeout=60)
    lines = out.splitlines()
    assert errors == ""
    assert "could not be written" in lines[-1] or "could not be read or written" in lines[-1], out
    charged, released = lines.count("charged"), lines.count("released")
    checker = Ledger.open(path).check()
    told = sum(record.content["kind"] == "released" for record in Ledger.open(path).records()) - 1
    # Whatever was reported is there; nothing was released without it.
    assert released == told
    assert checker.scopes["a"].spent["epsilon"] * 100 == 10 + charged
    scope(Ledger.open(path)).charge(pure())  # with space again, all goes on


def test_a_full_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure = SQLiteStore._configure

    def small(self: SQLiteStore, connection: sqlite3.Connection, *, create: bool) -> None:
        configure(self, connection, create=create)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")

    ledger = Ledger.open(path)
    there = scope(ledger)
    monkeypatch.setattr(SQLiteStore, "_configure", small)
    with pytest.raises(LedgerError, match="the disk is full"):
        charge_for_ever(there.charge)
    monkeypatch.undo()
    assert ledger.check().count == Ledger.open(path).check().count


def charge_for_ever(charge: Callable[..., object]) -> None:
    while True:
        charge(pure("1/1000"))


def test_a_ledger_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with pytest.raises(LedgerError, match="cannot be made"):
        new(tmp_path / "no such folder" / "budget.db")
    with pytest.raises(LedgerError, match="cannot be made"):
        new("a\0b")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard[1]))
    try:
        with pytest.raises(LedgerError, match="could not be"):
            new(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, hard)
    assert list(tmp_path.iterdir()) == []
    new(path)


@pytest.fixture(params=[(3, 51, 2), (3, 51, 3)], ids=["old SQLite", "new SQLite"])
def wal_is_safe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    monkeypatch.setattr(_ledger_sqlite, "_sqlite_version", lambda: request.param)
    return request.param == (3, 51, 3)


def test_the_journal_follows_the_version_of_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wal_is_safe: bool
) -> None:
    seen: set[tuple[str, int]] = set()
    configure = SQLiteStore._configure

    def watch(self: SQLiteStore, connection: sqlite3.Connection, *, create: bool) -> None:
        configure(self, connection, create=create)
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        seen.add((mode, *connection.execute("PRAGMA synchronous").fetchone()))

    monkeypatch.setattr(SQLiteStore, "_configure", watch)
    ledger = new(tmp_path / "budget.db")
    scope(ledger).charge(pure()).released("x", b"s" * 32)
    # 2 is FULL; 3 is EXTRA, which also makes the removal of the rollback journal durable.
    assert seen == ({("wal", 2)} if wal_is_safe else {("delete", 3)})
    # A file that a newer SQLite made is brought back where write-ahead logging is not safe.
    monkeypatch.setattr(_ledger_sqlite, "_sqlite_version", lambda: (3, 40, 1))
    seen.clear()
    assert Ledger.open(tmp_path / "budget.db").check().count == 4
    assert seen == {("delete", 3)}
