"""The route of a reviewer: what decides a release, file by file, in the order of reading.

The days of the route stand in docs/reading.md.  What it has to hold comes from the code: the files
that the one-shot mechanisms import when they are loaded, and those in which a line runs during
first calls in fresh processes.  A file that is imported or runs, and is on no day, is an error.

    make reading            # the route, day by day
    make reading ARGS=ledger    # the files of a room
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["CALLS", "File", "changes", "code_lines", "core", "days", "imports", "main", "ran"]

ROOT = Path(__file__).parents[1] / "src"
PACKAGE = "safeselect"
ROUTE = Path(__file__).parents[1] / "docs" / "reading.md"
CORE = ("mechanisms.select", "prepared")
"""The modules whose imports are the decision core."""

_DAY = re.compile(r"^## (Day [^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([^`]+\.py)` \|", re.MULTILINE)
_CHANGE = re.compile(
    r"^\| `([^`]+\.py)` \| [^|]+ \| `([^`|]+)` → `([^`|]+)` \| `(tests/[^`|]+)` \|$", re.MULTILINE
)
_SILENT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}

TRACED = """
import sys
from pathlib import Path
import numpy, safeselect
root, seen = Path(safeselect.__file__).parent, set()
ledger = safeselect.Ledger.create(
    ":memory:", {"a": safeselect.Budget("person", "add_remove", epsilon=10)}
)
scope = ledger.scope("a", unit="person", neighbours="add_remove", purpose="reading")
def trace(frame, event, arg):
    name = frame.f_code.co_filename
    if not name.startswith(str(root)):
        return None
    if event == "line" and frame.f_code.co_name not in ("<module>", "<lambda>"):
        seen.add((Path(name).relative_to(root).as_posix(), frame.f_lineno))
    return trace
sys.settrace(trace)
%s
sys.settrace(None)
for name, line in sorted(seen):
    print(name, line)
"""
CALLS = {
    "pure": "safeselect.permute_and_flip({'a': 3, 'b': 1}, epsilon=1, sensitivity=1)",
    "rho": "safeselect.exponential_mechanism(numpy.arange(9), rho='1/8', sensitivity=1)",
    "gaps": "safeselect.top_k_with_gaps([3, 1, 2, 9], k=2, epsilon=1, sensitivity=1)",
    "delta": "safeselect.top_k([3, 1, 2], k=2, epsilon=1, delta='1e-6', sensitivity=1)",
    "charged": "safeselect.permute_and_flip([3, 1], epsilon=1, sensitivity=1, ledger=scope)",
    "session": "safeselect.SparseVector(threshold=5, k=1, epsilon=1, sensitivity=1).query(9)",
    "unknown domain": "safeselect.unknown_domain_top_k({'a': 90, 'b': 1}, k=1, k_bar=2, epsilon=1,"
    " delta='1e-6', places='all')",
}
"""First calls, each in a process of its own, whose files the route has to name."""


@dataclass(frozen=True, slots=True)
class File:
    """A module with its lines of code: without comments, docstrings and blank lines."""

    module: str
    lines: int

    @property
    def room(self) -> str:
        """The folder that it is in, or its own name; of the package's own file, the package's."""
        return self.module.split(".")[:2][-1]

    @property
    def path(self) -> str:
        """Its place in the package."""
        path = _path(self.module)
        return "" if path is None else path.relative_to(ROOT / PACKAGE).as_posix()


def _path(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    return next(
        (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None
    )


@cache
def imports(module: str, inside: bool = True) -> tuple[str, ...]:
    """The modules of this package that a module imports; with those in functions, if `inside`."""
    path = _path(module)
    return tuple(_imports(ast.parse(path.read_text("utf-8")).body, inside)) if path else ()


def _imports(body: Iterable[ast.AST], inside: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and not inside:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if _path(whole) else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith(PACKAGE))
        for part in ("body", "orelse", "finalbody", "handlers"):
            yield from _imports(getattr(node, part, None) or (), inside)


@cache
def code_lines(path: Path) -> int:
    """How many lines of a file hold code."""
    source = path.read_text("utf-8")
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            first = body[0].value
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                told |= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT:
            held |= set(range(token.start[0], token.end[0] + 1))
    return len(held - told)


def reading(modules: Iterable[str], inside: bool = True) -> list[File]:
    """What these modules import, each behind all that it imports itself."""
    found: dict[str, File] = {}
    begun: set[str] = set()

    def visit(module: str) -> None:
        path = _path(module)
        if module in begun or path is None:
            return
        begun.add(module)
        package = module.rpartition(".")[0]
        for other in (package if package != PACKAGE else "", *imports(module, inside)):
            visit(other)
        found[module] = File(module, code_lines(path))

    for module in modules:
        visit(module)
    return [file for file in found.values() if file.lines]


def core(inside: bool = False) -> list[File]:
    """The decision core in the order of reading: what is imported when it is loaded."""
    return reading([f"{PACKAGE}.{name}" for name in CORE], inside)


@cache
def ran(call: str) -> dict[str, int]:
    """How many lines of each file one of `CALLS` runs, as the first call of a fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", TRACED % CALLS[call]], capture_output=True, text=True, check=True
    )
    files = [line.split()[0] for line in run.stdout.splitlines()]
    return {name: files.count(name) for name in sorted(set(files))}


