"""L2: machine instructions of one call, counted by valgrind, for scores that differ.

The calls replay ten tapes of random bytes in turns, the same ones for all scores.  The whole
process is counted for two numbers of calls, and the difference divided: start-up cancels.  60 calls
go before, because the interpreter specializes bytecodes as they are repeated.  PYTHONHASHSEED=0, no
garbage collection, no address randomization where `setarch -R` is allowed.  What is left varies by
a little: memory allocation, and instructions inside NumPy and MPFR that follow values.

    python benchmarks/timing/l2_callgrind.py [--calls permute_and_flip] [--size 1000]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

from shapes import ALL, CALLS, CONTROL, scores_of

GATE = 0.005
TAPES, WARM_UP = 10, 60
RESULTS = Path(__file__).parent / "results" / "l2.json"


def child(name: str, family: str, size: int, count: int) -> None:
    """In the counted process: the same call `count` times, and more before to fill the caches."""
    from safeselect.testing import DeterministicSource, RecordingSource, ReplaySource

    warnings.simplefilter("ignore")
    call, scores, tie = ALL[name], scores_of(family, size), scores_of("tie", size)
    tapes = []
    for number in range(TAPES):
        # Recorded on the tie whatever the family is; the control may ask for more on others.
        source = DeterministicSource(number, i_understand_this_is_not_private=True)
        recording = RecordingSource(source)
        for _ in range(4 if name == CONTROL else 1):
            call(tie, source=recording)
        tapes.append(recording.data)
    gc.collect()
    gc.disable()
    for i in range(WARM_UP + count):
        call(scores, source=ReplaySource(tapes[i % TAPES]))


def instructions(name: str, family: str, size: int, count: int) -> int:
    """Instructions of a whole process that repeats the call."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, __file__, "--child", name, family, str(size), str(count)]
    if _may_fix_addresses():
        command = ["setarch", "-R", *command]
    # NumPy's BLAS starts threads that spin, and callgrind would count their turns.
    fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = os.environ | fixed
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"callgrind failed:\n{done.stderr[-2000:]}")
    return int(found.group(1))


def _may_fix_addresses() -> bool:
    setarch = shutil.which("setarch")
    if setarch is None:
        return False
    done = subprocess.run([setarch, "-R", "true"], check=False, capture_output=True)
    return done.returncode == 0


def per_call(name: str, family: str, size: int, counts: tuple[int, int]) -> int:
    """Instructions of one call."""
    few, many = (instructions(name, family, size, count) for count in counts)
    return (many - few) // (counts[1] - counts[0])


def run(options: argparse.Namespace) -> dict[str, object]:
    """Measure all, and judge."""
    found: dict[str, dict[str, int]] = {}
    for name in options.calls if options.no_control else [*options.calls, CONTROL]:
        size, families = (
            (16, ["tie", "far"]) if name == CONTROL else (options.size, options.families)
        )
        found[name] = {}
        for family in families:
            found[name][family] = per_call(name, family, size, tuple(options.counts))
            print(f"{name:<48} {family:<10} {found[name][family]:>12,}", flush=True)
    spread = {
        label: max(counts.values()) / min(counts.values()) - 1 for label, counts in found.items()
    }
    main = {label: value for label, value in spread.items() if label != CONTROL}
    valid = spread.get(CONTROL, 1) > GATE
    passed = valid and max(main.values()) <= GATE
    for label, value in spread.items():
        print(f"{label:<48} spread {value:.3%}")
    print("valid" if valid else "INVALID: the control was not told apart", "pass" * passed)
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    parts = "; ".join(
        f"{label}: {min(found[label].values()):,} to {max(found[label].values()):,} instructions "
        f"a call, a spread of {value:.2%}"
        for label, value in spread.items()
    )
    paragraph = (
        f"**L2, instruction counts** ({date}, n = {options.size}, same random bytes, families "
        f"{', '.join(options.families)}; callgrind). {parts}. Gate: {GATE:.1%} for the array "
        f"engine, more than that for the control; {'passed' if passed else 'not passed'}."
    )
    return {"instructions": found, "spread": spread, "passed": passed, "paragraph": paragraph}


def main() -> int:
    """Run the command."""
    if sys.argv[1:2] == ["--child"]:
        name, family, size, count = sys.argv[2:]
        child(name, family, int(size), int(count))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", nargs="+", choices=list(CALLS), default=list(CALLS))
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument(
        "--families", nargs="+", default=["tie", "far", "neighbour", "stairs", "random"]
    )
    # Multiples of TAPES, so that every family meets every tape equally often.
    parser.add_argument("--counts", nargs=2, type=int, default=[10, 110])
    parser.add_argument("--no-control", action="store_true")
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    record = run(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
