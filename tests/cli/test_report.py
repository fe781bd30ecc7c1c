"""What `safeselect ledger show` tells of a ledger, in text and as a browser reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ledgers import new
from typed import Page

from safeselect import Ledger

Run = Callable[..., tuple[int, str, str]]
TOLD = (
    *("4: 2 released, 1 aborted, 1 no outcome", "person", "visit", "replace_one"),
    *("together (2, 0.000001) differentially private", "rho 1/3 zCDP", "no outcome", "a test"),
    *("permute_and_flip/1", "LaplaceDominated: ε = 0.5", "aborted (source)"),
    *("41/42 of 2", "<script>alert(1)</script>"),
)


def test_the_page_tells_everything_and_needs_nothing(run: Run, ledger: Ledger) -> None:
    code, html, _ = run("show", "budget.db", "--html")
    assert code == 0
    seen = Page(html)
    hashes = [each.hash for each in ledger.records() if each.content["kind"] == "charged"]
    for text in (
        *TOLD,
        *("McKenna and Sheldon (2020)", "Dong, Durfee and Rogers (2020)", "Scope b & <c>"),
        *("OpenSSLSource", "source_tree_sha256", "Not on this page"),
        *(ledger.head, ledger.id, *hashes),
    ):
        assert text in seen.text, text
    assert seen.asks_nobody
    assert "url(" not in html
    assert "@import" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_a_terminal_is_shown_each_scope_and_charge(run: Run, ledger: Ledger) -> None:
    code, out, _ = run("show", "budget.db")
    assert code == 0
    for text in (*TOLD, ledger.head, "Scope a\n", "Scope b & <c>\n"):
        assert text in out, text


def test_a_fresh_ledger_has_no_table(run: Run) -> None:
    new("budget.db", rho=1)
    assert "0 % used" in run("show", "budget.db")[1]
    assert "table" not in Page(run("show", "budget.db", "--html")[1]).tags


def test_a_damaged_ledger_is_not_shown(run: Run, ledger: Ledger) -> None:
    _, log, _ = run("export", "budget.db")
    Path("log.jsonl").write_text(log.replace("1/7", "1/8", 1))
    for command in (["show"], ["show", "--html"], ["export"]):
        assert run(*command, "log.jsonl")[:2] == (3, "")
