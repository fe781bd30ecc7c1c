"""See that each module's own file of tests notices a change of the module: `make mirrored`.

A module's own file is `test_<module>.py` in a folder with the name of its room.  Changes of the
module are drawn at random, from its name: another operator or number, or a condition turned round.
One after the other is planted in a copy of the package, until a test of the file fails that passes
where a comment alone was added.  Each verdict is a line of `build/mirrored.jsonl`; a module that
has one is not tried again.  The exit status is 1 if a file notices none of the changes.

    make mirrored ARGS='--only ledger/ --changes 8'
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutants import PACKAGE, copy, python

LOG = ROOT / "build" / "mirrored.jsonl"
SECONDS = 120  # of one change
_PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    *((ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or)),
    *((ast.LShift, ast.RShift), (ast.BitOr, ast.BitAnd)),
)
_OTHER = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])} | {ast.Div: ast.Mult}


@dataclass(frozen=True)
class Change:
    """A text of one line of a module, and what is put in its place."""

    function: str
    line: int
    start: int
    text: str
    other: str

    def made(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1].encode()
        end = self.start + len(self.text.encode())
        lines[self.line - 1] = (line[: self.start] + self.other.encode() + line[end:]).decode()
        return "".join(lines)


def changes(source: str) -> Iterator[Change]:
    """All changes of one line that this tool knows; of functions, where there are any."""
    tree = ast.parse(source)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    for function in functions or [tree]:
        for statement in function.body:
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield from _of(statement, source, getattr(function, "name", ""))


def _of(node: ast.AST, source: str, function: str) -> Iterator[Change]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.Import | ast.ImportFrom):
        return  # what is said is for other tests
    other = _changed(node)
    if other is not None and node.lineno == node.end_lineno:
        text = ast.get_source_segment(source, node)
        yield Change(function, node.lineno, node.col_offset, text, other)
    for below in ast.iter_child_nodes(node):
        yield from _of(below, source, function)


def _changed(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in _OTHER:
            return f"({ast.unparse(ast.Compare(left, [_OTHER[type(op)]()], [right]))})"
        case ast.BinOp(left, op, right) if type(op) in _OTHER:
            return f"({ast.unparse(ast.BinOp(left, _OTHER[type(op)](), right))})"
        case ast.BoolOp(op, values):
            return f"({ast.unparse(ast.BoolOp(_OTHER[type(op)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"bool({ast.unparse(operand)})"
        case ast.Constant(value) if type(value) is int:
            return str(value + 1)
        case ast.Constant(bool(value)):
            return str(not value)
    return None


def own_file(module: Path) -> Path | None:
    """The file of tests of a module of the package."""
    room = module.parent.name if module.parent != PACKAGE else "tests"
    name = f"test_{module.stem.strip('_')}.py"
    found = (each for each in (ROOT / "tests").rglob(name) if each.parent.name == room)
    return next(found, None)


def failure(module: Path, source: str, test: str) -> str | None:
    """The first test that fails where the module is this."""
    with tempfile.TemporaryDirectory() as place:
        package = copy(Path(place))
        (package / "safeselect" / module.relative_to(PACKAGE)).write_text(source)
        calm = ("-x", "-q", "--tb=no", "-rfE", "-m", "not nightly", "-p", "no:cacheprovider")
        try:
            done = python(package, "-m", "pytest", *calm, test, seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found and found[1]


def verdict(module: Path, test: Path, most: int) -> dict[str, object]:
    """Which of some changes of a module its own file of tests notices first."""
    source, name = module.read_text(), module.relative_to(PACKAGE).as_posix()
    every = [*dict.fromkeys(changes(source))]
    tried = random.Random(name).sample(every, min(most, len(every)))  # noqa: S311 - no secret
    for number, change in enumerate(tried, 1):
        found = failure(module, change.made(source), test.relative_to(ROOT).as_posix())
        if found and failure(module, f"{source}\n# a comment\n", found.partition("[")[0]) is None:
            said = {"function": change.function, "text": change.text, "other": change.other}
            return {"module": name, "tried": number, **said, "test": found}
    return {"module": name, "tried": len(tried), "test": None}


def table(verdicts: dict[str, dict[str, object]]) -> Iterator[str]:
    """Rows for tests/kills.md."""
    yield "| module | change | changes tried | the test that fails |\n|---|---|--:|---|"
    for name, each in sorted(verdicts.items()):
        said = "" if not each["test"] else "`{function}`: `{text}` → `{other}`".format_map(each)
        test = str(each["test"] or "none").removeprefix("tests/").partition("[")[0]
        said = said.replace("|", "\\|")
        yield f"| `{name}` | {said} | {each['tried']} | `{test.replace('::', '`: `')}` |"


def main(arguments: list[str] | None = None) -> int:
    """Plant, look, print; 1 if a file notices none of the changes."""
    words = argparse.ArgumentParser(description="Does each module's own file notice a change?")
    words.add_argument("--only", default="", help="only modules whose path contains this")
    words.add_argument("--changes", type=int, default=5, help="of a module, at most")
    options = words.parse_args(arguments)
    LOG.parent.mkdir(exist_ok=True)
    LOG.touch()
    verdicts = {each["module"]: each for each in map(json.loads, LOG.read_text().splitlines())}
    for module in sorted(PACKAGE.rglob("*.py")):
        name, test = module.relative_to(PACKAGE).as_posix(), own_file(module)
        if options.only not in name or name in verdicts or test is None:
            continue
        verdicts[name] = verdict(module, test, options.changes)
        with LOG.open("a") as file:
            file.write(json.dumps(verdicts[name]) + "\n")
        print(f"{name}: {verdicts[name]['test']}", flush=True)
    print("\n".join(table(verdicts)))
    return int(any(each["test"] is None for each in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
