"""What a first release runs, line by line, is what README says of it."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

import reading

README = " ".join((Path(reading.__file__).parents[1] / "README.md").read_text("utf-8").split())
TRACED = """
import sys
from pathlib import Path
import numpy, safeselect
root, seen = Path(safeselect.__file__).parent, set()
def trace(frame, event, arg):
    name = frame.f_code.co_filename
    if not name.startswith(str(root)):
        return None
    if event == "line" and frame.f_code.co_name not in ("<module>", "<lambda>"):
        seen.add((Path(name).relative_to(root).with_suffix("").as_posix(), frame.f_lineno))
    return trace
scores = {"a": 3, "b": 1, "c": 2, "d": 9}
calls = {
    "list": lambda **more: safeselect.top_k([3, 1, 2, 9], k=2, sensitivity=1, **more),
    "mapping": lambda **more: safeselect.top_k(scores, k=2, sensitivity=1, **more),
    "array": lambda **more: safeselect.top_k(numpy.arange(5), k=2, sensitivity=1, **more),
    "gaps": lambda **more: safeselect.top_k_with_gaps([3, 1, 2, 9], k=2, sensitivity=1, **more),
}
call, more = calls[sys.argv[1]], dict(each.split("=") for each in sys.argv[2:])
sys.settrace(trace)
call(**more)
sys.settrace(None)
for name, line in sorted(seen):
    print(name, line)
"""


@lru_cache
def lines_outside(call: str, *more: str) -> dict[str, int]:
    """How many lines of each file that is not in the core a call in a fresh process runs."""
    run = subprocess.run(
        [sys.executable, "-c", TRACED, call, *more], capture_output=True, text=True, check=True
    )
    core = {file.module.removeprefix("safeselect.").replace(".", "/") for file in reading.core()}
    files = [line.split()[0] for line in run.stdout.splitlines()]
    assert core & set(files)
    return {name: files.count(name) for name in sorted(set(files) - core)}


@pytest.mark.parametrize("call", ["list", "mapping", "array", "gaps"])
def test_without_delta_the_core_runs_and_the_price_is_written_down(call: str) -> None:
    assert set(lines_outside(call, "epsilon=1")) <= {"accounting/cost"}


@pytest.mark.parametrize("call", ["list", "mapping", "array"])
def test_with_a_delta_the_accounting_runs_too_as_much_as_is_said(call: str) -> None:
    files = lines_outside(call, "epsilon=1", "delta=1e-6")
    assert {name.split("/")[0] for name in files} <= {"accounting", "exact"}
    (found,) = re.findall(r"about (\d+) lines in (\d+) files of `accounting/`", README)
    lines, count = map(int, found)
    accounting = [number for name, number in files.items() if name.startswith("accounting/")]
    assert abs(sum(accounting) - lines) <= lines / 10
    assert abs(len(accounting) - count) <= 1


def test_more_is_noticed() -> None:
    """A tracer that saw nothing would pass the first test."""
    assert lines_outside("list", "epsilon=1", "delta=1e-6") != lines_outside("list", "epsilon=1")
