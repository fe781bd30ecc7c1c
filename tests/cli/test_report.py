"""What `safeselect ledger show` tells of a ledger, in text and as a browser reads it."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from ledgers import new

from safeselect import Ledger

Run = Callable[..., tuple[int, str, str]]
TOLD = (
    *("4: 2 released, 1 aborted, 1 no outcome", "person", "visit", "replace_one"),
    *("together (2, 0.000001) differentially private", "rho 1/3 zCDP", "no outcome", "a test"),
    *("permute_and_flip/1", "LaplaceDominated: ε = 0.5", "aborted (source)"),
    *("41/42 of 2", "<script>alert(1)</script>"),
)


class Page(HTMLParser):
    """What a browser would see: tags, their attributes, and the text without styles."""

    OPTIONAL = frozenset({"td", "th", "tr", "dt", "dd", "meta"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


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
    # No script, and nothing from elsewhere: not in an attribute either.
    assert {"script", "img", "link", "iframe", "a", "object", "svg"}.isdisjoint(seen.tags)
    assert {each for each in seen.attributes if each.startswith("on")} == set()
    assert {"src", "href"}.isdisjoint(seen.attributes)
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
