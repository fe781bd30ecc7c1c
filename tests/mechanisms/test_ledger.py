"""`ledger=`: charged before the first bit, whatever happens then, and nothing private in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest
from ledgers import new, outcomes, scope
from rules_table import CALLS, EPSILON
from tapes import TapeSource

import safeselect
from safeselect import LedgerError, SourceError
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
    # The charge stands; that there is no output could be written after all.
    assert outcomes(ledger) == ["charged", "error"]
    assert ledger.balance("a").spent["epsilon"] == Fraction(EPSILON)


# ----------------------------------------------------------------------------------- sessions


ABOVE: dict[str, Any] = {"threshold": 5, "k": 2, "epsilon": "1/2", "sensitivity": 1}
SESSIONS: dict[str, Callable[..., Any]] = {
    "sparse_vector": lambda **more: safeselect.SparseVector(**ABOVE, **more),
    "adaptive_sparse_vector": lambda **more: safeselect.AdaptiveSparseVector(**ABOVE, **more),
    "pay_what_you_get": lambda **more: safeselect.PayWhatYouGet(
        outcomes=6, queries=2, epsilon="1/2", delta="1e-9", **more
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_not_recorded_as_opened_if_its_source_refuses_to_begin(name: str) -> None:
    for good in range(3):
        ledger = new(":memory:", **BOTH)

        class Refusing(TapeSource):
            def begin(self, good: int = good) -> bytes:
                if self.begun >= good:
                    raise SourceError("refused")
                return super().begin()

        try:
            SESSIONS[name](source=Refusing(), ledger=scope(ledger))
        except SourceError:
            assert outcomes(ledger) == []
        else:
            assert outcomes(ledger) == ["charged"]  # open until it is settled
