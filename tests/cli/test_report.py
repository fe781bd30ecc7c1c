"""The page of HTML about a ledger, as a browser reads it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ledgers import new, pure, scope

from safeselect import Ledger
from safeselect.audit.theorems import theorem
from safeselect.mechanisms.table import MECHANISMS, Peeled

Run = Callable[..., tuple[int, str, str]]


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
        scope(made).pay(pure("1/4"))
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
