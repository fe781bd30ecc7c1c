"""The pages: every public name is on that of the interface, and every link leads to a file."""

from __future__ import annotations

import re

from pages import PAGES, ROOT
from public import NAMED

import safeselect
import safeselect.estimates
import safeselect.prepared
import safeselect.results
import safeselect.testing
from safeselect import tables

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
    for module in (safeselect.prepared, safeselect.results):
        assert named(module.__name__) == set(module.__all__)
    assert named("safeselect.testing") == set(safeselect.testing.__all__)
    assert named("safeselect.tables") == set(tables.__all__)
    estimates = named("safeselect.estimates") | named("safeselect")
    assert estimates >= set(safeselect.estimates.__all__)


def test_every_public_name_has_a_docstring() -> None:
    for module in (safeselect, *NAMED, safeselect.testing, tables):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_links_lead_to_files() -> None:
    """Beside those that Sphinx checks: pages must work on a plain git forge as well."""
    broken = [
        (page, target)
        for page in PAGES
        for target in LINK.findall((ROOT / page).read_text("utf-8"))
        if not (ROOT / page).parent.joinpath(target).exists()
    ]
    assert broken == []
