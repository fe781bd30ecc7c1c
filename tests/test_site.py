"""The site as it is built: what the search finds first, and that a page asks no other host.

`make docs` builds it; where there is no build, or no Chromium, these tests are skipped, but not in
`.ci/run`, which names the build in `SAFESELECT_SITE`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Tab, browser, needs_chromium
from pages import ROOT

SITE = Path(os.environ.get("SAFESELECT_SITE") or ROOT / "docs" / "_build")
LARGEST = 300_000  # bytes of a page
pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not (SITE / "searchindex.js").exists(), reason="the site is not built"),
]
QUESTIONS = dict(
    line.split(" -> ")
    for line in (ROOT / "tests" / "vectors" / "questions.txt").read_text("utf-8").splitlines()
)
"""What a reader types, and the page that should come first."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def requests_elsewhere(tab: Tab) -> list[str]:
    asked = [each["request"]["url"] for each in tab.of("Network.requestWillBeSent")]
    return [url for url in asked if not url.startswith(("file:", "data:"))]


def answers(tab: Tab, question: str) -> list[str]:
    """The pages that the site's own search finds, best first, each once."""
    tab.value(f"document.querySelector('input[name=\"q\"]').value = {json.dumps(question)}")
    parts = json.dumps(question)
    rows = tab.value(
        "(() => { const [, ...asked] = Search._parseQuery(" + parts + ");"
        "return Search._performSearch(" + parts + ", ...asked).map((row) => row[0]).reverse() })()"
    )
    return list(dict.fromkeys(rows))


def test_the_search_answers_questions_in_ordinary_words(tab: Tab) -> None:
    tab.open(SITE / "search.html")
    while tab.value("Search.hasIndex()") is not True:
        pass
    found = {question: answers(tab, question)[:3] for question in QUESTIONS}
    wrong = {
        asked: found[asked] for asked, page in QUESTIONS.items() if page not in found[asked][:1]
    }
    lost = {asked: found[asked] for asked, page in QUESTIONS.items() if page not in found[asked]}
    assert len(QUESTIONS) == 80
    assert len(wrong) <= 12, wrong
    assert len(lost) <= 2, lost


def test_a_page_asks_no_other_host_and_has_no_error(tab: Tab) -> None:
    pages = ("index", "mathematics", "interface", "examples/README", "notebooks/analyst", "search")
    for page in pages:
        tab.open(SITE / f"{page}.html")
        assert requests_elsewhere(tab) == [], page
        assert tab.of("Runtime.exceptionThrown") == [], page


def test_no_page_names_another_host_that_a_browser_would_ask() -> None:
    """On all pages: what loads by itself is on the site."""
    loads = re.compile(
        r"""<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//|<link[^>]*rel="(?:stylesheet|preload|icon)"[^>]*href="(?:https?:)?//|@import\s|url\(["']?(?:https?:)?//"""
    )
    files = [*SITE.rglob("*.html"), *SITE.rglob("*.css")]
    assert len(files) > 150
    assert [each.name for each in files if loads.search(each.read_text("utf-8"))] == []


def test_no_page_is_large() -> None:
    large = {each.name: each.stat().st_size for each in SITE.rglob("*.html")}
    assert {name: size for name, size in large.items() if size > LARGEST} == {}


def test_the_page_is_not_wider_than_a_phone(tab: Tab) -> None:
    tab.size(390, 844)
    for page in ("index", "interface", "examples/README", "reference/top_k", "claims"):
        tab.open(SITE / f"{page}.html")
        assert tab.value("document.documentElement.scrollWidth") <= 390, page
    tab.size(1200, 800)
