"""docs/claims.md cannot rot: every claim has its tests, and they exist and are marked."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLAIMS = (ROOT / "docs" / "claims.md").read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
ROW = re.compile(r"^\| (C\d+) \|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
CODE = re.compile(r"`((?:src/safeselect|tools)/[\w/]+\.py)(?:::([\w.]+))?`")


def lines() -> list[tuple[str, str]]:
    return ROW.findall(CLAIMS)


def marks(path: Path) -> dict[str, set[str]]:
    """The claims with which each test of a file is marked."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found[node.name] = {
                call.args[0].value
                for call in node.decorator_list
                if isinstance(call, ast.Call)
                and ast.unparse(call.func) == "pytest.mark.claim"
                and isinstance(call.args[0], ast.Constant)
            }
    return found


def test_every_claim_has_a_line_with_a_test():
    claimed = {claim for claim, _ in ROW.findall(SECURITY)}
    listed = {claim for claim, line in lines() if TEST.search(line)}
    assert claimed
    assert listed == claimed


@pytest.mark.parametrize(("claim", "line"), lines())
def test_the_tests_of_a_claim_exist_and_are_marked(claim, line):
    for file, name in TEST.findall(line):
        assert claim in marks(ROOT / file).get(name, set()), f"{file}::{name}"


@pytest.mark.parametrize(("claim", "line"), lines())
def test_the_code_of_a_claim_exists(claim, line):
    for file, name in CODE.findall(line):
        text = (ROOT / file).read_text()
        if name:
            assert re.search(rf"^\s*(def|class) {name.split('.')[-1]}\b", text, re.MULTILINE), name


def test_every_marked_test_is_listed():
    """A test marked with a claim that no line names would be evidence that nobody finds."""
    listed = {(claim, file, name) for claim, line in lines() for file, name in TEST.findall(line)}
    marked = {
        (claim, path.relative_to(ROOT).as_posix(), name)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name, claims in marks(path).items()
        for claim in claims
    }
    assert marked - listed == set()
