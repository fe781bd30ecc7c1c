"""docs/claims.md cannot rot: it names the tests that are marked, and code that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import claims

ROOT = Path(__file__).parents[1]
PAGE = claims.PAGE.read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
CODE = re.compile(r"`((?:src/safeselect|tools)/[\w/]+\.py)(?:::([\w.]+))?`")
ROWS = [(row["claim"], row["rest"]) for row in claims.ROW.finditer(PAGE)]


def test_every_claim_has_a_line_and_a_test():
    claimed = re.findall(r"^\| (C\d+) \|", SECURITY, re.MULTILINE)
    assert claimed
    assert [claim for claim, _ in ROWS] == claimed
    assert claims.evidence().keys() == set(claimed)


def test_the_page_is_what_the_marks_say():
    """Otherwise: `make claims`."""
    assert claims.written(PAGE, claims.evidence()) == PAGE


def test_no_row_names_all_of_nothing():
    """Read from the page itself, and from the files by their text, not through the generator."""
    rows = re.findall(r"^\| (C\d+) \|.*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 13
    for claim, tests in rows:
        assert re.search(r"`\S+`$", tests), f"the row of {claim} ends in nothing"
        mark = re.compile(rf"^pytestmark = .*claim\(['\"]{claim}['\"]\)", re.MULTILINE)
        whole = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "tests").rglob("test_*.py")
            if mark.search(path.read_text("utf-8"))
        }
        named = set(re.findall(r"`([^`:]+)`", tests.partition("all of ")[2]))
        assert whole <= named, f"{claim} lacks files"


def test_a_test_too_few_and_one_too_many_are_noticed():
    evidence = claims.evidence()
    first, _, others = evidence["C1"].partition(", ")
    assert claims.written(PAGE, {**evidence, "C1": others}) != PAGE
    assert claims.written(PAGE, {**evidence, "C1": f"{first}, `tests/x.py::y`, {others}"}) != PAGE


def test_marks_of_a_test_and_of_a_file(tmp_path):
    path = tmp_path / "test_example.py"
    path.write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.slow, pytest.mark.claim('C2')]\n"
        "def helper(): ...\n"
        "@pytest.mark.claim('C1')\n"
        "@pytest.mark.claim('C3')\n"
        "def test_one(): ...\n"
        "def test_two(): ...\n"
    )
    assert list(claims.marked(path)) == [("C2", ""), ("C1", "test_one"), ("C3", "test_one")]


@pytest.mark.parametrize(("claim", "rest"), ROWS)
def test_the_code_of_a_claim_exists(claim, rest):
    for file, name in CODE.findall(rest):
        text = (ROOT / file).read_text()
        if name:
            assert re.search(rf"^\s*(def|class) {name.split('.')[-1]}\b", text, re.MULTILINE), name
