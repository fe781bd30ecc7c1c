"""A ledger in PostgreSQL, on a real server that the tests start."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from ledgers import TERMS, new, pure, scope
from postgres import Server, needs_postgres
from workers import ended, kinds, start_child

from safeselect import Budget, BudgetError, Ledger, LedgerBusy, LedgerError, ParameterError
from safeselect.ledger.book import each_row
from safeselect.ledger.store import Journal
from safeselect.ledger.stores.postgres import PostgresStore


@pytest.fixture
def store(server: Server, request: pytest.FixtureRequest) -> PostgresStore:
    """A schema that no other test uses."""
    return PostgresStore(server.conninfo, schema=f"s{abs(hash(request.node.name))}")


def sql(server: Server, *statements: str) -> Any:
    """Run statements as the owner of the database; the rows of the last one, if it has any."""
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else None


def schema(store: PostgresStore) -> str:
    return repr(store).split("'")[1]


def told(server: Server, store: PostgresStore, option: str) -> PostgresStore:
    """The same schema, by connections with an option of the server."""
    return PostgresStore(f"{server.conninfo} options='-c {option}'", schema=schema(store))


def test_without_psycopg_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ParameterError, match=r"psycopg is required; run .*\[postgres\]"):
        PostgresStore("", schema="s")


@needs_postgres
def test_eight_processes_never_overspend(store: PostgresStore) -> None:
    ledger = new(store, epsilon=1)

    def spend() -> None:
        there = scope(Ledger.open(store))
        while True:
            try:
                there.pay(pure("1/40")).released("blue", b"s" * 32)
            except BudgetError as error:
                if error.left == {"epsilon": 0}:
                    return
                raise

    children = [start_child(spend) for _ in range(8)]
    assert [ended(child) for child in children] == [0] * 8
    assert kinds(ledger).count("charged") == kinds(ledger).count("released") == 40
    assert ledger.check().scopes["a"].left == {"epsilon": 0}


@needs_postgres
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {0}.records SET body = 'x'",
        "DELETE FROM {0}.records WHERE seq = 3",
        "INSERT INTO {0}.records VALUES (9, 'x', 'x', '')",
        "INSERT INTO {0}.records SELECT 4, body, hash, '' FROM {0}.records WHERE seq = 3",
    ],
)
def test_rows_are_only_appended(server: Server, store: PostgresStore, statement: str) -> None:
    import psycopg

    ledger = new(store)
    scope(ledger).pay(pure()).released("blue", b"s" * 32)
    head = ledger.head
    with pytest.raises(psycopg.DatabaseError, match=r"only appended|duplicate key"):
        sql(server, statement.format(schema(store)))
    assert ledger.check(head=head).head == head


@needs_postgres
def test_readers_beside_a_writer_raise_no_false_alarm(store: PostgresStore) -> None:
    """A snapshot is taken first and read later: what was seen since is not missing from it."""
    ledger = new(store, epsilon=10**6)
    there, over, wrong, looked = scope(ledger), threading.Event(), [], []

    def read() -> None:
        try:
            while not over.is_set():
                looked.append(ledger.balance("a"))
                ledger.check(head=ledger.head)
        except LedgerError as error:
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for charges in range(1000):  # on a busy machine until the readers have had their turns
        there.pay(pure())
        if charges >= 60 and len(looked) > 5:
            break
    over.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert len(looked) > 5


@needs_postgres
def test_a_ledger_may_begin_with_more_scopes_than_one_statement_takes(store: PostgresStore) -> None:
    budget = Budget(**TERMS, epsilon=1)
    assert Ledger.create(store, {f"{name}": budget for name in range(1700)}).check().count == 1701


@needs_postgres
def test_a_warning_during_the_commit_withholds_the_answer(
    server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby that was not waited for, say: what was committed may be lost."""
    import psycopg

    ledger = new(store, epsilon=1)
    there = scope(ledger)
    pending, execute, writing = there.pay(pure()), psycopg.ClientCursor.execute, list[str]()

    def warns(self: Any, query: Any, *more: Any, **options: Any) -> Any:
        writing.extend(["begin_charge"] * ("begin_charge" in query))
        if (query.endswith("COMMIT") and writing) or ".settle(" in query:
            execute(self, "DO $$BEGIN RAISE WARNING 'canceling the wait'; END$$")
        return execute(self, query, *more, **options)

    chatty = "client_min_messages=log -c log_min_duration_statement=0"
    scope(Ledger.open(told(server, store, chatty))).pay(pure()).released("x")  # no warnings
    for is_alone in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(psycopg.ClientCursor, "execute", warns)
            patch.setattr(store, "_queued", 0 if is_alone else 9)
            with pytest.raises(LedgerError, match="reported a warning"):
                pending.released("blue", b"s" * 32)
        assert ledger.check().pending == set()
        pending = there.pay(pure())


