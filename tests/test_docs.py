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


def test_the_table_of_mathematics_has_every_theorem_and_section() -> None:
    """Each theorem with its status; each section by one of its theorems, or by its number."""
    page = (ROOT / "docs" / "mathematics.md").read_text("utf-8")
    theorem = r"((?:Theorem|Lemma) L?\d+(?:\.\d+)?|Contender lemma|Identity)"
    lines = page.split("## 20.")[1].partition("## Sources")[0].splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][1:]
    for _, status, _ in rows:
        assert re.match(r"(proved here|(\w+ )?cited: \w)", status), status
    at = {each[1]: each.start() for each in re.finditer(rf"\*\*{theorem}", page)}
    listed = [name for row, *_ in rows for name in re.findall(rf"^\| {theorem}", row)]
    assert len(at) > 20
    assert sorted(listed) == sorted(re.findall(rf"\*\*{theorem}", page)) == sorted(at)
    heads = re.finditer(r"^## (\d+)\.", page, re.MULTILINE)
    starts = {int(each[1]): each.start() for each in heads}
    numbered = {int(each) for row, *_ in rows for each in re.findall(r"\((\d+)\)$", row)}
    held = {max(n for n in starts if starts[n] < place) for place in at.values()}
    assert numbered | held == set(starts) - {max(starts)}


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
