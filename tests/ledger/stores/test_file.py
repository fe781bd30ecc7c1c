"""The store in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ledgers import new, pure, scope
from workers import ended, start_child

from safeselect import LedgerError
from safeselect.ledger import Journal, Row
from safeselect.ledger.stores.file import FileStore

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks as Unix does"),
    pytest.mark.claim("C8"),
]


def test_the_process_is_compared_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child forked before the descriptor was noted shares its parent's lock."""
    monkeypatch.setattr("safeselect.ledger.stores.file.guard", lambda _: None)
    path = tmp_path / "l"
    ledger = new(path)
    store, before = FileStore(path), path.read_bytes()
    codes: list[int] = []

    def work(journal: Journal) -> None:
        journal.append(Row(2, "{}", "0" * 64, ""))
        if child := os.fork():
            codes.append(ended(child))
            raise KeyboardInterrupt

    parent = os.getpid()
    with pytest.raises((KeyboardInterrupt, LedgerError)) as met:
        store.write(work)
    if os.getpid() != parent:
        os._exit("was forked" not in str(met.value) or path.read_bytes() != before)
    assert codes == [0]
    assert path.read_bytes() == before
    scope(ledger).pay(pure())
    assert ended(start_child(lambda: scope(ledger).pay(pure()))) == 0