@needs_postgres
def test_a_lock_that_is_held_and_a_server_that_is_not_there_are_clear_errors(
    server: Server, store: PostgresStore
) -> None:
    new(store)
    impatient = Ledger.open(PostgresStore(server.conninfo, schema=schema(store), wait=1))
    head = impatient.head

    hasty = Ledger.open(told(server, store, "statement_timeout=200"))
    said = "is locked by another writer.*: nothing was charged, so try again"

    def work(journal: Journal) -> None:
        list(each_row(journal))  # who is at the end has the lock
        for each in (impatient, hasty):
            with pytest.raises(LedgerBusy, match=said):
                scope(each).pay(pure())
        assert impatient.head == head  # who only reads need not wait

    store.write(work)
    scope(impatient).pay(pure())
    pending, held = scope(hasty).pay(pure()), list[threading.Thread]()

    def longer(journal: Journal) -> None:
        list(each_row(journal))
        held.append(threading.Thread(target=pending.released, args=("x",)))
        held[0].start()
        held[0].join(1)
        assert held[0].is_alive()

    store.write(longer)
    held[0].join()
    assert kinds(hasty)[-1] == "released"  # its server canceled it several times meanwhile
    nowhere = PostgresStore("host=/nowhere password=hunter2", schema="s")
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        Ledger.open(nowhere)
    assert "hunter2" not in str(caught.value) + repr(nowhere)
    assert caught.value.__suppress_context__


@needs_postgres
def test_another_schema_is_left_alone(server: Server, store: PostgresStore) -> None:
    name = schema(store)
    sql(server, f"CREATE SCHEMA {name}", f"CREATE TABLE {name}.records (x text)")
    with pytest.raises(LedgerError, match="already exists"):
        new(store)
    with pytest.raises(LedgerError, match="does not exist or is another's"):
        Ledger.open(store)
    sql(server, f"CREATE TABLE {name}.format AS SELECT 2 AS version")
    with pytest.raises(LedgerError, match="does not have format 1"):
        Ledger.open(store)
    assert sql(server, f"SELECT count(*) FROM {name}.records") == [(0,)]  # noqa: S608
    with pytest.raises(LedgerError, match=r"schema order of PostgreSQL .* a reserved word of SQL"):
        new(PostgresStore(server.conninfo, schema="order"))


@needs_postgres
@pytest.mark.parametrize("wrong", ["", "A", "a b", 'a"; DROP', "a" * 64, 7, None, "é"])
def test_a_schema_has_a_plain_name(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="schema must be a plain lower-case name"):
        PostgresStore("", schema=wrong)


@pytest.mark.slow("starts a server of its own")
@needs_postgres
def test_a_server_that_does_not_wait_for_its_disk_is_refused(
    server: Server, store: PostgresStore
) -> None:
    ledger = new(store)
    server.stop()
    server.start(fsync="off")
    try:
        with pytest.raises(LedgerError, match="fsync off"):
            scope(ledger).pay(pure())
    finally:
        server.stop()
        server.start()
    scope(ledger).pay(pure())
