"""Plant faults in copies of the package: do known answers, laws or tests notice?  `make faults`.

Each fault of `tests/support/faults.py` is planted alone, and all of them at once.  The first known
answer that differs is printed, or the law or the test that fails.  The exit status is 1 if a fault
is not noticed.

With `--ties` those of `tests/support/tie_faults.py`, each alone: the ties to the proofs must notice
without any other test, each in a minute.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutants import copy, evidence
from tie_faults import TIE_FAULTS, TIES

from faults import BY_TESTS, FAULTS, all_at_once, first_failure

MINUTE = 60


def main(arguments: list[str] | None = None) -> int:
    """Plant, look, print; 1 if a fault is not noticed."""
    words = argparse.ArgumentParser(description="Do known answers or laws notice planted faults?")
    words.add_argument("--only", default="", help="only faults whose name contains this")
    words.add_argument("--ties", action="store_true", help="faults that the ties notice alone")
    options = words.parse_args(arguments)
    if options.ties:
        return ties(options.only)
    chosen = {name: changes for name, changes in FAULTS.items() if options.only in name}
    noticed = 0
    for name, changes in chosen.items():
        with tempfile.TemporaryDirectory() as place:
            package = copy(Path(place), changes)
            test = BY_TESTS.get(name)
            if test is None:
                found = first_failure(package, "law")
            else:
                found = None if evidence(package, test) else test
        noticed += found is not None
        print(f"{name}\n    {found or 'NOT NOTICED'}", flush=True)
    print(f"noticed alone: {noticed} of {len(chosen)}")
    with tempfile.TemporaryDirectory() as place:
        package, planted = all_at_once(Path(place))
        said = first_failure(package)
    print(f"planted at once: {planted}\n    {said or 'NOT NOTICED'}")
    return int(noticed < len(chosen) or said is None)


def ties(only: str) -> int:
    """Plant what the ties must notice; 1 if one is not noticed, or not in a minute."""
    chosen = {name: fault for name, fault in TIE_FAULTS.items() if only in name}
    noticed = 0
    for name, fault in chosen.items():
        with tempfile.TemporaryDirectory() as place:
            package, start = copy(Path(place), [fault]), time.monotonic()
            try:
                found = not evidence(package, *TIES)
            except subprocess.TimeoutExpired:
                found = False
            seconds = time.monotonic() - start
        noticed += found and seconds < MINUTE
        print(f"{name}: {'noticed' if found else 'NOT NOTICED'}, {seconds:.0f} s", flush=True)
    print(f"noticed by the ties alone, each in {MINUTE} s: {noticed} of {len(chosen)}")
    return int(noticed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
