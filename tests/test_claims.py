"""docs/claims.md cannot rot: it names the tests that are marked, and code that exists."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from breaks import BREAKS

import claims
import execute_claims

ROOT = Path(__file__).parents[1]
PAGE = claims.PAGE.read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
TABLES = PAGE.split("\n## ")
CLAIMS = re.findall(r"^\| (C\d+) \|", TABLES[0], re.MULTILINE)
CODE = re.findall(r"^\| (C\d+) \| `([^`:]+)(?:::([\w.]+))?` \|$", TABLES[1], re.MULTILINE)
EVIDENCE = re.findall(r"^\| (C\d+) \| `([^`:]+)(?:::(\w+))?` \|$", TABLES[2], re.MULTILINE)


def test_every_claim_has_a_line_code_and_a_test():
    claimed = re.findall(r"^\| (C\d+) \|", SECURITY, re.MULTILINE)
    assert len(claimed) == 13
    assert claimed == CLAIMS
    assert {claim for claim, *_ in EVIDENCE} == set(claimed)
    assert {claim for claim, *_ in CODE} <= set(claimed)


def test_the_page_is_what_the_marks_say():
    """Otherwise: `make claims`."""
    assert claims.written(PAGE, claims.evidence()) == PAGE


def test_every_claim_has_code_that_can_be_broken():
    assert {claim for each in BREAKS for claim in each.claims} == set(CLAIMS)


@pytest.mark.parametrize("each", BREAKS, ids=lambda each: f"{each.path}::{each.function}")
def test_a_break_changes_the_place_that_it_names(each):
    """Its text is there once, inside a function of that name; the broken file still compiles."""
    source = (ROOT / each.path).read_text()
    assert source.count(each.text) == 1
    start = source[: source.index(each.text)].count("\n") + 1
    end = start + each.text.rstrip("\n").count("\n")
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == each.function
    ]
    assert any(node.lineno <= start and end <= (node.end_lineno or 0) for node in functions)
    ast.parse(source.replace(each.text, each.other))
    assert each.other != each.text


@pytest.mark.slow("breaks two claims in copies of the repository, and runs their evidence there")
@pytest.mark.parametrize(
    ("function", "evidence", "unconcerned"),
    [
        (
            "require_production",
            "tests/sources/test_default.py::test_sources_for_tests_are_refused_when_hardened",
            "tests/samplers/test_permutation.py",
        ),
        (
            "permutation",
            "tests/samplers/test_permutation.py",
            "tests/sources/test_default.py::test_sources_for_tests_are_refused_when_hardened",
        ),
    ],
)
def test_evidence_fails_where_its_code_is_broken_and_only_there(function, evidence, unconcerned):
    """A small part of `make execute`, which `make nightly` runs for all claims."""
    (change,) = (each for each in BREAKS if each.function == function)
    failed = execute_claims.broken(change, {evidence, unconcerned}, 120)
    assert failed.keys() == {evidence}
    assert failed[evidence].startswith(evidence)
    assert execute_claims.broken(None, {failed[evidence]}, 120) == {}


def test_a_break_whose_text_is_gone_is_an_error(tmp_path):
    gone = replace(BREAKS[0], text="no such line")
    with pytest.raises(ValueError, match="has 0 times: no such line"):
        execute_claims.copy(tmp_path, gone)


def test_every_line_is_short_and_says_one_thing():
    assert max(map(len, PAGE.splitlines())) < 200


def test_the_lines_are_there():
    """By the text of the files, not through the generator: each named test exists, bears its mark,
    and no file that is marked as a whole is missing.
    """
    assert len(EVIDENCE) == len(set(EVIDENCE)) > 200
    for claim, file, name in EVIDENCE:
        text = (ROOT / file).read_text("utf-8")
        mark = rf"claim\(['\"]{claim}['\"]\)"
        if name:
            assert re.search(rf"{mark}\n(@.*\n|[ )\]].*\n)*def {name}\(", text), (claim, name)
        else:
            assert re.search(rf"^pytestmark = (?s:.)*?{mark}", text, re.MULTILINE), (claim, file)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for claim in re.findall(
            r"^pytestmark = .*claim\(['\"](C\d+)['\"]\)", path.read_text(), re.M
        ):
            assert (claim, path.relative_to(ROOT).as_posix(), "") in EVIDENCE


def test_a_test_too_few_and_one_too_many_are_noticed():
    found = claims.evidence()
    assert claims.written(PAGE, found[1:]) != PAGE
    assert claims.written(PAGE, [*found, ("C1", "tests/x.py::y")]) != PAGE


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


@pytest.mark.parametrize(("claim", "file", "name"), CODE)
def test_the_code_of_a_claim_exists(claim, file, name):
    text = (ROOT / file).read_text()
    if name:
        assert re.search(rf"^\s*(def|class) {name.split('.')[-1]}\b", text, re.MULTILINE), name
