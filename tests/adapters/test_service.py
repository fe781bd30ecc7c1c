"""The example of a service, on a real server: who may ask what, and how budgets end."""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from postgres import Server, needs_postgres, running_server

import service_load

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytestmark = [
    needs_postgres,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc"),
    pytest.mark.slow("starts PostgreSQL, and a service"),
]
TIGHT = "7/20"  # seven answers of 1/20, for all analysts together


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server(client_connection_check_interval="200ms", max_connections="90") as started:
        yield started


def prepared(server: Server, tmp_path: Path, *budgets: str) -> service_load.Setup:
    """A new ledger, with its witness and its tables."""
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        for schema in ("ledger", "service", "witness"):
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")  # type: ignore[arg-type]
    setup = service_load.Setup.of(server.conninfo, tmp_path, *budgets)
    setup.prepare()
    return setup


def serve(
    server: Server, tmp_path: Path, *budgets: str, longest: int = service_load.LONGEST
) -> service_load.Service:
    """The service on a new ledger."""
    setup = prepared(server, tmp_path, *budgets)
    service = service_load.Service(setup, 2, tmp_path / "service.log", longest)
    service.wait()
    return service


def test_both_budgets_end_exactly_and_others_are_refused(server: Server, tmp_path: Path) -> None:
    service, load = serve(server, tmp_path, TIGHT, "2/20"), service_load.Load()
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


def test_one_service_answers_who_may_ask_reads_strictly_and_keeps_little(
    server: Server, tmp_path: Path
) -> None:
    service = serve(server, tmp_path)
    try:
        who_asks_what(service)
        what_is_asked_is_read_strictly_and_not_sent_back(service)
        a_long_body_is_refused_and_not_kept(service)
    finally:
        service.stop()


def who_asks_what(service: service_load.Service) -> None:
    ada, ben = service.tokens["ada"], service.tokens["ben"]
    key, body = f"/releases/{uuid4()}", {"region": "north", "k": 1}
    first = service.ask("PUT", key, ada, body)
    assert (first[0], service.ask("PUT", key, ada, body)) == (200, first)
    assert service.ask("PUT", key, ada, {"region": "south", "k": 1})[0] == 422
    assert service.ask("PUT", key, ada, {"region": "north", "k": 2})[0] == 422
    # The key of another is a request of one's own: nobody sees or uses up what is not theirs.
    other = service.ask("PUT", key, ben, body)
    assert other[0] == 200
    assert other[1] != first[1]
    for path, token, asked, status in (
        (key, "no token", body, 401),
        ("/releases/1", ada, body, 422),
        (key, ada, {"region": "north", "k": 99}, 422),
    ):
        assert service.ask("PUT", path, token, asked)[0] == status, asked
    assert service.ask("GET", "/head", "")[0] == 401
    assert "head" in json.loads(service.ask("GET", "/head", ben)[1])


