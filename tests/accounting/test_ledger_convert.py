"""Ledgers in SQLite files, as an earlier version made them: dumps of real ones are in vectors."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import pure, scope
from stops import at_step
from workers import LONG, ended, start_child

from safeselect import HmacSigner, Ledger, LedgerDamaged, LedgerError
from safeselect.ledger import convert

pytestmark = pytest.mark.claim("C9")

VECTORS = Path(__file__).parents[1] / "vectors"
HEADS = {
    "plain": "9:a29b86c7e69cee0dca397956d2d6754ad4384b2262b5e813467c8b901c427ce5",
    "signed": "9:cf021efac25bebdf1e05a38865232837100056dc77a201700948f5ee15fa942a",
}
SIGNER = HmacSigner(b"k" * 32, key_id="vault")


def rows(path: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT body, hash, signature FROM records ORDER BY seq").fetchall()
    connection.close()
    return found


@pytest.fixture(params=HEADS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.db"
    connection = sqlite3.connect(path)
    connection.executescript((VECTORS / f"ledger_1_{request.param}.sql").read_text("utf-8"))
    connection.close()
    return path


def test_every_record_is_brought_over_as_it_is(old: Path, tmp_path: Path) -> None:
    new, kept = tmp_path / "budget.ledger", rows(old)
    checker = convert(old, new)
    assert checker.head == HEADS[old.stem]
    lines = [json.loads(line) for line in new.read_text("ascii").splitlines()]
    assert len(lines) == len(kept) == 10
    for line, (body, hash_, signature) in zip(lines, kept, strict=True):
        assert json.dumps(line["record"], sort_keys=True, separators=(",", ":")) == body
        assert (line["hash"], line["signature"]) == (hash_, signature)
    assert new.stat().st_mode & 0o777 == 0o600
    signer = SIGNER if old.stem == "signed" else None
    ledger = Ledger.open(new, signer=signer, head=HEADS[old.stem])
    spent = Fraction(1, 3) + Fraction(1, 10) + Fraction(1, 7) + Fraction(1, 9)
    assert ledger.balance("a").spent == {"epsilon": spent, "delta": Fraction(1, 10**9)}
    assert ledger.check().pending == {"9"}
    # The one that was open may be told, and new charges go on from the old total.
    pending = scope(ledger).begin(pure())
    pending.released("blue", b"s" * 32)
    assert ledger.balance("a").spent["epsilon"] == spent + Fraction(1, 10)
    assert ledger.check(head=HEADS[old.stem]).count == 12


def test_the_old_file_lives_no_more(old: Path, tmp_path: Path) -> None:
    convert(old, tmp_path / "budget.ledger")
    connection = sqlite3.connect(old)
    # What earlier versions look at before they read or write anything.
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
    with pytest.raises(LedgerError, match="was converted already: use the new file"):
        convert(old, tmp_path / "another.ledger")
    assert not (tmp_path / "another.ledger").exists()


def test_an_open_file_says_what_to_do(old: Path) -> None:
    with pytest.raises(LedgerError, match="safeselect ledger convert OLD NEW"):
        Ledger.open(old)


def test_what_does_not_check_is_not_converted(old: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(old)
    for name in ("records_are_never_updated", "records_are_only_appended"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE records SET body = replace(body, '1/9', '1/8') WHERE seq = 9")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerDamaged, match="record 9 does not have the hash"):
        convert(old, tmp_path / "budget.ledger")
    assert not (tmp_path / "budget.ledger").exists()
    for other in (b"", b"text\n", b"SQLite format 3\0"):
        (tmp_path / "other").write_bytes(other)
        with pytest.raises(LedgerError, match=r"is no ledger in SQLite|cannot be read as a ledger"):
            convert(tmp_path / "other", tmp_path / "budget.ledger")
    with pytest.raises(LedgerError, match="there is no file"):
        convert(tmp_path / "nothing", tmp_path / "budget.ledger")
    assert not (tmp_path / "budget.ledger").exists()


def test_a_file_that_is_there_is_left_alone(old: Path, tmp_path: Path) -> None:
    (tmp_path / "budget.ledger").write_text("mine\n")
    with pytest.raises(LedgerError, match=r"is not a line of a ledger|already: name a new one"):
        convert(old, tmp_path / "budget.ledger")
    assert (tmp_path / "budget.ledger").read_text() == "mine\n"


def test_a_conversion_killed_at_any_line_is_finished_by_the_next(old: Path, tmp_path: Path) -> None:
    new, step, runs, whole = tmp_path / "budget.ledger", 1, 0, old.read_bytes()
    while True:

        def work(step: int = step) -> None:
            at_step(lambda: convert(old, new), step, lambda: os.kill(os.getpid(), signal.SIGKILL))

        if ended(start_child(work)) == 0:
            break
        connection = sqlite3.connect(old)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        if version == 1:  # it did not come to its last step
            convert(old, new)
        assert Ledger.open(new).head == HEADS[old.stem]
        for left in tmp_path.iterdir():
            left.unlink()
        old.write_bytes(whole)
        step, runs = step + (1 if LONG else 97), runs + 1
    assert runs > 7
