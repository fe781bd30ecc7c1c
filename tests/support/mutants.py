"""Broken copies of the package, and the evidence that must notice.

A break is a small change of the text of the shipped source.  If the text is no longer there, or is
there twice, making the copy fails: the break then has to follow the code.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import safeselect

ROOT = Path(__file__).parents[2]
PACKAGE = Path(safeselect.__file__).parent

SHARED = ROOT / "tests" / "laws", ROOT / "tests" / "support"

_KNOWN = """
import sys
from safeselect.known_answers import answer, read
rows = {name: row for name, row in read("small").items() if name in sys.argv[1:]}
if len(rows) != len(sys.argv) - 1:
    sys.exit("no such row")
def same(name, row):
    stated = []
    try:
        told = {kind: answer(name, row, kind, stated) for kind in row["told"]}
    except Exception:
        return False
    return (told, stated) == (row["told"], row["stated"])
sys.exit(10 + (not all(same(name, row) for name, row in rows.items())))
"""
_LAW = """
import sys
from checks.every import checks
from checks.finding import QUICK
named = [check for check in checks() if check.name in sys.argv[1:]]
if len(named) != len(sys.argv) - 1:
    sys.exit("no such check, or two")
try:
    [check.examine(QUICK) for check in named]
except Exception:
    sys.exit(11)
sys.exit(10)
"""
_SCRIPTS = {"known ": _KNOWN, "law ": _LAW}


@dataclass(frozen=True)
class Break:
    """A change of text that breaks the package.

    Args:
        place: a file below `src/safeselect`, or with `tools/` in front, and behind a colon the name
            of the function or method that the text is in; without one it is anywhere in the file.
        text, other: what is changed; it is there once.
        claims: those of SECURITY.md that the place keeps.
    """

    place: str
    text: str
    other: str
    claims: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return self.place.partition(":")[0]

    @property
    def function(self) -> str:
        return self.place.partition(":")[2]

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return self.file if self.file.startswith("tools/") else f"src/safeselect/{self.file}"

    def starts(self, source: str) -> list[int]:
        """Where the text is, inside functions of that name."""
        ends = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
        parts = [
            (ends[node.lineno - 1], ends[node.end_lineno or 0])
            for node in (ast.walk(ast.parse(source)) if self.function else ())
            if isinstance(node, ast.FunctionDef) and node.name == self.function
        ]
        if not self.function:
            parts = [(0, len(source))]
        found = re.finditer(re.escape(self.text), source)
        return [each.start() for each in found if any(a <= each.start() < b for a, b in parts)]

    def made(self, source: str) -> str:
        """The broken source.

        Raises:
            ValueError: the text is not there exactly once.
        """
        starts = self.starts(source)
        if len(starts) != 1:
            raise ValueError(f"{self.place} has {len(starts)} times: {self.text}")
        return source[: starts[0]] + self.other + source[starts[0] + len(self.text) :]

    def make(self, root: Path) -> None:
        """Break the file below the root of a copy of the repository."""
        (root / self.path).write_text(self.made((root / self.path).read_text()))


def copy(place: Path, breaks: Iterable[Break] = ()) -> Path:
    """A copy of the package in `place`, with these breaks."""
    shutil.copytree(
        PACKAGE,
        place / "safeselect",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    for each in breaks:
        path = place / "safeselect" / each.file
        path.write_text(each.made(path.read_text()))
    return place


def python(
    package: Path, *words: str, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with a copy of the package, from the root of the repository.

    Raises:
        subprocess.TimeoutExpired: it took longer than so many seconds.
    """
    path = os.pathsep.join(map(str, (package, *SHARED)))
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def evidence(package: Path, *killers: str) -> bool:
    """Whether this evidence holds for a copy of the package.

    Args:
        killers: rows of the known answers as "known NAME", checks of `tests/laws` as "law NAME", or
            tests as "tests/path/test_file.py::test_name", parameters included.

    Raises:
        RuntimeError: it could not be had: the copy cannot be imported, or there is no such test.
    """
    word = next((word for word in _SCRIPTS if killers[0].startswith(word)), "")
    if word:
        command = ["-c", _SCRIPTS[word], *(killer.removeprefix(word) for killer in killers)]
        holds = {10: True, 11: False}
    else:
        holds = {0: True, 1: False}
        # Plainly: nobody reads how the broken copy differs.
        options = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
        command = ["-m", "pytest", *options, *killers]
    run = python(package, *command, seconds=100)
    if run.returncode not in holds:
        raise RuntimeError(f"{killers}: {run.stdout[-500:]}{run.stderr[-500:]}")
    return holds[run.returncode]
