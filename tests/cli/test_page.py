"""Templates of pages: every value is escaped once, and HTML is not."""

from __future__ import annotations

from safeselect.cli._page import Html, facts, fill, join, page, table


def test_every_value_is_escaped_and_html_is_not() -> None:
    evil = '<b>&"{name}\x1b\u202e'
    safe = "&lt;b&gt;&amp;&quot;{name}\\x1b\\u202e"
    assert fill("<i>{text}</i>", text=evil).text == f"<i>{safe}</i>"
    assert fill("{one}{two}", one=Html("<br>"), two=7).text == "<br>7"
    assert join([Html("<p>"), fill("{a}", a="<")]).text == "<p>\n&lt;"
    cells = table((evil,), [(evil, Html("<hr>"))]).text
    assert (cells.count(safe), cells.count("<hr>"), "\x1b" in cells) == (2, 1, False)
    assert facts({evil: evil}).text.count(safe) == 2
    assert page(evil, fill("{a}", a=evil)).count(safe) == 2
    assert fill("{a}", a="x\N{NO-BREAK SPACE}y").text == "x&nbsp;y"
