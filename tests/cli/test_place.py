"""A ledger is a file or a URL of PostgreSQL; a URL that may hold a password is never repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledgers import pem, scope
from postgres import Server, needs_postgres, running_server
from postgres_roles import CHARGER, READER, Place, make_roles

from safeselect import permute_and_flip
from safeselect.cli import main
from safeselect.cli._place import name_of, place_of
from safeselect.errors import InputError
from safeselect.ledger import Ed25519Signer

Run = Callable[..., tuple[int, str, str]]

SECRETS = [
    "postgresql://user:hunter2@host/db?schema=s",
    "postgres://user:hunter2@host:5432/db?schema=s",
    "POSTGRESQL://user:hunter2@host/db?schema=s",
    "postgresql://user:hun/hunter2@host/db?schema=s",
    "postgresql://user:hun@hunter2@host/db?schema=s",
    "postgresql://user:hunter2#@host/db?schema=s",
    "postgresql://user:hunter2?@host/db?schema=s",
    "postgresql://user%3Ahunter2@host/db?schema=s",
    "postgresql://:hunter2@host/db?schema=s",
    "postgresql://user:hunter2@h1,h2/db?schema=s",
    "postgresql://user:hun\nhunter2@host/db?schema=s",
    "postgresql://host/db?schema=s&password=hunter2",
    "postgresql://host/db?schema=s&pass%77ord=hunter2",
    "postgresql://host/db?schema=s&sslpassword=hunter2",
    "postgresql:/user:hunter2@host/db",
    " postgresql://user:hunter2@host/db?schema=s",
    "postgresql+psycopg://user:hunter2@host/db?schema=s",
    "pg://user:hunter2@host/db",
    "jdbc:postgresql://host/db?user=user&password=hunter2",
    "postgresql://host/db?schema=s;password=hunter2",
    "host=h user=u password=hunter2",
    "service=s  PassWord = 'hunter2'",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_url_that_may_hold_a_password_is_refused_and_not_repeated(
    secret: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Wherever it stands, also where the parser would quote it."""
    for arguments in (
        ["ledger", "show", secret],
        ["ledger", "show", "file", secret],
        ["ledger", "export", f"--head={secret}", "file"],
        ["audit", "release.json", "--log", secret],
        ["audit", "release.json", f"--log={secret}"],
        ["select", "x.csv", "--ledger", secret, "--scope", "a"],
        [secret],
    ):
        assert main(arguments) == 2
        out, said = capfdbinary.readouterr()
        assert out == b""
        assert b"without a password; put the password in" in said
        assert b"hunter2" not in said
    with pytest.raises(InputError, match="PGPASSWORD"):
        place_of(secret)


def test_a_path_is_a_path_and_a_url_names_its_schema() -> None:
    pytest.importorskip("psycopg")
    for path in ("budget.ledger", "/a/b:c@d", "./postgresql"):
        assert place_of(path) == path
    assert name_of("/a/budget.ledger") == "budget.ledger"
    with pytest.raises(InputError, match="has no schema"):
        place_of("postgresql://host/db")
    found = place_of(
        "postgresql://user@host:5432/db?host=%2Ftmp%2Fx&schema=wards&options=-c%20a%3Db"
    )
    assert name_of(found) == "schema wards of PostgreSQL"
    assert found._pool._conninfo == (  # type: ignore[union-attr]
        "postgresql://user@host:5432/db?host=%2Ftmp%2Fx&options=-c%20a%3Db"
    )


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        make_roles(started)
        yield started


def url(place: Place, role: str) -> str:
    return f"postgresql://{role}@/postgres?host={place.server.folder}&schema={place.name}"


