"""Facts and tables as HTML, every value escaped by one function; words for names misspelt."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from unicodedata import category

from safeselect.scores.candidates import label_text

Rows = Sequence[Sequence[object]]

_LONGEST = 200  # characters of a name that are compared with those of others
_ENDS_LINES = ("Cc", "Cs", "Zl", "Zp")


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


def as_part(section: Section) -> Html:
    """Return a section as a part of a page, or of a notebook."""
    facts = (fill("<dt>{name}<dd>{value}", name=n, value=v) for n, v in section.facts.items())
    tables = (_table(title, rows) for title, rows in section.tables.items())
    body = join([fill("<dl>{facts}</dl>", facts=join(facts)), *tables])
    return fill(_SECTION, title=section.title, body=body)


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


def escaped(label: object) -> str:
    """Return a label as one line of text, from which the label can be recovered.

    Backslashes, control characters, line separators and lone surrogates are written as Python
    writes them in a string: \\\\, \\n, \\x1b, \\u2028, \\udc80.
    """
    return _without(_ENDS_LINES, label_text(label))


def shown(text: object) -> str:
    """Return text of a record for a reader; also escapes invisible and bidi characters."""
    return _without((*_ENDS_LINES, "Cf", "Co", "Cn"), str(text))


def did_you_mean(wanted: str, names: Iterable[object]) -> str:
    """Words that suggest the public name which is nearly the one wanted; none if none is."""
    from difflib import get_close_matches  # only for a message

    folded = {" ".join(name.split()).casefold(): name for name in names if isinstance(name, str)}
    near = get_close_matches(" ".join(wanted[:_LONGEST].split()).casefold(), folded, 1)
    meant = folded[near[0]] if near and wanted not in folded.values() else None
    return "" if meant is None else f"; did you mean {meant!r}?"


def _without(categories: tuple[str, ...], text: str) -> str:
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character == "\\" or category(character) in categories
        else character
        for character in text
    )


_SECTION = "<section><h2>{title}</h2>{body}</section>"
_TABLE = """\
<h3>{title}</h3>
<div class="wide"><table><thead><tr>{names}</thead><tbody>
{rows}</tbody></table></div>"""