def what_is_asked_is_read_strictly_and_not_sent_back(service: service_load.Service) -> None:
    ada = service.tokens["ada"]

    def put(body: bytes, headers: dict[str, str] | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        try:
            sent = {"Authorization": f"Bearer {ada}"} if headers is None else headers
            connection.request("PUT", f"/releases/{uuid4()}", body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    fine = b'{"region": "north", "k": 1}'
    for body in (
        *(b'{"region": "north", "k": 1e400}', b'{"region": "north", "k": NaN}'),
        *(b'{"region": "north", "k": "1"}', b'{"region": "north", "k": true}'),
        *(b'{"region": "north", "k": 1, "k": 1}', b'{"region": "north", "k": 1, "secret": 2}'),
        *(b'{"region": "secret", "k": 1}', b'"secret', b"", b"\xff", b"[" * 900),
    ):
        status, said = put(body)
        assert status == 422, body
        assert "secret" not in said
        assert json.loads(said) == {
            "detail": "the question is wrong, or another one was asked under this key"
        }
    assert put(fine + b" " * 1000)[0] == 413
    for headers in (
        {},
        {"Authorization": ada},
        {"Authorization": f"Basic {ada}"},
        {"Authorization": f"Bearer{ada}"},
        {"Authorization": f"Bearer {ada}x"},
        {"Authorization": "Bearer "},
    ):
        assert put(fine, headers)[0] == 401, headers
    assert put(fine, {"Authorization": f"bearer {ada}"})[0] == 200
    for path, status in (("/health", 200), ("/ready", 200), ("/docs", 401), ("/nothing", 401)):
        assert service.ask("GET", path, "")[0] == status, path
    assert service.ask("GET", "/openapi.json", ada)[0] == 404


def resident(service: service_load.Service) -> int:
    """Bytes that the workers keep in memory."""
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in service.workers()]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


def a_long_body_is_refused_and_not_kept(service: service_load.Service) -> None:
    before, most, status, size = resident(service), 0, 0, 2**20
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        with suppress(OSError, http.client.HTTPException):
            connection.putrequest("PUT", f"/releases/{uuid4()}")
            connection.putheader("Authorization", f"Bearer {service.tokens['ada']}")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            for _ in range(300):
                connection.send(b"%x\r\n%s\r\n" % (size, b" " * size))
                most = max(most, resident(service))
        with suppress(OSError, http.client.HTTPException):
            status = connection.getresponse().status
        most = max(most, resident(service))
    finally:
        connection.close()
    assert status in (0, 413)
    assert most - before < 30 * 2**20


def test_it_is_prepared_twice_signed_approved_and_witnessed(server: Server, tmp_path: Path) -> None:
    import psycopg
    from answering import Releases, read_key
    from database import Witness

    from safeselect import Ledger, LedgerRolledBack, ParameterError
    from safeselect.ledger.stores.postgres import PostgresStore

    setup = prepared(server, tmp_path)
    with psycopg.connect(server.conninfo, autocommit=True) as connection:  # as if it had died
        connection.execute("DELETE FROM witness.newest; DROP TABLE service.analysts")
        lost = setup.prepare()
        assert connection.execute("SELECT head FROM witness.newest").fetchall() == [(lost,)]
    as_service = server.conninfo.replace("user=owner", "user=service")
    releases, renewed = (
        Releases(as_service, as_service, str(setup.key), longest=8) for _ in range(2)
    )
    first, head = releases.answer("ada", "k", "north", 1), releases.ledger.head
    assert (setup.prepare(), releases.answer("ada", "k", "north", 1)) == (head, first)
    setup.content["analysts"]["ada"]["token_sha256"] = "0" * 64
    assert setup.prepare() == head
    assert renewed.analyst(setup.tokens["ada"]) is None
    assert renewed.analyst(setup.tokens["ben"]) == "ben"
    setup.content["analysts"]["eve"] = {"epsilon": "1", "token_sha256": "1" * 64}
    with pytest.raises(SystemExit, match="approvers must sign other budgets first: analyst eve"):
        setup.prepare()
    store = PostgresStore(server.conninfo, schema="ledger")
    ledger = Ledger.open(store, signer=read_key(str(setup.key)))
    record = next(iter(ledger.records())).content
    assert record["signer"]["public_key"] == read_key(str(setup.key)).public_key.hex()
    assert record["approvers"]["keys"] == setup.content["approvers"]
    with pytest.raises(ParameterError, match="sign new scopes"):
        ledger.reopen("visits", reason="x")
    releases.close()
    renewed.close()
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        assert connection.execute("SELECT head FROM witness.newest").fetchall() == [(head,)]
        connection.execute("DELETE FROM witness.newest")
        with pytest.raises(SystemExit, match="the witness has lost its head"):
            setup.prepare()
        place, hash_ = head.split(":")
        connection.execute("INSERT INTO witness.newest VALUES (%s)", (f"{int(place) + 5}:{hash_}",))
    cut = pytest.raises(LedgerRolledBack, match="its last records were removed")
    with closing(Witness(as_service)) as witness, cut:
        Ledger.open(store, signer=read_key(str(setup.key)), witness=witness)
    ledger.close()
