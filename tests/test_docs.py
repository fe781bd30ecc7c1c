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
from safeselect.release.display import PUBLISHED

INTERFACE = (ROOT / "docs" / "interface.md").read_text("utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
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


def test_install_lines_are_true_today() -> None:
    """On the day of publication `PUBLISHED` becomes true, and this names the pages to change."""
    own = re.compile(r"pip install '?(safeselect|\.)(?:\[|\s|$)", re.MULTILINE)
    typed = [(page, *own.findall((ROOT / page).read_text("utf-8"))) for page in PAGES]
    wrong = "." if PUBLISHED else "safeselect"
    assert [page for page, *names in typed if wrong in names] == []
    assert sum(len(names) for _, *names in typed) >= 5


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) < 900


def test_classifiers_are_the_pythons_on_which_something_ran() -> None:
    """The table of the page on publishing says what ran where; "not run" is no classifier."""
    table = (ROOT / "docs" / "publishing.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([\d., ]+) \| (.*) \|$", table, re.MULTILINE)
    ran = {each for names, what in rows if "not run" not in what for each in names.split(", ")}
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert (named, len(rows)) == (sorted(ran), 5)


def test_every_figure_is_drawn_by_a_program_of_the_project() -> None:
    programs = [*ROOT.glob("examples/*.py"), *ROOT.glob("benchmarks/*.py")]
    texts = "".join(path.read_text("utf-8") for path in programs)
    assert [each.name for each in ROOT.glob("docs/*.svg") if each.name not in texts] == []
