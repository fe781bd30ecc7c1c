"""Tests that take more than two seconds of processor time and do not say why: `make durations`.

Runs the tests and adds up, for each, the time of its process and of the children it waited for:
set-up, call and what comes after.  Prints every test that is over `LIMIT` without the mark `slow`,
and every test that has the mark of its own and stays far below.  Nothing fails by the time it
takes: who else uses the machine would decide what passes.  The exit status is that of the tests.

    make durations ARGS='tests/engine'
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT = 2.0
"""Seconds; above it a test says why, by `pytest.mark.slow("...")`."""

FIGURES = "SAFESELECT_DURATIONS"
"""Where the plugin leaves its lines; workers of pytest-xdist have the same environment."""


def processor_time() -> float:
    """Seconds of this process and of all children that ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write down what one test took.  A line in one write: workers share the file."""
    start = processor_time()
    result = yield
    own = any(mark.name == "slow" for mark in item.own_markers)
    kind = "own" if own else "file" if item.get_closest_marker("slow") else "none"
    line = f"{processor_time() - start:.3f}\t{kind}\t{item.nodeid}\n"
    place = os.open(os.environ[FIGURES], os.O_WRONLY | os.O_APPEND)
    os.write(place, line.encode())
    os.close(place)
    return result


def report(lines: list[str]) -> list[str]:
    """What is slow and not marked, longest first; then what is marked itself and quick.

    Args:
        lines: seconds, `own`, `file` or `none` for where the mark stands, and the test's name,
            with tabs between.
    """
    taken = [line.rstrip("\n").split("\t", 2) for line in lines]
    figures = [(float(seconds), mark, name) for seconds, mark, name in taken]
    unmarked = sorted(each for each in figures if each[0] > LIMIT and each[1] == "none")
    longest: dict[str, float] = defaultdict(float)
    for seconds, mark, name in figures:
        if mark == "own":
            test = name.partition("[")[0]
            longest[test] = max(longest[test], seconds)
    quick = sorted(test for test, seconds in longest.items() if seconds < LIMIT / 4)
    total = sum(seconds for seconds, _, _ in figures)
    return [
        f"{len(figures)} tests, {total:.0f} s of processor time",
        f"Over {LIMIT:g} s and not marked slow: {len(unmarked)}",
        *(f"{seconds:8.1f} s  {name}" for seconds, _, name in reversed(unmarked)),
        f"Marked slow, and under {LIMIT / 4:g} s: {len(quick)}",
        *(f"            {test}" for test in quick),
    ]


def main() -> int:
    """Run the tests with the arguments of the command line, and report."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures"
        figures.touch()
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "durations", *sys.argv[1:]],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), FIGURES: str(figures)},
            check=False,
        )
        print("\n".join(report(figures.read_text().splitlines())))
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
