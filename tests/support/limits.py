"""Calls under limits of processor time, memory and the size of files, each in its own process.

A `Nursery` is a fresh interpreter that has loaded a file of cases and made a release; it forks a
child for each case.  So a child has mapped what the package needs and nothing of pytest's, and does
not import everything again.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import in_child

import safeselect
from safeselect import SafeSelectError

_PAGES = Path("/proc/self/statm")
AVAILABLE = _PAGES.exists()
"""Whether this system tells how much a process has mapped, and limits it: Linux."""

DONE = "done"
"""What became of a call that returned, or raised an error of the library."""

_LONGEST_FILE = 2**26


class Nursery:
    """Runs cases of a file.

    Args:
        file: a Python file that defines `CASES`, functions by name.
    """

    def __init__(self, file: str) -> None:
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, __file__, file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def run(self, case: str, *, seconds: int, mebibytes: int) -> str:
        """What became of a case: DONE, the name of another exception, or "killed".

        Args:
            seconds: of processor time, after which the child is killed.
            mebibytes: what it may map, beyond what was mapped before.
        """
        asked, answered = self._process.stdin, self._process.stdout
        if asked is None or answered is None:
            raise RuntimeError("no pipes")
        asked.write(json.dumps([case, seconds, mebibytes]) + "\n")
        asked.flush()
        return answered.readline().strip()

    def close(self) -> None:
        self._process.communicate()


def _limit(seconds: int, mebibytes: int) -> None:
    mapped = int(_PAGES.read_text().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, mapped + (mebibytes << 20)),
        (resource.RLIMIT_FSIZE, _LONGEST_FILE),
    ):
        resource.setrlimit(kind, (most, most))
    # One processor: otherwise what DuckDB maps for its threads would follow the machine.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _outcome(case: Callable[[], Any], seconds: int, mebibytes: int) -> str:
    def limited() -> bytes:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _limit(seconds, mebibytes)
        with contextlib.suppress(SafeSelectError):
            case()
        return DONE.encode()

    answer = in_child(limited)
    return answer.decode() if isinstance(answer, bytes) else answer or "killed"


def _serve(file: str) -> None:
    cases = runpy.run_path(file)["CASES"]
    safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1)
    for line in sys.stdin:
        case, seconds, mebibytes = json.loads(line)
        sys.stdout.write(_outcome(cases[case], seconds, mebibytes) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
