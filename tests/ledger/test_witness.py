"""What is kept of a ledger elsewhere: its newest head, and its lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ledgers import ListStore, new, pure, scope

from safeselect import Ledger
from safeselect.errors import LedgerRolledBack
from safeselect.ledger.record import record_hash

pytestmark = pytest.mark.claim("C9")


class Kept:
    """Keeps what it is sent; before it answers for the second time, somebody edits the store."""

    def __init__(self, edit: Callable[[], object]) -> None:
        self.lines: list[bytes] = []
        self.edit, self.asked = edit, 0

    def last(self) -> str | None:
        self.asked += 1
        if self.asked == 2:
            self.edit()
        return None

    def send(self, lines: list[bytes], after: str | None) -> None:
        self.lines += lines


@pytest.mark.parametrize("hashed_anew", [False, True])
def test_lines_are_chained_again_while_they_are_read_to_be_sent(hashed_anew: bool) -> None:
    """They were checked before, and are read a second time: somebody may write in between."""
    store = ListStore()
    there = scope(new(store))
    for _ in range(3):
        there.pay(pure()).released("blue")

    def edit() -> None:
        rows = store.kept or []
        body = rows[4].body.replace("a test", "b test")
        assert body != rows[4].body
        rows[4] = rows[4]._replace(body=body)
        if hashed_anew:
            rows[4] = rows[4]._replace(hash=record_hash(body))

    kept = Kept(edit)
    with pytest.raises(LedgerRolledBack, match="lacks a record"):
        Ledger.open(store, ship=kept)
    assert kept.asked > 1
    assert not any(b"b test" in line for line in kept.lines)
