"""A page of facts and tables, as text or as self-contained HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable

from safeselect.estimates.explain import aligned
from safeselect.release.page import Html, Rows, Section, as_part, fill, join, shown


def texts(title: str, said: Iterable[str]) -> Html:
    """Return sentences as a part of a page."""
    body = join(fill("<p>{text}", text=each) for each in said)
    return fill("<section><h2>{title}</h2>{body}</section>", title=title, body=body)


def columns(rows: Rows) -> list[str]:
    """Return rows as lines of text, each column as wide as its widest cell."""
    return aligned([tuple(map(shown, row)) for row in rows])


def as_text(sections: Iterable[Section]) -> str:
    """Return the sections for a terminal."""
    lines = []
    for section in sections:
        lines += [
            shown(section.title),
            *(f"  {each}" for each in columns([*section.facts.items()])),
        ]
        for title, rows in section.tables.items():
            lines += [f"  {shown(title)}:", *(f"    {each}" for each in columns(rows))]
    return "".join(f"{line}\n" for line in lines)


def as_json(sections: Iterable[Section]) -> str:
    """Return the sections as JSON: a list of objects with title, facts and tables."""
    parts = [{"title": s.title, "facts": s.facts, "tables": s.tables} for s in sections]
    return json.dumps(parts, default=str) + "\n"


def as_html(title: str, sections: Iterable[Section | Html]) -> str:
    """Return the sections as a whole page, readable without scripts."""
    body = join(each if isinstance(each, Html) else as_part(each) for each in sections)
    return fill(_PAGE, title=title, style=Html(_STYLE), body=body).text


_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""
_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 76rem; margin: 1.5rem auto; padding: 0 1.5rem; font: 15px/1.5 sans-serif; }
h1, dd { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; }
dd { margin: 0; } dt, th { opacity: 0.7; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem 0.4rem 0;
  border-bottom: 1px solid #8886; font-variant-numeric: tabular-nums; }
p { margin: 0.3rem 0; } section:first-of-type p { font-size: 1.3rem; font-weight: 600; }
@media (max-width: 40rem) { dl { display: block; } dt { margin-top: 0.4rem; } }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 9pt; line-height: 1.3; }
  h1 { font-size: 14pt; } h2 { font-size: 11pt; margin: 0.7em 0 0.2em; break-after: avoid; }
  dl { gap: 0 1em; margin: 0; } }
"""
