"""`safeselect ledger recall`, `ledger correct` and `safeselect advisories`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import new, pem, scope
from postgres import needs_postgres, running_server
from postgres_roles import Place, make_roles
from recalled import advisory

from safeselect import Ledger, permute_and_flip
from safeselect.cli import main
from safeselect.ledger import Ed25519Signer, correct

Run = Callable[..., tuple[int, str, str]]
DOUBLE = {"epsilon_times": "2", "rho_times": "4"}


def release(ledger: Ledger) -> None:
    permute_and_flip([1, 2, 99], epsilon="2/5", sensitivity=1, ledger=scope(ledger))


def told(affects: list[Any], restated: Any = DOUBLE, **other: str) -> None:
    Path("advisory.json").write_text(json.dumps(advisory(affects, restated, **other)))


ONE = [{"mechanism": {"is": ["permute_and_flip/1"]}}]


def test_a_recall_lists_what_is_affected_and_writes_nothing(run: Run) -> None:
    ledger = new("l")
    release(ledger)
    release(ledger)
    before = Path("l").read_bytes()
    told(ONE)
    code, text, _ = run("recall", "advisory.json", "l")
    assert code == 3
    day = next(iter(ledger.records())).content["utc"]
    for place in ("2", "4"):
        promised = "LaplaceDominated: ε = 0.4 | LaplaceDominated: ε = 0.8"
        row = f"  {place} | {day} | permute_and_flip/1 | released | affected | {promised}\n"
        assert row in text
    assert "Scopes that are over their budget: a\n" in text
    assert f"up to its head {ledger.head}\nReleases: 2 affected, 0 possibly, 0 not (" in text
    told([{"mechanism": {"is": ["x"]}}])
    assert (run("recall", "advisory.json", "l")[0], Path("l").read_bytes()) == (0, before)
    told([{"parameters.unheard": {"is": ["x"]}}])
    assert run("recall", "advisory.json", "l", "l")[1].count("budget: a (possibly)") == 2
    Path("advisory.json").write_text("{}")
    assert (run("recall", "advisory.json", "l")[0], run("recall", "nothing.json", "l")[0]) == (2, 2)
    told(ONE)
    Path("l").write_bytes(before.replace(b'"2/5"', b'"1/5"', 1))
    assert run("recall", "advisory.json", "l")[0] == 3


@pytest.mark.parametrize("is_signed", [False, True])
def test_the_owner_appends_a_correction(run: Run, is_signed: bool) -> None:
    key: list[str] = []
    signer = None
    if is_signed:
        Path("key").write_bytes(pem(b"k" * 32))
        signer, key = Ed25519Signer(b"k" * 32, key_id="k"), ["--key", "key"]
    ledger = new("l", signer=signer)
    release(ledger)
    spent = ledger.balance("a").spent
    told(ONE, summary="too little\n<noise>\x07" + " x" * 200)
    if is_signed:
        assert run("correct", "advisory.json", "l")[0] == 2
    code, head, said = run("correct", "advisory.json", "l", *key)
    assert (code, head.strip()) == (0, Ledger.open("l").head), said
    assert "charges in the correction: 1;" in said
    *_, last = Ledger.open("l").records()
    assert last.content["kind"] == "corrected"
    assert (last.content["advisory"], last.content["charges"]) == ("EXAMPLE-1", ["2"])
    again = Ledger.open("l", signer=signer)
    assert again.balance("a").spent == spent
    release(again)  # nothing else changed
    assert "EXAMPLE-1 affects charges (1 in all): too little <noise>" in run("show", "l")[1]
    told([{"mechanism": {"is": ["x"]}}])
    assert run("correct", "advisory.json", "l", *key)[0] == 2
    about: dict[str, Any] = {"advisory": "x", "sha256": "0" * 64, "reason": "y", "signer": signer}
    for charges in ([99], [-1], ["x"], []):
        with pytest.raises(ValueError, match="no charges to correct, or one is not in this ledger"):
            correct("l", charges=charges, **about)
    correct("l", charges=[2] * 10_001, **about)
    kinds = [record.content["kind"] for record in Ledger.open("l").records()]
    assert kinds[-2:] == ["corrected"] * 2
    lines = Path("l").read_bytes()
    Path("l").write_bytes(lines.replace(b'"charges":["2"]', b'"charges":["x"]'))
    assert run("verify", "l")[0] == 3


@needs_postgres
def test_the_owner_of_a_server_corrects(run: Run) -> None:
    with running_server() as server:
        make_roles(server)
        ledger = Place(server, "corrected").make()
        release(ledger)
        told(ONE)
        url = f"postgresql://@/postgres?host={server.folder}&schema=corrected&user="
        assert run("recall", "advisory.json", f"{url}lr")[0] == 3
        for role in ("lr", "lc", "la"):
            assert run("correct", "advisory.json", f"{url}{role}")[0] == 5
        assert run("correct", "advisory.json", f"{url}owner&options=-c%20role%3Dlo")[0] == 0
        release(ledger)
        assert [each.content["kind"] for each in ledger.records()][4] == "corrected"


def test_advisories_say_what_touches_this_version(
    run: Run, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for affects, code, said in (
        ([{"library.version": {"introduced": "0"}}], 3, "affects this version"),
        ([{"library.version": {"introduced": "99"}}], 0, "does not affect this version"),
        (ONE, 3, "affects some releases made with this version"),
        ([{"library.version": {"introduced": "99"}, **ONE[0]}], 0, "does not affect this version"),
    ):
        told(affects)
        capfdbinary.readouterr()
        assert main(["advisories", "advisory.json"]) == code
        assert f"EXAMPLE-1  {said}: too little noise\n" == capfdbinary.readouterr().out.decode()
