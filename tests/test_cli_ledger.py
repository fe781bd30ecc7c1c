"""`safeselect ledger`: exported logs, releases found again, keys, and the page for an auditor."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ledgers import new, pure, scope

import safeselect
from safeselect import ApproximateDP, BoundedRange, Budget, Ledger, permute_and_flip
from safeselect.audit.theorems import theorem
from safeselect.cli import main
from safeselect.ledger import Record, log_lines
from safeselect.ledger.records import fields
from safeselect.ledger.records.record import canonical, record_hash
from safeselect.ledger.stores.file import FileStore

Run = Callable[..., tuple[int, str, str]]
SCORES = {"red": 10, "blue": 30_000, "green <i>": -5}


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """Run `safeselect ledger ...` in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = main(["ledger", *arguments])
        out, said = capfdbinary.readouterr()
        return code, out.decode(), said.decode()

    return call


@pytest.fixture
def ledger(run: Run) -> Ledger:
    """Two scopes; four charges, of which two were released and one aborted."""
    made = new("budget.db", epsilon=2, delta="1e-6")
    made.add_scope("b & <c>", Budget("visit", "replace_one", rho="1/3"))
    there = made.scope(
        "a", unit="person", neighbours="add_remove", purpose="<script>alert(1)</script>"
    )
    permute_and_flip(SCORES, epsilon="1/2", sensitivity=1, ledger=there)
    scope(made).begin(pure(guarantee=ApproximateDP("1/3", "1e-9"))).aborted("source")
    scope(made).begin(pure("1/7"))
    other = made.scope("b & <c>", unit="visit", neighbours="replace_one", purpose="p")
    each = BoundedRange("1/5")
    charge = pure(guarantee=each, parts=((each, 1),), mechanism="exponential_mechanism/1")
    other.begin(charge).released("x", b"s" * 32)
    return made


def test_an_exported_log_is_checked_like_the_ledger(run: Run, ledger: Ledger) -> None:
    code, log, said = run("export", "budget.db")
    assert (code, said) == (0, f"head {ledger.head}\n")
    Path("log.jsonl").write_text(log)
    for file in ("budget.db", "log.jsonl"):
        code, out, said = run("verify", file, "--head", ledger.head)
        assert (code, out) == (0, f"head {ledger.head}\n")
        assert said == "all 10 records follow from each other\n"
    Path("log.jsonl").write_text(log.replace('"1/7"', '"1/8"', 1))
    code, out, said = run("verify", "log.jsonl")
    assert (code, out) == (3, "")
    assert "does not have the hash" in said
    Path("log.jsonl").write_text("".join(log.splitlines(keepends=True)[:-1]))
    assert run("verify", "log.jsonl")[0] == 0
    code, _, said = run("verify", "log.jsonl", "--head", ledger.head)
    assert code == 3
    assert "the end was cut" in said


def test_a_release_is_found_by_its_receipt_and_no_other(run: Run, ledger: Ledger) -> None:
    there = scope(ledger)
    result = permute_and_flip(SCORES, epsilon="1/2", sensitivity=1, ledger=there)
    assert result.label == "blue"
    written = result.to_json()
    Path("release.json").write_text(written)
    code, out, _ = run("verify", "budget.db", "--release", "release.json")
    assert (code, out.splitlines()[1]) == (0, "record 11 holds this release")
    other = permute_and_flip(SCORES, epsilon="1/2", sensitivity=1, ledger=there).to_json()
    salts = [json.loads(each)["receipt"]["salt"] for each in (written, other)]
    for changed in (
        written.replace('"blue"', '"red"'),
        written.replace('"epsilon": "1/2"', '"epsilon": "1/3"'),
        written.replace(*salts),
        re.sub('"record": "11"', '"record": "10"', written),
        re.sub('"record": "11"', '"record": "999"', written),
        re.sub('"ledger": "..', '"ledger": "zz', written),
    ):
        assert changed != written
        Path("release.json").write_text(changed)
        code, _, said = run("verify", "budget.db", "--release", "release.json")
        assert code == 3
        assert "holds no commitment to this release" in said
    for nothing in ("", "{}", "[]", "1", '{"receipt": {}}', '{"receipt": {"ledger": "x"}}'):
        Path("release.json").write_text(nothing)
        code, _, said = run("verify", "budget.db", "--release", "release.json")
        assert code == 2
        assert "is not a release in JSON" in said


