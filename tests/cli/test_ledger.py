"""`safeselect ledger`: exported logs, releases found again, keys, and the page for an auditor."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from ledgers import new, pure, scope

from safeselect import Budget, Ledger
from safeselect.cli import main
from safeselect.ledger import Ed25519Signer, Record, log_lines
from safeselect.ledger import record as fields
from safeselect.ledger.record import canonical, record_hash
from safeselect.ledger.stores.file import FileStore

Run = Callable[..., tuple[int, str, str]]


def test_the_page_is_json_too(run: Run, ledger: Ledger) -> None:
    """What the page for an auditor says, part by part."""
    code, out, _ = run("show", "budget.db", "--json", "--head", ledger.head)
    assert code == 0
    page = run("show", "budget.db", "--html", "--head", ledger.head)[1]
    parts = json.loads(out)
    assert len(parts) == page.count("<section>")
    assert sum(len(part["facts"]) for part in parts) == page.count("<dt>")
    assert any(part["tables"] for part in parts)


def test_an_exported_log_is_checked_like_the_ledger(run: Run, ledger: Ledger) -> None:
    code, log, said = run("export", "budget.db")
    assert (code, said) == (0, f"head {ledger.head}\n")
    Path("log.jsonl").write_text(log)
    for file in ("budget.db", "log.jsonl"):
        code, out, said = run("verify", file, "--head", ledger.head)
        assert (code, out) == (0, f"head {ledger.head}\n")
        assert said == "all 10 records are consistent\n"
    Path("log.jsonl").write_text(log.replace('"1/7"', '"1/8"', 1))
    code, out, said = run("verify", "log.jsonl")
    assert (code, out) == (3, "")
    assert "does not match its hash" in said
    Path("log.jsonl").write_text("".join(log.splitlines(keepends=True)[:-1]))
    assert run("verify", "log.jsonl")[0] == 0
    code, _, said = run("verify", "log.jsonl", "--head", ledger.head)
    assert code == 3
    assert "records were" in said


@pytest.mark.parametrize("given", ["log.jsonl", "-"])
def test_a_backup_gets_the_records_that_it_lacks(run: Run, ledger: Ledger, given: str) -> None:
    Path("log.jsonl").write_text(run("export", "budget.db")[1])
    lines, kept = Path("budget.db").read_bytes().splitlines(keepends=True), os.dup(0)
    Path("old.db").write_bytes(b"".join(lines[:-2]))
    with Path("log.jsonl").open("rb") as file:
        os.dup2(file.fileno(), 0)
    assert run("append", "old.db", given, "--head", ledger.head)[0] == 0
    os.dup2(kept, 0)
    assert Ledger.open("old.db").head == ledger.head


def test_who_has_the_public_key_verifies_and_cannot_sign(run: Run) -> None:
    pytest.importorskip("cryptography")
    signer = Ed25519Signer(b"k" * 32, key_id="device 3")
    made = new("budget.ledger", signer=signer)
    scope(made).pay(pure()).released("blue", b"s" * 32)
    assert next(iter(made.records())).content["signer"]["public_key"] == signer.public_key.hex()
    other = Ed25519Signer(b"x" * 32, key_id="device 3").public_key
    for key, code, words in (
        ([], 3, "signatures not checked: pass --public-key"),
        (["--public-key", signer.public_key.hex()], 0, "signatures checked"),
        (["--public-key", other.hex()], 3, "not signed with the given key"),
        (["--public-key", "00"], 2, "must be 32 bytes"),
    ):
        found, _, said = run("verify", "budget.ledger", *key)
        assert (found, words in said) == (code, True), said
    assert run("show", "budget.ledger", "--public-key", signer.public_key.hex())[0] == 0
    with pytest.raises(SystemExit, match="2"):
        run("verify", "budget.ledger", "--public-key", "no hex")
    new("plain.ledger")
    code, _, said = run("verify", "plain.ledger", "--public-key", other.hex())
    assert (code, "is not signed with the given key" in said) == (3, True)
    # The command has no key, so nothing that it would have to sign is written.
    terms = ["--unit", "person", "--neighbours", "add_remove", "--epsilon", "1"]
    assert run("add", "budget.ledger", "--scope", "b", *terms)[0] == 5
    assert made.check().count == 4


def test_text_of_others_cannot_pretend_to_be_something_else(
    run: Run, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of texts that a reader refuses: what is shown is escaped all the same."""
    for _ in range(10):
        scope(ledger).pay(pure("1/1000")).aborted("input")
    ledger.reopen("a", reason="a reason")
    for _ in range(10):
        scope(ledger).pay(pure("1/1000")).aborted("input")
    ledger.reopen("a", reason="a reason")
    previous, lines = "0" * 64, []
    evil = "x\x1b[2J\x9b31m\nhead 99:" + "0" * 64 + "\u202e\u2028\u200b\\r\x07<b>"
    for line in Path("budget.db").read_text("utf-8").splitlines():
        record = json.loads(line)["record"] | {"previous": previous}
        for name in ("purpose", "mechanism", "reason"):
            if name in record and record["kind"] != "aborted":
                record[name] = evil
        for each in (record, *record.get("charges", [])):
            if each.get("scope") == "a":
                each["scope"] = evil
        if record["kind"] == "charged":
            record["parameters"] |= {evil: evil}
        previous = record_hash(canonical(record))
        lines += log_lines([Record(record, previous, "")])
    Path("log.jsonl").write_text("".join(lines))
    commands = (["show"], ["show", "--html"], ["verify"])
    for command in commands:
        assert run(*command, "log.jsonl")[0] != 0
    monkeypatch.setattr(fields, "_check_texts", lambda *_: None)
    for command in commands:
        code, out, said = run(*command, "log.jsonl")
        assert code == 0
        text = out + said
        assert not [each for each in text if each not in "\n" and not each.isprintable()]
        assert sum(line.startswith("head ") for line in out.splitlines()) == (command == ["verify"])
    assert "\\x1b[2J\\x9b31m\\nhead 99" in run("show", "log.jsonl")[1]


