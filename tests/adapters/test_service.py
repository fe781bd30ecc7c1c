"""The example of a service, on a real server: asked by many while its workers are killed."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from postgres import Server, binaries

import service_load
from safeselect.cli import main

REQUIRED = os.environ.get("SAFESELECT_REQUIRE_POSTGRES", "") != ""
MISSING = [
    name
    for name, there in (
        ("psycopg", importlib.util.find_spec("psycopg")),
        ("FastAPI", importlib.util.find_spec("fastapi")),
        ("uvicorn", importlib.util.find_spec("uvicorn")),
        ("PostgreSQL's programs", binaries()),
        ("Linux's /proc", sys.platform == "linux"),
    )
    if not there
]
pytestmark = [
    pytest.mark.skipif(
        bool(MISSING) and not REQUIRED, reason=f"not installed: {', '.join(MISSING)}"
    ),
    pytest.mark.slow("starts PostgreSQL, and a service that loses its workers"),
]
LONG = bool(os.environ.get("SAFESELECT_LONG"))
TIGHT = "7/20"  # seven answers of 1/20, for all analysts together


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = binaries()
    assert programs is not None, "SAFESELECT_REQUIRE_POSTGRES is set, and there is no PostgreSQL"
    started = Server(programs)
    try:
        started.start(client_connection_check_interval="200ms", max_connections="60")
        yield started
    finally:
        started.remove()


def serve(
    server: Server, tmp_path: Path, *budgets: str, longest: int = service_load.LONGEST
) -> service_load.Service:
    """The service on a new ledger."""
    import psycopg
    from prepare import main as prepare

    with psycopg.connect(server.conninfo) as connection:
        connection.execute("DROP SCHEMA IF EXISTS ledger CASCADE")
        connection.execute("DROP SCHEMA IF EXISTS service CASCADE")
    prepare(server.conninfo, *budgets)
    service = service_load.Service(server.conninfo, 2, tmp_path / "service.log", longest)
    service.wait()
    return service


def test_killed_workers_lose_no_answer_and_charge_nothing_twice(
    server: Server, tmp_path: Path
) -> None:
    service = serve(server, tmp_path, "1000", "1000")
    clients, every = (200, 1.0) if LONG else (8, 0.8)
    try:
        load = service_load.run(
            service, clients=clients, questions=2, every=every, kills=30 if LONG else 3
        )
    finally:
        service.stop()
    said, figures = service_load.wrong(load, server.conninfo)
    assert said == []
    assert len(load.answers) >= 2 * clients
    assert load.kills >= 3
    assert load.dropped > 0
    assert 500 not in load.statuses
    assert figures["charges"] >= len(load.answers)


def test_both_budgets_end_exactly_and_others_are_refused(server: Server, tmp_path: Path) -> None:
    service = serve(server, tmp_path, TIGHT, "2/20")
    load = service_load.Load()
    try:
        threads = [
            threading.Thread(target=service_load.client, args=(service, load, number, 3))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        service.stop()
    said, figures = service_load.wrong(load, server.conninfo)
    assert said == []
    assert figures["charges"] == len(load.answers) == 7  # and not 8, two for each of four
    assert load.statuses[403] == 24 - 7


def test_who_asks_what(
    server: Server, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    service = serve(server, tmp_path)
    ada, ben = service.tokens["ada"], service.tokens["ben"]
    key, body = f"/releases/{uuid4()}", {"region": "north", "k": 1}
    try:
        first = service.ask("PUT", key, ada, body)
        assert first[0] == 200
        assert service.ask("PUT", key, ada, body) == first
        assert service.ask("PUT", key, ada, {"region": "south", "k": 1})[0] == 422
        assert service.ask("PUT", key, ada, {"region": "north", "k": 2})[0] == 422
        # The key of another is a request of one's own: nobody sees or uses up what is not theirs.
        other = service.ask("PUT", key, ben, body)
        assert other[0] == 200
        assert other[1] != first[1]
        for path, token, asked, status in (
            (key, "no token", body, 401),
            (key, "", body, 401),
            ("/releases/1", ada, body, 422),
            (key, ada, {"region": "north"}, 422),
            (key, ada, {"region": "north", "k": 99}, 422),
            (key, ada, {"region": "north", "k": 1, "epsilon": "9"}, 422),
            (key, ada, {"region": "'; DROP TABLE", "k": 1}, 422),
        ):
            assert service.ask("PUT", path, token, asked)[0] == status, asked
        head = json.loads(service.ask("GET", "/head", "")[1])["head"]
    finally:
        service.stop()
    code = audited(server, tmp_path, first[1], head)
    assert code == 0, capfdbinary.readouterr().out.decode()


def audited(server: Server, tmp_path: Path, release: str, head: str) -> int:
    """What the client has is enough for an auditor with the log, a head and a certificate."""
    from audited import certificate

    from safeselect import Ledger
    from safeselect.adapters.postgres import PostgresStore
    from safeselect.ledger import log_lines

    ledger = Ledger.open(PostgresStore(server.conninfo, schema="ledger"))
    for name, text in (
        ("r.json", release),
        ("log", "".join(log_lines(ledger.records()))),
        ("c.json", certificate()),
    ):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("r.json", "log", "c.json")]
    return main(["audit", files[0], "--log", files[1], "--head", head, "--certificate", files[2]])


BLOCKED = """
CREATE FUNCTION service.wait() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END$$;
CREATE TRIGGER wait BEFORE UPDATE OF output ON service.requests
FOR EACH ROW EXECUTE FUNCTION service.wait()"""


def test_a_request_that_died_before_its_answer_is_told_and_asked_anew(
    server: Server, tmp_path: Path
) -> None:
    """Killed between charge and outbox, which waits here for a lock that the test holds."""
    import psycopg

    from safeselect import Ledger
    from safeselect.adapters.postgres import PostgresStore

    service = serve(server, tmp_path, "100", "30", longest=3)
    token, body, load = service.tokens["ada"], {"region": "north", "k": 1}, service_load.Load()
    path = f"/releases/{uuid4()}"
    ledger = Ledger.open(PostgresStore(server.conninfo, schema="ledger"))
    try:
        with psycopg.connect(server.conninfo, autocommit=True) as blocker:
            blocker.execute(BLOCKED)
            blocker.execute("SELECT pg_advisory_lock(7)")
            asking = threading.Thread(target=tried, args=(service, path, token, body))
            asking.start()
            until(lambda: ledger.scopes()["visits"].spent["epsilon"] > 0)
            assert service.ask("PUT", path, token, body)[0] == 425
            for worker in service.workers():
                os.kill(worker, signal.SIGKILL)
            asking.join()
            # The server notices that nobody waits for the blocked statement any more.
            until(
                lambda: (
                    blocker.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
                    == (0,)
                )
            )
        service.wait()
        until(lambda: service.ask("PUT", path, token, body)[0] == 410)
        answered = service_load.asked(service, load, "ada", "north")
    finally:
        service.stop()
    assert answered is not None
    load.answers[answered[0]], load.asked[answered[0]] = answered[1], "north"
    said, figures = service_load.wrong(load, server.conninfo)
    assert said == []
    assert (figures["charges"], figures["released"], figures["charged and died"]) == (2, 1, 1)


def tried(service: service_load.Service, path: str, token: str, body: object) -> None:
    """Ask where the connection breaks."""
    with suppress(OSError, http.client.HTTPException):
        service.ask("PUT", path, token, body)


def until(true: Callable[[], bool]) -> None:
    """Wait, at most half a minute."""
    for _ in range(300):
        if true():
            return
        time.sleep(0.1)
    raise TimeoutError("it did not come true")
