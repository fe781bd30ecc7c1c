"""What every store of a ledger does, one of one's own too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import ListStore, new, pure, scope

from safeselect import Ledger, LedgerError
from safeselect.ledger import Journal, Row, Store
from safeselect.ledger.stores.file import FileStore
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C9")

STORES: dict[str, Callable[[Path], Any]] = {
    "file": lambda folder: FileStore(folder / "l"),
    "memory": lambda _: MemoryStore(),
    "own": lambda _: ListStore(),
}


def rows(store: Store) -> list[tuple[str, str, str]]:
    return [row[1:4] for row in store.read(lambda journal: journal.rows(0, 100))]


@pytest.mark.parametrize("name", STORES)
def test_rows_are_kept_in_order_all_or_none(name: str, tmp_path: Path) -> None:
    store = STORES[name](tmp_path)
    assert isinstance(store, Store)
    ledger = new(store)
    scope(ledger).pay(pure()).released("blue")
    before = rows(store)
    assert before == [(*row[1:4],) for row in ledger._book.rows()]
    assert [row.seq for row in store.read(lambda journal: journal.rows(0, 100))] == [0, 1, 2, 3]
    third = store.read(lambda journal: journal.rows(0, 3))[2]
    assert [row.seq for row in store.read(lambda journal: journal.rows(2, 1, third.at))] == [2]

    def half(journal: Journal) -> None:
        journal.append(Row(4, "{}", "0" * 64, ""))
        raise LedgerError("not this")

    with pytest.raises(LedgerError, match="not this"):
        store.write(half)
    assert rows(store) == before
    scope(ledger).pay(pure())
    assert rows(store)[:4] == before
    if name != "memory":
        assert Ledger.open(store).check().count == 5
    if name != "own":
        with pytest.raises(LedgerError, match="already"):
            new(store)
