"""Pages of HTML from templates: self-contained, readable without scripts, every value escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from safeselect.cli._output import shown


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


def fill(template: str, **values: object) -> Html:
    """Return the template with these values in the place of their names, escaped but for HTML."""
    return Html(template.format_map({name: _escaped(value) for name, value in values.items()}))


def _escaped(value: object) -> str:
    if isinstance(value, Html):
        return value.text
    return html.escape(shown(value)).replace("\N{NO-BREAK SPACE}", "&nbsp;")


def join(parts: Iterable[Html]) -> Html:
    """Return these parts, one behind the other."""
    return Html("\n".join(part.text for part in parts))


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table with these names of columns, if any."""
    head = "".join(f"<th>{_escaped(name)}" for name in names)
    body = "\n".join("<tr>" + "".join(f"<td>{_escaped(cell)}" for cell in row) for row in rows)
    headed = f"<thead><tr>{head}</thead>" if names else ""
    return Html(f'<div class="wide"><table>{headed}<tbody>\n{body}</tbody></table></div>')


def facts(known: dict[str, object]) -> Html:
    """Return a list of terms and what is known of each."""
    rows = (fill("<dt>{name}<dd>{value}", name=name, value=each) for name, each in known.items())
    return fill("<dl>{rows}</dl>", rows=join(rows))


def page(title: str, body: Html) -> str:
    """Return a whole page."""
    return fill(_PAGE, title=title, style=Html(_STYLE), body=body).text


_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head><body><main>
{body}
</main></body></html>
"""
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --dim: #5c677d; --paper: #fff; --line: #d9dee8;
  --main: #2456c8; --fill: #2456c826; --bad: #b42318; --ok: #18794e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --dim: #9aa5b8; --paper: #141821;
  --line: #323a4a; --main: #82a8ff; --fill: #82a8ff33; --bad: #ff8a7a; --ok: #5fd49b; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; } h2 { font-size: 1.3rem; margin-top: 2.5rem;
  border-top: 1px solid var(--line); padding-top: 1.5rem; } h3 { font-size: 1rem; }
code { font: 0.88em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0.5rem 0; }
dd { margin: 0; overflow-wrap: anywhere; } dt, th, small, summary { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem 0.4rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .name { white-space: nowrap; } summary { cursor: pointer; }
.ok { color: var(--ok); } .bad { color: var(--bad); }
svg { width: 100%; height: auto; max-width: 60rem; display: block; }
svg text { fill: var(--dim); font-size: 12px; }
@media print { body { font-size: 11px; } main { max-width: none; padding: 0; } }
"""
