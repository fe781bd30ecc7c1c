"""Pages: every value is escaped once, in HTML and in text, and HTML is not."""

from __future__ import annotations

import json

from safeselect.cli._page import as_html, as_json, as_text, columns
from safeselect.release.page import Html, Section, fill, join

EVIL = '<b>&"{name}\x1b\u202e'
SAFE = "&lt;b&gt;&amp;&quot;{name}\\x1b\\u202e"


def test_every_value_is_escaped_and_html_is_not() -> None:
    assert fill("<i>{text}</i>", text=EVIL).text == f"<i>{SAFE}</i>"
    assert fill("{one}{two}", one=Html("<br>"), two=7).text == "<br>7"
    assert join([Html("<p>"), fill("{a}", a="<")]).text == "<p>\n&lt;"
    page = [Section(EVIL, {EVIL: EVIL}, {EVIL: [(EVIL,), (EVIL,)]})]
    assert as_html(EVIL, page).count(SAFE) == 8
    shown = as_text(page)
    assert shown.count("\\x1b\\u202e") == 6
    assert "\x1b" not in shown + as_html(EVIL, page)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert (columns([("a", 10), ("long", "x")]), columns([])) == (["a     10", "long  x"], [])


def test_a_page_is_json_too() -> None:
    said = as_json([Section("one", {"of": 7}, {"rows": [("a", "b")]})])
    assert said.endswith("\n")
    assert json.loads(said) == [
        {"title": "one", "facts": {"of": 7}, "tables": {"rows": [["a", "b"]]}}
    ]
