"""`ledger=`: charged before the first bit, whatever happens then, and nothing private in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, outcomes, scope
from rules_table import CALLS, EPSILON

from safeselect import LedgerError
from safeselect.ledger.stores.memory import MemoryStore

pytestmark = pytest.mark.claim("C8")

BOTH = {"epsilon": 1, "delta": "1/50", "own_delta": "1/50"}


@contextmanager
def second_write_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write, count = MemoryStore.write, []

    def fail(self: MemoryStore, work: Any) -> Any:
        count.append(1)
        if len(count) == 2:
            raise LedgerError("the disk is full")
        return write(self, work)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "write", fail)
        yield


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.claim("C8")
def test_what_cannot_be_recorded_is_not_released(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = new(":memory:", **BOTH)
    with second_write_fails(monkeypatch), pytest.raises(LedgerError, match="the disk is full"):
        CALLS[name].run(ledger=scope(ledger))
    assert outcomes(ledger) == ["charged"]  # and one outcome is tried, as for a refusal
    assert ledger.balance("a").spent["epsilon"] == Fraction(EPSILON)