def days() -> dict[str, list[str]]:
    """The days of docs/reading.md, each with its files."""
    return {title: _ROW.findall(text) for title, text in _DAY.findall(ROUTE.read_text("utf-8"))}


def changes() -> dict[str, tuple[str, str, str]]:
    """By the name of a file: a text of it, another text, and the test that must then fail."""
    return {name: tuple(rest) for name, *rest in _CHANGE.findall(ROUTE.read_text("utf-8"))}


def room(name: str) -> list[File]:
    """A room's own files in the order of reading, with those of its inner rooms.

    Raises:
        SystemExit: there is no such room.
    """
    place = ROOT / PACKAGE / name
    paths = [path for path in (place.with_suffix(".py"),) if path.is_file()]
    paths += sorted(place.rglob("*.py"))
    if not paths:
        sys.exit(f"there is no room {name!r}: say the name of a folder or file of src/{PACKAGE}")
    modules = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    named = tuple(module.removesuffix(".__init__") for module in modules)
    return [file for file in reading(named) if file.room == name]


def missing() -> dict[str, list[str]]:
    """Files that the core imports or a call runs, and no day names; each with who needs it."""
    named = {name for files in days().values() for name in files}
    needed = {file.path: ["imported"] for file in core()}
    for call in CALLS:
        for name in ran(call):
            needed.setdefault(name, []).append(call)
    return {name: why for name, why in sorted(needed.items()) if name not in named}


def main(rooms: list[str]) -> int:
    """Print the files of some rooms, or the route; 1 if a file that runs is on no day."""
    if rooms:
        _print(", ".join(rooms), [file for name in rooms for file in room(name)])
        return 0
    for day, names in days().items():
        _print(day, [File(_module(name), code_lines(ROOT / PACKAGE / name)) for name in names])
    loaded, within = core(), core(inside=True)
    _print("imported when the one-shot mechanisms are loaded", loaded, brief=True)
    _print("the same with what functions import", within, brief=True)
    for call in CALLS:
        print(f"a first call, {call}: {len(ran(call))} files")
    for name, why in (lost := missing()).items():
        print(f"on no day: {name} ({', '.join(why)})")
    return 1 if lost else 0


def _module(name: str) -> str:
    return f"{PACKAGE}.{name.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def _print(title: str, files: list[File], brief: bool = False) -> None:
    print(f"{title}: {sum(file.lines for file in files)} lines in {len(files)} files")
    for file in () if brief else files:
        print(f"  {file.lines:4}  {file.path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