def test_a_signed_ledger_on_the_command_line(run: Run, tmp_path: Path) -> None:
    Path("key").write_bytes(bytes(range(40)))
    Path("other").write_bytes(bytes(40))
    terms = ["--scope", "a", "--unit", "person", "--neighbours", "add_remove", "--epsilon", "1"]
    assert run("create", "budget.db", *terms, "--key-file", "key", "--key-id", "vault")[0] == 0
    for key, code, words in (
        ([], 3, "signatures not checked: give --key-file or --public-key"),
        (["--key-file", "key"], 0, "signatures checked"),
        (["--key-file", "other"], 3, "the signature of record 0 is wrong"),
        (["--key-file", "no"], 2, "cannot be read"),
    ):
        found, _, said = run("verify", "budget.db", *key)
        assert (found, words in said) == (code, True), said
    terms[1] = "b"
    assert run("add", "budget.db", *terms)[0] == 5
    assert run("add", "budget.db", *terms, "--key-file", "key")[0] == 0
    (tmp_path / "scores.csv").write_text("item,n\nx,1\ny,20000\n")
    choose = ["select", "scores.csv", "--label", "item", "--score", "n", "--sensitivity", "1"]
    choose += ["--epsilon", "1/2", "--ledger", "budget.db", "--scope", "a"]
    pytest.importorskip("duckdb")
    assert main(choose) == 5
    assert main([*choose, "--key-file", "key"]) == 0
    assert run("verify", "budget.db", "--key-file", "key")[0] == 0
    new("plain.db")
    code, _, said = run("verify", "plain.db", "--key-file", "key")
    assert (code, "is not signed with a key" in said) == (2, True)


def test_who_has_the_public_key_verifies_and_cannot_sign(run: Run) -> None:
    ed25519 = pytest.importorskip("safeselect.adapters.ed25519")
    pytest.importorskip("cryptography")
    signer = ed25519.Ed25519Signer(b"k" * 32, key_id="device 3")
    made = new("budget.ledger", signer=signer)
    scope(made).begin(pure()).released("blue", b"s" * 32)
    assert next(iter(made.records())).content["signer"]["public_key"] == signer.public_key.hex()
    other = ed25519.Ed25519Signer(b"x" * 32, key_id="device 3").public_key
    for key, code, words in (
        ([], 3, "signatures not checked: give --key-file or --public-key"),
        (["--public-key", signer.public_key.hex()], 0, "signatures checked"),
        (["--public-key", other.hex()], 3, "not signed with the key that is to verify it"),
        (["--public-key", "00"], 2, "must be 32 bytes"),
    ):
        found, _, said = run("verify", "budget.ledger", *key)
        assert (found, words in said) == (code, True), said
    assert run("show", "budget.ledger", "--public-key", signer.public_key.hex())[0] == 0
    with pytest.raises(SystemExit, match="2"):
        run("verify", "budget.ledger", "--public-key", "no hex")
    Path("key").write_bytes(bytes(40))
    assert run("verify", "budget.ledger", "--key-file", "key")[0] == 2


