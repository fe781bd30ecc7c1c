"""A page of facts and tables, as text or as HTML: self-contained, and every value escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from safeselect.cli._output import shown
from safeselect.estimates.explain import aligned

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes:
        title: what it is about.
        facts: terms, and what is known of each.
        tables: their rows by their titles; the first row has the names of the columns.
    """

    title: str
    facts: Mapping[str, object]
    tables: Mapping[str, Rows] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


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


def as_html(title: str, sections: Iterable[Section]) -> str:
    """Return the sections as a whole page, readable without scripts."""
    body = join(fill(_SECTION, title=each.title, body=_body(each)) for each in sections)
    return fill(_PAGE, title=title, style=Html(_STYLE), body=body).text


def _body(section: Section) -> Html:
    facts = (fill("<dt>{name}<dd>{value}", name=n, value=v) for n, v in section.facts.items())
    tables = (_table(title, rows) for title, rows in section.tables.items())
    return join([fill("<dl>{facts}</dl>", facts=join(facts)), *tables])


def _table(title: str, rows: Rows) -> Html:
    names, *body = rows
    return fill(
        _TABLE,
        title=title,
        names=_cells("<th>{cell}", names),
        rows=join(fill("<tr>{cells}", cells=_cells("<td>{cell}", row)) for row in body),
    )


def _cells(template: str, row: Iterable[object]) -> Html:
    return join(fill(template, cell=cell) for cell in row)


def fill(template: str, **values: object) -> Html:
    """Return the template with these values in the place of their names, escaped but for HTML."""
    return Html(template.format_map({name: _escaped(value) for name, value in values.items()}))


def _escaped(value: object) -> str:
    return value.text if isinstance(value, Html) else html.escape(shown(value))


def join(parts: Iterable[Html]) -> Html:
    """Return these parts, one behind the other."""
    return Html("\n".join(part.text for part in parts))


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
_SECTION = "<section><h2>{title}</h2>{body}</section>"
_TABLE = """\
<h3>{title}</h3>
<div class="wide"><table><thead><tr>{names}</thead><tbody>
{rows}</tbody></table></div>"""
_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 76rem; margin: 1.5rem auto; padding: 0 1.5rem; font: 15px/1.5 sans-serif; }
h1, dd { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; }
dd { margin: 0; } dt, th { opacity: 0.7; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem 0.4rem 0;
  border-bottom: 1px solid #8886; font-variant-numeric: tabular-nums; }
"""