@needs_postgres
def test_every_reading_command_takes_a_server(run: Run, server: Server) -> None:
    place = Place(server, "read")
    ledger = place.make()
    result = permute_and_flip([1, 2, 99], epsilon="1/2", sensitivity=1, ledger=scope(ledger))
    Path("release.json").write_text(result.to_json())
    reader, head = url(place, READER), ledger.head
    assert run("verify", reader, "--head", head)[:2] == (0, f"head {head}\n")
    assert run("verify", reader, "--head", head.partition(":")[2])[0] == 0
    assert run("verify", reader, "--head", "0" * 64)[0] == 3
    for page in ([], ["--html"]):
        code, out, _ = run("show", reader, *page)
        assert (code, "schema read of PostgreSQL" in out, "0.5 of 1" in out) == (0, True, True)
    wanted = ["--scope", "a", "-k", "2", "--epsilon", "1/10", "--mechanism", "permute_and_flip"]
    assert run("plan", reader, *wanted)[0] == 0
    code, log, _ = run("export", reader)
    Path("log.jsonl").write_text(log)
    assert code == 0
    assert run("verify", "log.jsonl", "--head", head)[:2] == (0, f"head {head}\n")
    for given in (reader, "log.jsonl"):
        assert main(["audit", "release.json", "--log", given, "--head", head]) == 3
    # A reader charges nothing; who may, charges by the same URL.
    Path("s.csv").write_text("label,score\nblue,9\nred,1\n")
    choose = ["select", "s.csv", "--label", "label", "--score", "score", "--sensitivity", "1"]
    choose += ["--epsilon", "1/4", "--scope", "a", "--ledger"]
    assert main([*choose, reader]) == 5
    assert main([*choose, url(place, CHARGER)]) == 0
    assert (run("show", url(place, "nobody_at_all"))[0], run("repair", reader)[0]) == (5, 5)
    assert main(["audit", "release.json", "--log", url(Place(server, "none"), READER)]) == 5


@pytest.mark.parametrize("where", ["file", pytest.param("server", marks=needs_postgres)])
def test_a_budget_is_proposed_approved_and_enacted(
    run: Run, where: str, request: pytest.FixtureRequest
) -> None:
    place, public = "b.ledger", []
    if where == "server":
        there = Place(request.getfixturevalue("server"), "approved")
        place = url(there, "owner") + "&options=-c%20role%3Dlo"
    for name in ("ann", "ben"):
        key = Ed25519Signer(name.ljust(32).encode(), key_id="x")
        Path(name).write_bytes(pem(name.ljust(32).encode()))
        public += ["--approver", key.public_key.hex()]
    terms = ["--unit", "person", "--neighbours", "add_remove", "--epsilon", "1"]
    made = run("create", place, "--scope", "a", *terms, "--ceiling", "3", *public)
    assert made[0] == 0, made
    assert run("add", place, "--scope", "b", *terms)[0] == 2
    raising = ["--scope", "a", "--limit", "epsilon", "--to", "2", "--reason", "a second year"]
    for words, said in (
        (["limit", place, *raising], '"after":"2","before":"1"'),
        (["scope", place, "--scope", "b", *terms], '"scope":"b"'),
    ):
        code, text, told = run("propose", *words, "--within", "3")
        assert (code, "it expires after record " in told) == (0, True), told
        Path("proposal").write_text(text)
        for name in ("ann", "ben"):
            code, approval, told = run("approve", "proposal", "--key", name)
            assert (code, said in told) == (0, True), told
            Path(f"{name}.json").write_text(approval)
            assert json.loads(approval).keys() == {"key", "signature", "until"}
        assert run("enact", place, "proposal", "ann.json")[0] == 2
        code, _, told = run("enact", place, "proposal", "ann.json", "ben.json")
        assert (code, "made the change; approvals: 2" in told) == (0, True), told
        assert run("enact", place, "proposal", "ann.json", "ben.json")[0] == 2
    out = run("show", place)[1]
    assert "at least 2 of 2 approvers must sign every new scope, raised limit and reopening" in out
    assert "raised epsilon from 1 to 2, approved by 2: a second year" in out
    assert "Scope b" in out
    assert run("propose", "reopening", place, "--scope", "a", "--reason", "x")[0] == 2
    assert run("approve", "proposal", "--key", "proposal")[0] == 2
    assert run("approve", "ann", "--key", "ann")[0] == 2
