"""The page of an audit: short, whole, the same in HTML and JSON, and readable anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, Case, certificate
from browser import browser, needs_chromium
from effort import some
from flown import flown
from typed import Page
from written import EVERY, RHO

from safeselect.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::safeselect.SafeSelectWarning")

Run = pytest.CaptureFixture[bytes]
TITLES = [
    *("Verdict", "What was asked", "What was released", "What was promised, and to whom"),
    *("What was assumed", "Scope flights 2013", "Scope analyst 7", "Ledger"),
    *("Comparisons", "Missing evidence"),
    *("Limits of this audit", "What ran", "This audit"),
]


def claims(content: Any) -> Iterator[str]:
    """Every title, term and text of the JSON."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for name, inside in content.items():
            yield name
            yield from claims(inside)
    else:
        for each in content:
            yield from claims(each)


def both(arguments: list[str], capfdbinary: Run) -> tuple[int, str, Any]:
    """Exit code, HTML and JSON."""
    capfdbinary.readouterr()
    code, html = main([*arguments, "--html"]), capfdbinary.readouterr().out.decode()
    assert main([*arguments, "--json"]) == code
    return code, html, json.loads(capfdbinary.readouterr().out)


def check(html: str, content: Any) -> None:
    seen = Page(html)
    # The minute may change between the two.
    now = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    for claim in claims(content["page"]):
        # A page writes backslashes twice, as in every text of others.
        wanted = claim.replace("\\", "\\\\")
        assert " ".join(now.sub("", wanted).split()) in now.sub("", seen.text), claim
    assert len(seen.text.split()) <= 600, seen.text
    assert seen.asks_nobody
    assert "default-src 'none'" in html


def test_a_real_ledger(tmp_path: Path, capfdbinary: Run) -> None:
    pytest.importorskip("cryptography")
    code, html, content = both(flown(tmp_path), capfdbinary)
    page = content["page"]
    assert (code, content["holds"]) == (0, True)
    assert list(page) == TITLES
    check(html, content)
    assert page["Verdict"] == ["HOLDS: all 16 comparisons."]
    assert page["What was asked"] == ["Which of 104 candidates have the largest scores (top 5)?"]
    assert page["What was released"][0].endswith("', best first.")
    assert "With epsilon = 1 no event" in page["What was promised, and to whom"][0]
    assert "a probability of 0.0000001" in page["What was promised, and to whom"][0]
    first, second = (page[title] for title in TITLES if title.startswith("Scope"))
    assert (first["unit"], first["neighbours"]) == ("plane", "add_remove")
    assert first["refusals of private input"] == "1 of 10"
    assert first["used"].startswith("(2, 0.000001): ")
    assert first["may be raised up to"] == "epsilon 3"
    assert second["so far"].startswith("For each individual plane, with probability")
    assert "over all noise since the opening, the privacy loss never exceeded" in second["so far"]
    assert "1 aborted, 1 raised, 1 torn; 1 approved by other keys" in page["Ledger"]["records"]
    assert page["Missing evidence"] == {"none": "nothing", "not compared": "nothing"}
    assert page["What ran"]["FIPS mode"].partition(",")[0] in ("off", "on", "not known")
    assert page["This audit"]["by"] == "A. Uditor, Audits Ltd"
    assert page["This audit"]["log"] == "flights.ledger"


@pytest.mark.parametrize("name", some(EVERY, 3))
def test_every_kind_of_release_has_a_short_page(
    tmp_path: Path, capfdbinary: Run, name: str
) -> None:
    case = Case(tmp_path, certificate(), call=EVERY[name], of_rho=name in RHO)
    assert case.audit(capfdbinary)[0] == 0
    release, log, certified = (str(tmp_path / each) for each in ("r.json", "log", "c.json"))
    given = ["audit", release, "--log", log, "--head", case.head, "--certificate", certified]
    code, html, content = both(given, capfdbinary)
    assert code == 0
    check(html, content)
    assert content["page"]["Missing evidence"]["none"] == "signatures"


def test_what_does_not_hold_is_said_in_short(tmp_path: Path, capfdbinary: Run) -> None:
    case = Case(tmp_path, certificate())
    case.rewrite(lambda records: records[CHARGED].update(mechanism="<script>" * 20))
    case.audit(capfdbinary)
    release, log = str(tmp_path / "r.json"), str(tmp_path / "log")
    code, html, content = both(["audit", release, "--log", log], capfdbinary)
    assert (code, content["holds"]) == (3, False)
    assert content["page"]["Comparisons"]["record"].startswith("DOES NOT HOLD: Differences")
    assert content["page"]["Missing evidence"]["none"] == "signatures, head, certificate"
    assert len(Page(html).text.split()) <= 600
    (tmp_path / "r.json").write_text("{}")
    code, html, content = both(["audit", release, "--log", log], capfdbinary)
    assert code == 3
    check(html, content)
    assert "What was asked" not in content["page"]


def test_the_script_of_an_audit_is_read_in_ten_minutes(tmp_path: Path, capfdbinary: Run) -> None:
    """Its own words, those of the page, and those of the release."""
    pytest.importorskip("cryptography")
    script = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
    arguments = flown(tmp_path)
    _, html, _ = both(arguments, capfdbinary)
    assert main(["statement", arguments[1]]) == 0
    stated = capfdbinary.readouterr().out.decode()
    assert sum(len(text.split()) for text in (script, Page(html).text, stated)) < 1500


@needs_chromium
def test_a_browser_shows_it_whole_and_asks_nobody(tmp_path: Path, capfdbinary: Run) -> None:
    """Light and dark, on paper, and as wide as a phone."""
    _, html, content = both(flown(tmp_path), capfdbinary)
    file = tmp_path / "page.html"
    file.write_text(html, "utf-8")
    with browser(tmp_path) as tab:
        for width, height in ((1280, 900), (390, 844), (320, 640)):
            for scheme in ("light", "dark"):
                tab.size(width, height)
                tab.colours(scheme)
                tab.open(file)
                asked = [each["request"]["url"] for each in tab.of("Network.requestWillBeSent")]
                assert asked == [file.as_uri()]
                assert tab.of("Log.entryAdded", "Runtime.exceptionThrown") == []
                assert tab.of("Runtime.consoleAPICalled") == []
                text = " ".join(tab.value("document.body.innerText").split())
                for claim in claims(content["page"]):
                    if not re.search(r"\d\d:\d\d UTC$", claim):
                        assert " ".join(claim.split()) in text, claim
                assert tab.value("document.documentElement.scrollWidth") <= width
                ink, paper = (
                    tab.value(f"getComputedStyle(document.{of}).{what}")
                    for of, what in (("body", "color"), ("documentElement", "colorScheme"))
                )
                assert (ink == "rgb(0, 0, 0)") is (scheme == "light"), ink
                assert paper == "light dark"
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", tab.paper())) <= 2
