"""Sphinx: the pages of this folder, and the reference from the docstrings; `make docs` builds them.

The pages are written for a plain git forge and stay readable there; what Sphinx needs besides is
here and in `_site/`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))

import finding  # noqa: E402 - in the folder that the line above adds
import formulas  # noqa: E402 - the same
import gallery  # noqa: E402 - the same
import notebooks  # noqa: E402 - the same
import reference  # noqa: E402 - the same

project = "safeselect"
author = "The safeselect authors"
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "formulas",
]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build", "_site"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = "safeselect"
html_static_path = ["_static"]
html_css_files = ["safeselect.css"]
html_search_scorer = str(HERE / "reference" / "scorer.js")  # finding.scorer writes it
html_copy_source = False
html_show_sourcelink = False

autodoc_member_order = "bysource"
# A signature that is made from a common list of arguments has no defaults in its source.
autodoc_preserve_defaults = False
python_maximum_signature_line_length = 80
add_module_names = False
default_role = "literal"
smartquotes = False  # "reference" is what one writes

# ------------------------------------------------------------------------------------ docstrings

_SECTION = re.compile(r"([A-Z][a-z]+(?:, [A-Za-z]+)*):(?: (.*))?")
_LISTS = ("Args", "Attributes", "Raises")
_INDENTS = dict.fromkeys(_LISTS, "      ")
_CODE = re.compile(r"(`+[^`]*`+|(?<![\w*])\*\w+\*(?![\w*]))")
_MARKUP = re.compile(r"(?<=\w)_(?!\w)|\*\*?|\|")


def docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring in the style of CONTRIBUTING.md into fields.

    Only `code` and *stress* in it are markup.
    """
    made: list[str] = []
    section = ""
    own = name.rpartition(".")[2]
    linked = [_escaped(line, own) for line in lines]
    for line in reference.as_table(linked, obj):
        if found := _SECTION.fullmatch(line):
            section = found[1]
            made += ["", f":{section}:", *([f"    {found[2]}"] if found[2] else [])]
        elif section in _LISTS and re.match(r" {4}\S", line):
            made += ["", f"    - {line.strip()}"]
        elif section and line:
            if not line.startswith(" ") and not made[-1]:
                section = ""  # a paragraph of its own ends a section
            made.append(f"{_INDENTS.get(section, '    ')}{line.strip()}" if section else line)
        else:
            made.append(line)
    lines[:] = [_named(line) for line in _joined(made)]


_LISTED = reference.entries((HERE / "interface.md").read_text("utf-8"))
_PAGES = {one.name: f"{one.module}.{one.name}" for one in _LISTED}
"""The objects that have a page, with their whole names."""


def _escaped(line: str, own: str) -> str:
    if line.lstrip().startswith((">>> ", "... ")):
        return line  # code of an example: Sphinx shows it as it stands
    parts = _CODE.split(line)
    parts[::2] = [_MARKUP.sub(lambda found: f"\\{found[0]}", part) for part in parts[::2]]
    for place in range(1, len(parts), 2):  # an object that has a page is a link to it
        word = parts[place].strip("`")
        if word in _PAGES and word != own and parts[place][0] == "`":
            parts[place] = f":py:obj:`{word} <{_PAGES[word]}>`"
    return "".join(parts)


def _joined(lines: list[str]) -> list[str]:
    """With the names of an entry that go on in the next line all in one."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].startswith("    - ") and ":" not in joined[-1] and line.strip():
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return joined


def _named(line: str) -> str:
    """An entry `name, name: words` with its names as code."""
    found = re.fullmatch(r"    - ([\w\\]+(?:, [\w\\]+)*): (.*)", line)
    if not found:
        return line
    names = ", ".join(f"``{name}``" for name in found[1].replace("\\", "").split(", "))
    return f"    - {names}: {found[2]}"


# ------------------------------------------------------------------------------------ signatures

_NOT_CALLED = {"safeselect.ledger.Scope", "safeselect.ledger.Proposals"}
"""Classes whose objects a ledger makes; nobody calls them."""


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, arguments: str | None, returned: str
) -> tuple[str, str] | None:
    """Show what is typed: nobody calls a protocol, <factory> and _Column are not for readers."""
    if getattr(obj, "_is_protocol", False) or name in _NOT_CALLED:
        return "", ""
    if not arguments:
        return None
    return arguments.replace("<factory>", "{}").replace("_Column", "Column"), returned or ""


# ------------------------------------------------------------------------ links out of this folder

_ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "proofs/README.md": "proofs-article.md",
}
_LINK = re.compile(r"\]\(\.\./((?:proofs/)?[A-Z]+\.md)\)")
_NOTEBOOK = re.compile(r"(\]\((?:\.\./)?(?:docs/)?notebooks/\w+)\.ipynb\)")


def inside(app: Any, docname: str, source: list[str]) -> None:
    """Lead links to files that lie beside this folder to their pages on the site."""
    source[0] = _LINK.sub(lambda found: f"]({_ELSEWHERE[found[1]]})", source[0])
    source[0] = _NOTEBOOK.sub(r"\1.md)", source[0])
    if docname == "mathematics":
        source[0] = formulas.raised(source[0])
    if docname == "examples/README":
        source[0] += gallery.page(HERE)
    if docname == "interface":
        source[0] = reference.linked(source[0])
    source[0] = finding.keywords(docname) + source[0]


def setup(app: Any) -> None:
    """Sphinx calls this."""
    reference.write(HERE)
    notebooks.write(HERE)
    finding.scorer(HERE / "reference")
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("source-read", inside)
