"""No true division in the core makes a float.

`/` is exact between rationals and makes a float between integers, and only types tell them apart.
So mypy is asked: in a copy of the package every division is wrapped in `reveal_type`, and each
answer must be an exact type.  A planted file proves that the question is asked.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import safeselect

pytest.importorskip("mypy")

PACKAGE = Path(safeselect.__file__).parent
OUTSIDE_CORE = {"audit", "adapters", "tables", "cli", "__main__.py"}
EXACT = {"fractions.Fraction", "safeselect.exact.interval.Interval", "pathlib.Path"}
PLANTED = """
from fractions import Fraction
def ints(a: int, b: int) -> object:
    return a / b
def rationals(a: int, b: Fraction) -> object:
    a /= b
    return 1 / b
"""


class _Reveal(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name("reveal_type", ast.Load()), [node], [])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        old = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], self.visit(ast.BinOp(old, ast.Div(), node.value)))


@pytest.mark.slow("runs mypy on the package")
def test_every_division_in_the_core_is_exact(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "safeselect"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "spec" / "planted.py").write_text(PLANTED)
    asked = set()
    for path in sorted(copy.rglob("*.py")):
        if path.relative_to(copy).parts[0] in OUTSIDE_CORE:
            continue
        tree = _Reveal().visit(ast.parse(path.read_text("utf-8")))
        text = ast.unparse(ast.fix_missing_locations(tree))
        path.write_text(text, "utf-8")
        place = path.relative_to(copy.parent).as_posix()
        lines = enumerate(text.splitlines(), 1)
        asked |= {f"{place}:{number}" for number, line in lines if "reveal_type(" in line}
    # Types of other packages are not looked at: what they gave would be no exact type.
    options = ["--config-file=", "--ignore-missing-imports", "--check-untyped-defs"]
    options.append("--no-site-packages")
    cache = f"--cache-dir={tmp_path / 'cache'}"
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, cache, "-p", "safeselect"],
        cwd=tmp_path / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    revealed = re.findall(r'^(\S+?): note: Revealed type is "(.*)"$', found.stdout, re.MULTILINE)
    planted = [kind for place, kind in revealed if "planted" in place]
    others = [(place, kind) for place, kind in revealed if "planted" not in place]
    assert sorted(kind.removeprefix("builtins.") for kind in planted) == [
        "float",
        "fractions.Fraction",
        "fractions.Fraction",
    ]
    # Every question has an answer: mypy says nothing about code that it takes to be unreachable.
    assert {place for place, _ in revealed} == asked
    assert [(place, kind) for place, kind in others if kind not in EXACT] == []
