"""A page for each public object, from the lists in `docs/interface.md`.

The pages lie in `docs/reference/` while the site is built. On the site the lists themselves become
tables of links, each with the first sentence of the docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

_HEADING = re.compile(r"^## (.+)$")
_MODULE = re.compile(r"^\.\. currentmodule:: (\S+)$")
_OBJECT = re.compile(r"^\.\. auto(function|class|exception):: (\w+)$")
_OPTION = re.compile(r"^ {3}(:.+)$")
_LIST = re.compile(r"```\{eval-rst\}\n(.*?)```\n", re.DOTALL)


WHY = {
    **dict.fromkeys(("epsilon",), "budgets"),
    **dict.fromkeys(("delta", "rho"), "accounting"),
    **dict.fromkeys(("sensitivity", "range_", "grid", "on_grid", "score_error"), "scores"),
    **dict.fromkeys(("scores", "minimize", "labels"), "scores"),
    **dict.fromkeys(("monotonic", "unit", "neighbours"), "glossary"),
    **dict.fromkeys(("mechanism", "noise", "k"), "choosing"),
    **dict.fromkeys(("gap_grid", "threshold"), "gaps"),
    **dict.fromkeys(("weights", "ties"), "weights-quantiles"),
    **dict.fromkeys(("max_contributions", "k_bar", "places", "with_counts", "item"), "tables"),
    **dict.fromkeys(("user", "value", "group", "groups", "max_groups", "table"), "tables"),
    **dict.fromkeys(("max_partitions",), "keys"),
    **dict.fromkeys(("source",), "testing"),
    **dict.fromkeys(("ledger", "purpose", "signer"), "ledger"),
}
"""The page that says why a parameter is there and how to choose it."""


class Entry(NamedTuple):
    """An object, where it is imported from, and under which heading it is listed."""

    section: str
    module: str
    kind: str
    name: str
    options: tuple[str, ...]


def entries(text: str) -> list[Entry]:
    """The objects that the page of the interface lists, in order."""
    found: list[Entry] = []
    section = module = ""
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = heading[1]
        elif named := _MODULE.match(line):
            module = named[1]
        elif one := _OBJECT.match(line):
            found.append(Entry(section, module, one[1], one[2], ()))
        elif found and (option := _OPTION.match(line)):
            found[-1] = found[-1]._replace(options=(*found[-1].options, option[1]))
    return found


def write(folder: Path) -> None:
    """Write the pages into `folder`/reference; one that is already right is left alone."""
    listed = entries((folder / "interface.md").read_text("utf-8"))
    pages = folder / "reference"
    pages.mkdir(exist_ok=True)
    texts = {f"{each.name}.md": _page(each, listed) for each in listed}
    for old in pages.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        if not (pages / name).exists() or (pages / name).read_text("utf-8") != text:
            (pages / name).write_text(text, "utf-8")


def _page(entry: Entry, listed: list[Entry]) -> str:
    beside = [each.name for each in listed if each.section == entry.section]
    others = ", ".join(f"[`{name}`]({name}.md)" for name in beside if name != entry.name)
    also = f"\n**See also:** {others}.\n" if others else ""
    options = "".join(f"   {option}\n" for option in entry.options)
    directive = f".. auto{entry.kind}:: {entry.name}\n{options}"
    imported = f"from {entry.module} import {entry.name}"
    return (
        f"# {entry.name}\n\n```python\n{imported}\n```\n\n```{{eval-rst}}\n"
        f".. currentmodule:: {entry.module}\n\n{directive}```\n{also}\n"
        f"[{entry.section}](../interface.md) in the reference.\n"
    )


def linked(text: str) -> str:
    """The page of the interface with a table in place of each list of directives."""

    def table(found: re.Match[str]) -> str:
        listed = entries(found[1])
        rows = (f"| [`{one.name}`](reference/{one.name}.md) | {_first(one)} |" for one in listed)
        return "\n".join(["| name | what it is |", "|---|---|", *rows, ""])

    text += _parameters(entries(text))
    pages = "```{toctree}\n:hidden:\n:glob:\n\nreference/*\n```\n"
    return f"{_LIST.sub(table, text)}\n{pages}"


def _parameters(listed: list[Entry]) -> str:
    """A table of the parameters that several functions have: where, and why."""
    where: dict[str, list[str]] = {}
    for each in listed:
        if each.kind == "function" or each.name[0].isupper():
            taken = _signature(getattr(import_module(each.module), each.name))
            for name in taken:
                where.setdefault(name, []).append(f"[`{each.name}`](reference/{each.name}.md)")
    rows = (
        f"| `{name}` | {', '.join(where[name])} | [{page}]({page}.md) |"
        for name, page in sorted(WHY.items())
        if name in where
    )
    head = ("", "## Parameters", "", "| parameter | where | why |", "|---|---|---|")
    return "\n".join([*head, *rows, ""])


def _signature(obj: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return {}


def _first(entry: Entry) -> str:
    """The first sentence of a docstring, for a cell of a table."""
    text = inspect.getdoc(getattr(import_module(entry.module), entry.name)) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.;:]) ", paragraph)[0].rstrip(":;").replace("|", r"\|")


# ------------------------------------------------------------------------- tables of parameters

_ARGUMENT = re.compile(r" {4}([\w\\]+(?:, [\w\\]+)*): ?(.*)")


def as_table(lines: list[str], obj: Any) -> list[str]:
    """The section Args of a docstring as a table: parameter, default, meaning."""
    try:
        begin = lines.index("Args:")
    except ValueError:
        return lines
    end = begin + 1
    while end < len(lines) and (not lines[end] or lines[end].startswith("    ")):
        end += 1
    rows: list[tuple[str, list[str]]] = []
    begun = ""  # names that go on in the next line
    for line in lines[begin + 1 : end]:
        if found := _ARGUMENT.fullmatch(f"{begun} {line.strip()}" if begun else line):
            rows.append((found[1].replace("\\", ""), [found[2]]))
            begun = ""
        elif begun or re.match(r" {4}\S", line):
            begun = f"{begun} {line.strip()}" if begun else line
        elif rows and line.strip():
            rows[-1][1].append(line.strip())
    if not rows:
        return lines
    table = ["", ".. list-table::", "   :header-rows: 1", "   :class: parameters", ""]
    table += ["   * - parameter", "     - default", "     - meaning"]
    for names, meaning in rows:
        each = names.split(", ")
        table.append("   * - " + ", ".join(map(_explained, each)))
        table.append(f"     - {_default(obj, each[0])}")
        table += [
            f"     {'- ' if number == 0 else '  '}{part}" for number, part in enumerate(meaning)
        ]
    return [*lines[:begin], *table, "", *lines[end:]]


def _explained(name: str) -> str:
    """A parameter, as a link to the page that explains it."""
    return f":doc:`{name} </{WHY[name]}>`" if name in WHY else f"``{name}``"


def _default(obj: Any, name: str) -> str:
    given = _signature(obj).get(name)
    if given is None:
        return ""
    found = given.default
    if found is inspect.Parameter.empty:
        return "required"
    shown = repr(found)
    return "" if "<" in shown else f"``{shown}``"