def test_text_of_others_cannot_pretend_to_be_something_else(
    run: Run, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of texts that a reader refuses: what is shown is escaped all the same."""
    for _ in range(10):
        scope(ledger).begin(pure("1/1000")).aborted("input")
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
    for command in ("show", "report", "verify"):
        assert run(command, "log.jsonl")[0] != 0
    monkeypatch.setattr(fields, "_check_texts", lambda *_: None)
    for command in ("show", "report", "verify"):
        code, out, said = run(command, "log.jsonl")
        assert code == 0
        text = out + said
        assert not [each for each in text if each not in "\n" and not each.isprintable()]
        assert sum(line.startswith("head ") for line in out.splitlines()) == (command != "report")
    assert "\\x1b[2J\\x9b31m\\nhead 99" in run("show", "log.jsonl")[1]


def test_a_closed_scope_is_opened_again_with_a_reason(run: Run) -> None:
    terms = {"a": Budget("person", "add_remove", epsilon=1)}
    there = scope(Ledger.create("budget.ledger", terms, max_refusals=1))
    there.begin(pure()).aborted("input")
    assert "refusals of private input: 1 of 1: closed" in run("show", "budget.ledger")[1]
    assert "1 of 1: closed" in page(run("report", "budget.ledger")[1]).text
    with pytest.raises(SystemExit, match="2"):
        run("reopen", "budget.ledger", "--scope", "a")
    code, _, said = run("reopen", "budget.ledger", "--scope", "a", "--reason", "nulls are gone")
    assert (code, "scope a answers again" in said) == (0, True)
    there.begin(pure()).released("blue", b"s" * 32)
    assert '"reason":"nulls are gone"' in run("export", "budget.ledger")[1]
    assert run("reopen", "budget.ledger", "--scope", "a", "--reason", "again")[0] == 2


def test_each_trouble_has_its_exit_code(run: Run, ledger: Ledger, tmp_path: Path) -> None:
    head = ledger.head
    whole = Path("budget.db").read_bytes()
    terms = ["--unit", "person", "--neighbours", "add_remove", "--epsilon", "1"]

    def add(*more: str) -> tuple[int, str]:
        code, _, said = run("add", "budget.db", "--scope", "c", *terms, *more)
        return code, said

    Path("budget.db").write_bytes(whole.replace(b'"1/7"', b'"1/8"', 1))
    assert add()[0] == 3  # damaged
    Path("budget.db").write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    code, said = add("--head", head)
    assert (code, "the end was cut" in said) == (3, True)
    Path("budget.db").write_bytes(whole)
    assert run("add", "nothing.db", "--scope", "c", *terms)[0] == 5
    with Path("budget.db").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FileStore, "_lock", impatient)
            assert add()[0] == 6
    Path("budget.db").write_bytes(whole + b'{"hash":"')
    code, _, said = run("verify", "budget.db", "--head", head)
    assert (code, "9 bytes after them are not a whole record" in said) == (0, True)


def impatient(store: FileStore, file: object, kind: int) -> None:
    store._wait = 0
    LOCK(store, file, kind)  # type: ignore[arg-type]


LOCK = FileStore._lock


class Page(HTMLParser):
    """What a browser would see: tags, their attributes, and the text without scripts and styles."""

    VOID = frozenset({"meta", "br"})
    OPTIONAL = frozenset({"td", "th", "tr", "dt", "dd", "li"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID | self.OPTIONAL:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)


def page(text: str) -> Page:
    parsed = Page()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    return parsed


def test_the_page_tells_everything_and_needs_nothing(run: Run, ledger: Ledger) -> None:
    code, html, _ = run("report", "budget.db")
    assert code == 0
    seen = page(html)
    for text in (
        *(ledger.head, ledger.id, "4: 2 released, 1 aborted, 1 without an outcome"),
        *("Scope a", "Scope b & <c>", "person", "visit", "replace_one"),
        *("(2, 0.000001)-differentially private", "1/3-zCDP", "<script>alert(1)</script>"),
        *("permute_and_flip/1", "McKenna and Sheldon (2020)", "exponential_mechanism/1"),
        *("Dong, Durfee and Rogers (2020)", "aborted (source)", "no outcome", "a test"),
        *("What this page does not say", "OpenSSLSource", "LaplaceDominated(ε\xa0=\xa00.5)"),
        *("41/42 of 2 spent (49 %); 43/42 left", "source tree", "record hash"),
    ):
        assert text in seen.text, text
    # No script, and nothing from elsewhere: not in an attribute either.
    assert {"script", "img", "link", "iframe", "a", "object"} & {
        tag for tag, _ in seen.tags
    } == set()
    for _, attributes in seen.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}
    assert "url(" not in html
    assert "@import" not in html
    assert "http" not in html.replace("http-equiv", "")
    # One chart for each amount, one dot for each charge in it.
    assert seen.count("svg") == 3
    assert seen.count("circle") == 3 + 3 + 1
    assert seen.count("details") == 4
    records = [record.hash for record in ledger.records() if record.content["kind"] == "charged"]
    assert all(hash_ in seen.text for hash_ in records)


def test_the_chart_climbs_to_what_was_spent(run: Run) -> None:
    made = new("budget.db", epsilon=1)
    for _ in range(3):
        scope(made).begin(pure("1/4"))
    _, html, _ = run("report", "budget.db")
    lines = re.findall(r'<path d="(M10 180[^"]*)" fill="none"', html)
    heights = [int(height) for height in re.findall(r"V(\d+)", lines[0])]
    # From 180, nothing spent, up to 24, the cap: a quarter is 39.
    assert heights == [141, 102, 63]


def test_a_page_of_a_fresh_ledger(run: Run) -> None:
    new("budget.db", rho=1)
    code, html, _ = run("report", "budget.db")
    assert code == 0
    assert "0 of 1 spent (0 %); 1 left" in page(html).text
    assert page(html).count("table") == 0


def test_a_damaged_ledger_has_no_page(run: Run, ledger: Ledger) -> None:
    _, log, _ = run("export", "budget.db")
    Path("log.jsonl").write_text(log.replace("1/7", "1/8", 1))
    assert run("report", "log.jsonl")[:2] == (3, "")
    assert run("show", "log.jsonl")[:2] == (3, "")
    assert run("export", "log.jsonl")[:2] == (3, "")


NOISES = ("exponential", "laplace", "geometric")


def test_every_public_mechanism_has_its_theorem() -> None:
    from safeselect.selection._table import MECHANISMS, Peeled

    many = Peeled.__args__  # type: ignore[attr-defined]
    for name in (
        *("permute_and_flip", "exponential_mechanism", "exponential_mechanism_base2"),
        *(f"report_noisy_max_{noise}" for noise in ("exponential", "laplace", "gumbel")),
        *(f"top_k_{name}" for name in MECHANISMS),
        *(f"{function}_{name}" for function in ("select_many", "top_k_many") for name in many),
        *("permute_and_flip_with_gap", "exponential_mechanism_with_gap"),
        *(f"report_noisy_max_with_gap_{noise}" for noise in ("exponential", "laplace", "gumbel")),
        *(f"{name}_{noise}" for name in ("top_k_with_gaps", "top_k_above") for noise in NOISES[:2]),
        *(f"{name}sparse_vector_{noise}" for name in ("", "adaptive_") for noise in NOISES),
        *("unknown_domain_top_k_gumbel", "unknown_domain_top_k_laplace", "pay_what_you_get_gumbel"),
    ):
        assert theorem(f"{name}/1") != theorem("something/1"), name
    # The gap costs bounded range its name: a similar name is not enough.
    assert theorem("exponential_mechanism_with_something/1") == theorem("something/1")


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(BROWSER is None, reason="no chromium here")
def test_a_browser_renders_the_page(run: Run, ledger: Ledger, tmp_path: Path) -> None:
    _, html, _ = run("report", "budget.db")
    (tmp_path / "page.html").write_text(html, "utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path}/profile", (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    # The tree that the browser built, with the tags that HTML lets one leave out.
    assert done.stdout.count("<td>") == done.stdout.count("</td>") == 4 * 8 + 2 * 4 + 3
    assert ledger.head in done.stdout
    assert done.stdout.count("<svg") == 3


def test_the_ledger_commands_need_no_other_library(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['duckdb'] = None; from safeselect.cli import main; "
        "sys.exit(main(['ledger', 'create', 'b.db', '--scope', 'a', '--unit', 'person', "
        "'--neighbours', 'add_remove', '--epsilon', '1']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert safeselect.Ledger.open(tmp_path / "b.db").check().count == 2


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
    for name in ("data", "analyst"):
        assert Ledger.open("l").balance(name).spent == {"epsilon": Fraction(1, 4)}
