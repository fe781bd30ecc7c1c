"""Broken copies of the package, each with the evidence that must notice it.

A mutant is a small change of the text of the shipped source.  If the text is no longer there, or is
there twice, making the copy fails: the mutant then has to follow the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import safeselect

ROOT = Path(__file__).parents[2]
PACKAGE = Path(safeselect.__file__).parent

LAWS = ROOT / "tests" / "laws"

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
from checks.every import QUICK, checks
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
class Mutant:
    """What is changed, and what must notice it.

    Args:
        changes: (file, text, other text) in `src/safeselect`.
        claim: the claim of SECURITY.md that the mutant breaks.
        killer: a row of the known answers as "known NAME", a check of `tests/laws` as "law NAME",
            or a test marked with the claim as "tests/path/test_file.py::test_name", parameters
            included.
    """

    changes: tuple[tuple[str, str, str], ...]
    claim: str
    killer: str


def copy(place: Path, mutant: Mutant | None = None) -> Path:
    """A copy of the package in `place`, broken as the mutant says.

    Raises:
        ValueError: a text to be changed is not in its file exactly once.
    """
    shutil.copytree(
        PACKAGE,
        place / "safeselect",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    for file, text, other in mutant.changes if mutant else ():
        path = place / "safeselect" / file
        source = path.read_text()
        if source.count(text) != 1:
            raise ValueError(f"{file} has {source.count(text)} times: {text}")
        path.write_text(source.replace(text, other))
    return place


def evidence(package: Path, *killers: str) -> bool:
    """Whether this evidence holds for a copy of the package.

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
    path = os.pathsep.join((str(package), str(LAWS)))
    run = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if run.returncode not in holds:
        raise RuntimeError(f"{killers}: {run.stdout[-500:]}{run.stderr[-500:]}")
    return holds[run.returncode]
