"""The index of attacks is complete: each is named, with both halves, and every test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDEX = Path(__file__).with_name("README.md").read_text()
ROW = re.compile(r"^\| A(\d+) \|[^|]*\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def defined(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_attack_is_named_once_and_in_order():
    assert [int(number) for number, _, _ in ROW.findall(INDEX)] == list(range(1, 18))


@pytest.mark.parametrize(("number", "naive", "ours"), ROW.findall(INDEX))
def test_both_halves_exist_and_belong_to_the_attack(number, naive, ours):
    for half, is_naive in ((naive, True), (ours, False)):
        tests = TEST.findall(half)
        assert tests
        for file, name in tests:
            assert name in defined(file)
            assert f"_a{number}_" in name or not (is_naive or re.match(r"test_a\d+_", name))
            assert ("naive" in name) == is_naive


def test_every_attack_test_is_named():
    files = [*Path(__file__).parent.glob("test_*.py"), ROOT / "tests/mechanisms/test_attacks.py"]
    written = {
        (file.relative_to(ROOT).as_posix(), name)
        for file in files
        for name in defined(file.relative_to(ROOT).as_posix())
        if re.match(r"test_a\d+_", name)
    }
    # What tests a tool of a test is no half of an attack.
    tools = {("tests/attacks/test_work.py", "test_a7_the_watch_sees_floats")}
    assert written - tools <= set(TEST.findall(INDEX))
