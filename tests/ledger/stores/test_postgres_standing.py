"""On a server too an error after the charge says that the charge stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ledgers import new, scope
from postgres import Server, needs_postgres, running_server
from workers import kinds

import safeselect
from safeselect import ChargeStands, Ledger, LedgerBusy
from safeselect.ledger import pending as pending_module
from safeselect.ledger.stores.postgres import PostgresStore

pytestmark = [needs_postgres, pytest.mark.claim("C8")]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def test_a_row_that_is_locked_after_the_charge(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(pending_module, "OUTCOME_WAIT", 0)
    made = new(PostgresStore(server.conninfo, schema="standing"), epsilon=1)
    ledger = Ledger.open(PostgresStore(server.conninfo, schema="standing", wait=1))
    kept: list[Any] = []
    with psycopg.connect(server.conninfo) as other:

        def outbox(request: str, charge: int, salt: bytes, output: str) -> None:
            kept.append((charge, salt, output))
            other.execute("SELECT FROM standing.state FOR UPDATE")

        cost: dict[str, Any] = {"epsilon": "1/10", "sensitivity": 1}
        asked = scope(ledger).asked("r", outbox=outbox)
        with pytest.raises(ChargeStands, match="record 2 stands") as caught:
            safeselect.permute_and_flip([1, 2], **cost, ledger=asked)
        assert caught.value.charge == 2
        there = scope(ledger)
        with pytest.raises(LedgerBusy, match="nothing was charged"):
            safeselect.permute_and_flip([1, 2], **cost, ledger=there)
        other.rollback()
    assert kinds(made)[2:] == ["charged"]
    ledger.finish(*kept[0])
    assert kinds(made)[2:] == ["charged", "released"]
