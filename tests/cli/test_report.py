"""What `safeselect ledger show` tells of a ledger, in text and as a browser reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import forge, new, pure, scope
from recalled import advisory
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


SHOWN = ["show"], ["show", "--html"], ["show", "--json"], ["registry", "--scope", "a"]


@pytest.mark.parametrize(
    ("odd", "counts"),
    [
        ({"guarantee": {}}, [2, 2, 2, 0, 4]),
        ({"guarantee": {"type": [], "epsilon": "1"}}, [2, 2, 2, 0, 4]),
        ({"guarantee": {"type": "Repeated", "base": "x"}}, [2, 2, 2, 0, 4]),
        ({"parts": [{"count": "9", "each": {"base": "x"}}]}, [0, 2, 2, 0, 0]),
        ({"parts": [{"count": "0", "each": {"type": "PureDP", "epsilon": {}}}]}, [0, 2, 2, 0, 0]),
        ({"library": {"name": "x"}}, [0] * 5),
    ],
)
def test_a_record_without_a_guarantee_hides_no_other(run: Run, odd: Any, counts: list[int]) -> None:
    """Whoever may charge can write it: a replay does not read what a guarantee says."""
    made = new("l")
    for _ in range(3):
        scope(made).pay(pure())
    for place in (2, 3):
        forge(Path("l"), lambda record: record.update(odd), place)
    defect = advisory([{"mechanism": {"is_not": ["x"]}}], {"epsilon_times": "2"})
    Path("a.json").write_text(json.dumps(defect))
    said = [run(*command, "l") for command in (*SHOWN, ["recall", "a.json"])]
    assert [code for code, _, _ in said] == [0, 0, 0, 0, 3]
    assert [out.count("no guarantee") for _, out, _ in said] == counts
    assert said[4][1].count("PureDP: ε = 0.2\n") == (1 if counts[0] else 3)
    code, _, found = run("verify", "l")
    assert (code, found.count("does not state a valid")) == ((3, 2) if any(counts) else (0, 0))
