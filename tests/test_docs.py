"""The pages: every public name is on that of the interface, and every link leads to a file."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from pages import PAGES, ROOT

import safeselect
import safeselect.estimates
import safeselect.testing
from safeselect.adapters import tables

INTERFACE = (ROOT / "docs" / "interface.md").read_text("utf-8")
MODULE = re.compile(r"currentmodule:: (\S+)(.*?)(?=currentmodule|\Z)", re.DOTALL)
NAME = re.compile(r"auto(?:function|class|exception):: (\w+)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")


def named(module: str) -> set[str]:
    """The names that the page documents from a module."""
    parts = [text for name, text in MODULE.findall(INTERFACE) if name == module]
    return {name for text in parts for name in NAME.findall(text)}


def test_every_public_name_is_on_the_page_of_the_interface() -> None:
    assert named("safeselect") == set(safeselect.__all__)
    assert named("safeselect.testing") == set(safeselect.testing.__all__)
    assert named("safeselect.adapters.tables") == set(tables.__all__)
    estimates = named("safeselect.estimates") | named("safeselect")
    assert estimates >= set(safeselect.estimates.__all__)


def test_every_public_name_has_a_docstring() -> None:
    for module in (safeselect, safeselect.testing, safeselect.estimates, tables):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    """Beside those that Sphinx checks: pages must work on a plain git forge as well."""
    for target in LINK.findall((ROOT / page).read_text("utf-8")):
        assert (ROOT / page).parent.joinpath(target).exists(), target


READING = "errors.py _exact guarantees sources samplers lattice accounting mechanisms estimates"


def lines_of_code(file: Path) -> int:
    """Lines with more than comments, docstrings and blanks."""
    text = file.read_text("utf-8")
    idle = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    told = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (*idle, tokenize.ENDMARKER)
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - told)


def test_the_size_of_what_is_to_be_read_is_the_one_stated() -> None:
    """The reading list of README, to 5 %."""
    home = ROOT / "src" / "safeselect"
    files = [
        file
        for name in READING.split()
        for file in ([home / name] if name.endswith(".py") else (home / name).rglob("*.py"))
    ]
    found = re.search(
        r"is (\d+) files with ([\d ]+) lines", (ROOT / "README.md").read_text("utf-8")
    )
    assert found is not None
    for stated, counted in (
        (int(found[1]), len(files)),
        (int(found[2].replace(" ", "")), sum(map(lines_of_code, files))),
    ):
        assert abs(stated - counted) <= counted / 20
