"""PostgreSQL by a pool: many threads share a few connections, and others use them too."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from ledgers import new, pure, scope
from postgres import Server, needs_postgres
from workers import ended, in_threads, kinds, start_child

from safeselect import Ledger, LedgerBusy, LedgerError, ParameterError
from safeselect.ledger.stores.postgres import PostgresStore

psycopg_pool = pytest.importorskip("psycopg_pool")

pytestmark = [pytest.mark.claim("C9"), needs_postgres]

THREADS, EACH = 24, 3


def pool_of(server: Server, size: int = 2, **options: Any) -> Any:
    kwargs = options.pop("kwargs", {})
    return psycopg_pool.ConnectionPool(
        server.conninfo,
        min_size=1,
        max_size=size,
        open=True,
        kwargs={"application_name": "pooled", "client_encoding": "utf8", **kwargs},
        **options,
    )


def test_many_threads_share_two_connections(server: Server) -> None:
    import psycopg

    with pool_of(server) as pool:
        ledger = new(PostgresStore(schema="many", pool=pool), epsilon=1000)
        ledgers = [Ledger.open(PostgresStore(schema="many", pool=pool)) for _ in range(3)]
        done: list[int] = []

        def work(mine: Ledger) -> None:
            for _ in range(EACH):
                scope(mine).pay(pure()).released("x", b"s" * 32)
            done.append(1)

        in_threads(*(partial(work, ledgers[number % 3]) for number in range(THREADS)))
        assert len(done) == THREADS
        with psycopg.connect(server.conninfo) as other:
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pooled'"
            count = other.execute(query).fetchone()
        assert count is not None
        assert 1 <= count[0] <= 2
        ledger.close()
        assert ledgers[0].balance("a").spent["epsilon"] == Fraction(THREADS * EACH, 10)
        assert kinds(ledgers[1]).count("released") == THREADS * EACH


def test_connections_go_back_as_they_were(server: Server) -> None:
    from psycopg.rows import dict_row

    options = {"row_factory": dict_row, "prepare_threshold": 7}
    with pool_of(server, 1, kwargs=options) as pool:
        ledger = new(PostgresStore(schema="settings", pool=pool))
        for _ in range(2):
            scope(ledger).pay(pure()).released("x", b"s" * 32)
            with pool.connection() as connection:
                assert connection.autocommit is False
                assert connection.row_factory is dict_row
                assert connection.prepare_threshold == 7
                assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}
                path = connection.execute("SHOW search_path").fetchone()
                assert "settings" not in path["search_path"]
        with pytest.raises(LedgerError, match="already exists"):
            new(PostgresStore(schema="settings", pool=pool))
        scope(ledger).pay(pure())


def test_an_exhausted_pool_is_busy_and_a_closed_one_unusable(server: Server) -> None:
    with pool_of(server, 1, timeout=0.2) as pool:
        ledger = new(PostgresStore(schema="busy", pool=pool))
        there, count = scope(ledger), len(kinds(ledger))
        with (
            pool.connection(),
            pytest.raises(LedgerBusy, match="no free connection in time; nothing was charged"),
        ):
            there.pay(pure())
        assert len(kinds(ledger)) == count
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        there.pay(pure())
    assert not isinstance(caught.value, LedgerBusy)


def test_a_process_may_have_more_descriptors_than_select_takes(server: Server) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    new(PostgresStore(server.conninfo, schema="busy_process"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1200, limits[1]))
    opened = [os.dup(0) for _ in range(1030)]
    try:
        mine = Ledger.open(PostgresStore(server.conninfo, schema="busy_process"))
        assert scope(mine).pay(pure()).released("x").record == 3
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_child_needs_a_pool_of_its_own(server: Server) -> None:
    with pool_of(server) as pool:
        ledger = new(PostgresStore(schema="forked", pool=pool))
        there = scope(ledger)

        def work() -> None:
            with pytest.raises(LedgerError, match="forked after the store received its pool"):
                there.pay(pure())
            with pool_of(server) as own:
                mine = Ledger.open(PostgresStore(schema="forked", pool=own))
                scope(mine).pay(pure()).released("x", b"s" * 32)

        assert ended(start_child(work)) == 0
        there.pay(pure())
        assert kinds(ledger).count("charged") == 2


def test_a_key_is_replaced_on_the_server(server: Server) -> None:
    pytest.importorskip("cryptography")
    from safeselect.ledger.signing import Ed25519Signer

    old, new_key = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in (1, 2))
    with pool_of(server) as pool:
        ledger = new(PostgresStore(schema="keys", pool=pool), signer=old)
        ledger.rotate(new_key)
        scope(ledger).pay(pure())
        again = Ledger.open(PostgresStore(schema="keys", pool=pool), signer=new_key)
        assert kinds(again) == ["created", "scope", "key", "charged"]
        again.check()


def test_wrong_arguments() -> None:
    for arguments, said in (
        ({}, "pass either conninfo or pool$"),
        ({"conninfo": "x", "pool": object()}, "pass either conninfo or pool$"),
        ({"pool": object()}, "must be a psycopg ConnectionPool"),
        ({"pool": "x"}, "must be a psycopg ConnectionPool"),
        ({"conninfo": "x", "wait": 0}, "wait must be"),  # which would be no limit
    ):
        with pytest.raises(ParameterError, match=said):
            PostgresStore(schema="x", **arguments)  # type: ignore[arg-type]


def test_a_pool_with_another_encoding_is_refused(server: Server) -> None:
    with (
        pool_of(server, kwargs={"client_encoding": "latin1"}) as pool,
        pytest.raises(LedgerError, match="client_encoding=utf8"),
    ):
        new(PostgresStore(schema="latin", pool=pool))
