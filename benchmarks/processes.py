"""What needs a process of its own: import time, the first call, and memory."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from measure import Result

__all__ = ["first_calls", "imports", "memory"]

_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"

_IMPORTS = """
import json, time
clock = time.perf_counter_ns
a = clock()
import numpy
b = clock()
import gmpy2
c = clock()
import safeselect
d = clock()
print(json.dumps({"numpy": b - a, "gmpy2": c - b, "safeselect above both": d - c,
                  "safeselect above numpy": d - b, "all": d - a}))
"""

_FIRST = """
import json, time
import numpy, safeselect
scores = numpy.arange(10)
times = []
for _ in range(3):
    start = time.perf_counter_ns()
    safeselect.{name}(scores, epsilon="0.1", sensitivity=1, monotonic=True)
    times.append(time.perf_counter_ns() - start)
print(json.dumps(dict(zip(("first", "second", "third"), times))))
"""

_MEMORY = """
import json, resource, sys, time, tracemalloc
from pathlib import Path
import numpy, safeselect
name, n, trace = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "trace"
run = getattr(safeselect, name)
run(numpy.arange(1000), epsilon="0.001", sensitivity=1, monotonic=True)
scores = numpy.random.default_rng(1).integers(0, 1000, n)

def status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0

try:
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
except OSError:
    pass
before = status("VmRSS:")
if trace:
    tracemalloc.start()
start = time.perf_counter_ns()
run(scores, epsilon="0.001", sensitivity=1, monotonic=True)
taken = time.perf_counter_ns() - start
traced = tracemalloc.get_traced_memory()[1] if trace else 0
peak = status("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"resident": (peak - before) / n, "traced": traced / n, "ns": taken}))
"""


@cache
def _byte_code() -> str:
    """A directory of this run for byte code."""
    directory = tempfile.mkdtemp(prefix="safeselect-bench-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _run(code: str, *arguments: str, timeout: float) -> dict[str, float]:
    command = [sys.executable, "-c", code, *arguments]
    # Byte code is kept, as an installation keeps it, whatever the environment says.
    environment = {name: os.environ[name] for name in os.environ if name != _NO_BYTE_CODE}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=True,
        cwd=Path(__file__).parent,
        env=environment | {"PYTHONPYCACHEPREFIX": _byte_code()},
    )
    return dict(json.loads(done.stdout))


def _failure(error: subprocess.CalledProcessError) -> str:
    lines = error.stderr.strip().splitlines() or ["no message"]
    return f"failed: {lines[-1]}"[:200]


def _repeated(code: str, times: int) -> list[Result]:
    try:
        runs = [_run(code, timeout=60) for _ in range(times + 1)][1:]  # the first fills the caches
    except subprocess.CalledProcessError as error:
        return [Result("process", _failure(error))]
    return [Result.of(label, [run[label] for run in runs]) for label in runs[0]]


def imports(times: int) -> list[Result]:
    """Import times in fresh processes."""
    return _repeated(_IMPORTS, times)


def first_calls(name: str, times: int) -> list[Result]:
    """The first calls of fresh processes at n = 10."""
    results = _repeated(_FIRST.format(name=name), times)
    for result in results:
        result.label = f"{name}, {result.label} call"
    return results


def memory(name: str, n: int, cap: float) -> list[Result]:
    """Bytes a candidate beyond the input: resident, and as allocated; and the time of the call."""
    try:
        resident = _run(_MEMORY, name, str(n), "resident", timeout=cap)
        traced = _run(_MEMORY, name, str(n), "trace", timeout=cap)
    except subprocess.TimeoutExpired:
        return [Result(name, "over the cap", unit="bytes each")]
    except subprocess.CalledProcessError as error:
        return [Result(name, _failure(error), unit="bytes each")]
    # The larger of the two: what the system gave, or what was asked for.
    peak = max(resident["resident"], traced["traced"])
    results = [Result.of(name, [peak], unit="bytes each")]
    results[
        0
    ].note = f"resident {resident['resident']:.1f}, allocated {traced['traced']:.1f} bytes each"
    results.append(Result.of(f"{name}, time", [resident["ns"]]))
    return results
