"""The store of ":memory:" belongs to one process."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest
from ledgers import new, pure, scope
from workers import ended, start_child

from safeselect.errors import LedgerError
from safeselect.ledger import Journal, Row
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C9")


def test_a_copy_in_memory_is_no_ledger() -> None:
    memory = scope(new(":memory:", epsilon=1))

    def spend_twice() -> None:
        with pytest.raises(LedgerError, match="only by the process that created it"):
            memory.pay(pure("1/2"))

    assert ended(start_child(spend_twice)) == 0
    memory.pay(pure(1))
    assert memory.book.state(lambda checker: checker.scopes["a"]).spent == {"epsilon": Fraction(1)}


def test_a_child_that_is_forked_in_the_middle_writes_nothing() -> None:
    store, children = MemoryStore(), []

    def work(journal: Journal) -> None:
        journal.append(Row(0, "{}", "0" * 64, ""))
        children.append(os.fork())

    try:
        store.write(work)
    except LedgerError:
        os._exit(len(store.read(lambda _: store._rows)) if children[0] else 7)
    assert (ended(children[0]), store.read(lambda journal: len(journal.rows(0, 9)))) == (7, 1)
