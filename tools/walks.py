"""Follow each walk from its first line: a clean checkout, a fresh environment, what the page says.

Blocks of the console are typed into a shell, in the checkout.  Blocks of Python that follow each
other are typed into one Python, where a comment behind an expression must be its value.

    make walks
    make walks ARGS=docs/audit.md
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any

__all__ = ["WALKS", "blocks", "followed", "type_in"]

ROOT = Path(__file__).parents[1]
WALKS = ("docs/exports.md", "docs/engineer.md", "docs/scientist.md", "docs/audit.md")
"""Of an analyst, an engineer, a scientist and an auditor."""

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each command of the page and what it must exit with, and each run of blocks of Python."""
    for kind, found in groupby(_BLOCK.findall(text), key=lambda each: each[0]):
        typed = "".join(body for _, body in found)
        if kind == "python":
            yield kind, typed
            continue
        for command in re.split(r"^\$ ", typed.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            yield kind, command.split("\n")[0]


def type_in(text: str, names: dict[str, Any], page: str) -> None:
    """Run what stands in a block of Python, and compare values with the comments behind them."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), page, "exec"), names)  # noqa: S102 - our own page
            continue
        value = eval(compile(ast.Expression(node.value), page, "eval"), names)  # noqa: S307
        _, _, comment = lines[(node.end_lineno or 1) - 1].partition("  # ")
        if _is_value(comment) and repr(value) != comment:
            raise AssertionError(f"{page}: {ast.unparse(node)} is {value!r}, and not {comment}")


def _is_value(comment: str) -> bool:
    """Whether a comment is a value, rather than something about it."""
    try:
        node = ast.parse(comment, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, (ast.Call, ast.Dict, ast.Constant, ast.Tuple, ast.List))


def followed(page: str, place: Path) -> bool:
    """Follow a page in an empty folder; whether all went as it says."""
    checkout, began = place / "safeselect", monotonic()
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    given["PATH"] = f"{place}/env/bin{os.pathsep}{given['PATH']}"
    for kind, typed in blocks((checkout / page).read_text("utf-8")):
        print(f"{monotonic() - began:6.1f} s  {typed if kind == 'console' else '(Python)'}")
        sys.stdout.flush()
        command = typed if kind == "console" else f"python {Path(__file__)} --type {page}"
        ran = subprocess.run(  # noqa: S602 - our own page
            command, shell=True, cwd=checkout, env=given, input=typed, text=True, check=False
        )
        wanted = int((re.findall(r"# exit code (\d+)$", typed) or ["0"])[0])
        if ran.returncode != wanted:
            print(f"FAILED with {ran.returncode}: {page}: {command}")
            return False
    print(f"{page}: followed to its end in {monotonic() - began:.0f} seconds")
    return True


def main(arguments: list[str]) -> int:
    """Follow these pages, or all; 1 if one was not followed to its end."""
    if arguments[:1] == ["--type"]:
        type_in(sys.stdin.read(), {"__name__": "__main__"}, arguments[1])
        return 0
    failed = []
    for page in arguments or WALKS:
        with tempfile.TemporaryDirectory() as place:
            if not followed(page, Path(place)):
                failed.append(page)
    print(f"walks: {len(arguments or WALKS) - len(failed)} of {len(arguments or WALKS)} followed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