def test_a_closed_scope_is_opened_again_with_a_reason(run: Run) -> None:
    terms = {"a": Budget("person", "add_remove", epsilon=1)}
    there = scope(Ledger.create("budget.ledger", terms, max_refusals=1))
    there.pay(pure()).aborted("input")
    assert re.search("refusals of private input +1 of 1: closed", run("show", "budget.ledger")[1])
    with pytest.raises(SystemExit, match="2"):
        run("reopen", "budget.ledger", "--scope", "a")
    code, _, said = run("reopen", "budget.ledger", "--scope", "a", "--reason", "nulls are gone")
    assert (code, "reopened scope a" in said) == (0, True)
    there.pay(pure()).released("blue", b"s" * 32)
    assert '"reason":"nulls are gone"' in run("export", "budget.ledger")[1]
    assert run("reopen", "budget.ledger", "--scope", "a", "--reason", "again")[0] == 2


def test_each_trouble_has_its_exit_code(run: Run, ledger: Ledger, tmp_path: Path) -> None:
    head, whole = ledger.head, Path("budget.db").read_bytes()
    terms = ["--unit", "person", "--neighbours", "add_remove", "--epsilon", "1"]

    def add(*more: str) -> tuple[int, str]:
        code, _, said = run("add", "budget.db", "--scope", "c", *terms, *more)
        return code, said

    Path("budget.db").write_bytes(whole.replace(b'"1/7"', b'"1/8"', 1))
    assert add()[0] == 3  # damaged
    Path("budget.db").write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    code, said = add("--head", head)
    assert (code, "records were" in said) == (3, True)
    Path("budget.db").write_bytes(whole)
    assert run("add", "nothing.db", "--scope", "c", *terms)[0] == 5
    with Path("budget.db").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FileStore, "_lock", impatient)
            assert add()[0] == 6
    Path("budget.db").write_bytes(whole + b'{"hash":"')
    code, _, said = run("verify", "budget.db", "--head", head)
    assert (code, "the last 9 bytes are not a complete record" in said) == (0, True)


def impatient(store: FileStore, file: object, kind: int) -> None:
    store._wait = 0
    LOCK(store, file, kind)  # type: ignore[arg-type]


LOCK = FileStore._lock


def test_one_command_charges_several_scopes_or_none(run: Run) -> None:
    pytest.importorskip("duckdb")
    terms = ["--unit", "person", "--neighbours", "add_remove"]
    assert run("create", "l", "--scope", "data", *terms, "--epsilon", "1")[0] == 0
    assert run("add", "l", "--scope", "analyst", *terms, "--epsilon", "1/2")[0] == 0
    Path("scores.csv").write_text("label,score\nblue,9\nred,1\n")
    both = ["--ledger", "l", "--scope", "data", "--scope", "analyst"]
    choose = ["select", "scores.csv", "--label", "label", "--score", "score", "--sensitivity", "1"]
    assert main([*choose, "--epsilon", "1/4", *both]) == 0
    assert main([*choose, "--epsilon", "1/2", *both]) == 3
    assert main([*choose, "--epsilon", "1/4", *both, "--scope", "data"]) == 2
    assert main([*choose, "--epsilon", "1/4", *both, "--head", f"9:{'0' * 64}"]) == 3
    for name in ("data", "analyst"):
        assert Ledger.open("l").balance(name).spent == {"epsilon": Fraction(1, 4)}
