"""A charge whose outcome is still to be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ledgers import new, pure, scope
from workers import kinds

from safeselect import Ledger, LedgerError
from safeselect.errors import ChargeStands

pytestmark = pytest.mark.claim("C8")


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_that_another_process_released_is_made_durable_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Its line may have a writer that died before it was on the disk."""
    path, kept = tmp_path / "l", []
    ledger, other = new(path), Ledger.open(path)

    def finished(request: str, charge: int, salt: bytes, output: str) -> None:
        kept.append(other.finish(charge, salt, output))
        monkeypatch.setattr(os, "fdatasync", sync)

    pending = scope(ledger).asked("r", outbox=finished).pay(pure())
    synced: list[int] = []

    def sync(file: int) -> None:
        synced.append(file)
        if fails:
            raise OSError(5, "not on the disk")

    if fails:
        with pytest.raises(ChargeStands, match="check the disk"):
            pending.released("blue")
    else:
        assert [pending.released("blue")] == kept
    assert synced


def test_what_a_session_says_it_used_is_judged_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = new(path)
    pending = scope(ledger).pay(pure(parameters={"k": "3"}))
    for spent in ({"k": 4}, {"other": 1}, {}):
        with pytest.raises(LedgerError, match="readers would reject the record"):
            pending.settled("[]", spent)
    assert kinds(ledger)[-1] == "charged"
    pending.settled("[]", {"k": 3})
    assert Ledger.open(path).check().pending == set()


def test_each_open_charge_keeps_the_parameters_with_which_it_was_made(tmp_path: Path) -> None:
    """Like charges share one object in memory: those that differ in a parameter alone do not."""
    path = tmp_path / "l"
    there = scope(new(path))
    few, many = (there.pay(pure(parameters={"k": k})) for k in ("3", "5"))
    for ledger in (there.book, Ledger.open(path)._book):
        waits = [ledger.state(lambda checker, at=p.charge: checker.awaits(at)) for p in (few, many)]
        assert [each.parameters for each in waits] == [{"k": "3"}, {"k": "5"}]
    with pytest.raises(LedgerError, match="readers would reject the record"):
        few.settled("[]", {"k": 4})
    many.settled("[]", {"k": 4})
