"""The order in which to read what decides a release, with files and lines, from the imports.

The decision core is what the one-shot mechanisms import, the theory of composition apart.  Nobody
keeps this list by hand: `make reading` prints it, and a test holds README's figures against it.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["APART", "CORE", "File", "core", "main", "reading", "room"]

ROOT = Path(__file__).parents[1] / "src"
PACKAGE = "safeselect"
CORE = ("select", "prepared")
"""The modules of `mechanisms` whose imports are the decision core."""

APART = "accounting"
"""The room of the theory of composition, which is read by itself."""

_SILENT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


@dataclass(frozen=True, slots=True)
class File:
    """A module with its lines of code: without comments, docstrings and blank lines."""

    module: str
    lines: int

    @property
    def room(self) -> str:
        """The folder that it is in, or its own name; of the package's own file, the package's."""
        return self.module.split(".")[:2][-1]


def _path(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    return next(
        (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None
    )


@cache
def imports(module: str) -> tuple[str, ...]:
    """The modules of this package that are loaded with a module, in their order.

    An import inside a function is none of these: what it names is read by whoever needs it.
    """
    return tuple(_imports(_path(module)))


def _imports(path: Path | None) -> Iterator[str]:
    for node in _loaded(ast.parse(path.read_text("utf-8"))) if path else ():
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if _path(whole) else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith(PACKAGE))


def _loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module that run when it is loaded."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _loaded(node)


@cache
def code_lines(path: Path) -> int:
    """How many lines of a file hold code."""
    return lines_of_code(path.read_text("utf-8"))


def lines_of_code(source: str) -> int:
    """How many lines of a source hold code: no blank one, no comment, no docstring."""
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


def reading(modules: Iterable[str], apart: str = "") -> list[File]:
    """What these modules import, each behind all that it imports itself; one room is left out."""
    found: dict[str, File] = {}
    begun: set[str] = set()

    def visit(module: str) -> None:
        path = _path(module)
        if module in begun or path is None or module.startswith(f"{PACKAGE}.{apart}."):
            return
        begun.add(module)
        for other in imports(module):
            visit(other)
        found[module] = File(module, code_lines(path))

    for module in modules:
        visit(module)
    return list(found.values())


def core() -> list[File]:
    """The decision core in the order of reading."""
    return reading([f"{PACKAGE}.mechanisms.{name}" for name in CORE], APART)


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


def main(rooms: list[str]) -> int:
    """Print the order of reading, room by room, and the sum: of these rooms, else of the core."""
    files = [file for name in rooms for file in room(name)] if rooms else core()
    _print(files)
    what = ", ".join(rooms) or "the decision core"
    print(f"{what}: {sum(file.lines for file in files)} lines in {len(files)} files")
    return 0


def _print(files: list[File]) -> None:
    for room, held in _by_room(files).items():
        plural = "s" if len(held) > 1 else ""
        print(f"{room}: {sum(file.lines for file in held)} lines in {len(held)} file{plural}")
        for file in held:
            print(f"  {file.lines:4}  {file.module.removeprefix(f'{PACKAGE}.')}")


def _by_room(files: list[File]) -> dict[str, list[File]]:
    """The files of each room in their order, each room behind all that its files import."""
    held: dict[str, list[File]] = {}
    for file in files:
        held.setdefault(file.room, []).append(file)
    ordered: dict[str, list[File]] = {}
    begun: set[str] = set()

    def visit(room: str) -> None:
        if room in begun or room not in held:
            return
        begun.add(room)
        for file in held[room]:
            for other in imports(file.module):
                visit(File(other, 0).room)
        ordered[room] = held[room]

    for room in held:
        visit(room)
    return ordered


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
