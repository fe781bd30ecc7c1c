"""Plant faults in copies of the package: do known answers, laws or tests notice?  `make faults`.

Each fault of `tests/support/faults.py` is planted alone, and all of them at once.  The first known
answer that differs is printed, or the law or the test that fails.  The exit status is 1 if a fault
is not noticed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutants import copy, evidence

from faults import BY_TESTS, FAULTS, all_at_once, first_failure


def main(arguments: list[str] | None = None) -> int:
    """Plant, look, print; 1 if a fault is not noticed."""
    words = argparse.ArgumentParser(description="Do known answers or laws notice planted faults?")
    words.add_argument("--only", default="", help="only faults whose name contains this")
    options = words.parse_args(arguments)
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


if __name__ == "__main__":
    sys.exit(main())
