"""Break the law of each row of `tests/mission.json`, and see that its test notices.

`tests/support/broken_laws.py` says how.  Each break is made in a copy of the repository.  There the
test of each row whose law it breaks must fail, although the case that failed passes on an unbroken
copy; and so must the row's known answer.

    make laws ARGS='--rows quantile/1 range_'
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests" / "support", ROOT / "tools"):
    sys.path.insert(0, str(folder))

import mission
from broken_laws import BROKEN

import execute_claims


def main(arguments: list[str] | None = None) -> int:
    """Make the breaks, print what noticed none; 1 if there is any."""
    rows = mission.read()
    words = argparse.ArgumentParser(description="Break the law of each row.")
    words.add_argument("--rows", nargs="+", choices=sorted(rows), metavar="ROW")
    words.add_argument("--seconds", type=float, default=600, help="of one break, at most")
    options = words.parse_args(arguments)
    chosen = {name: rows[name] for name in options.rows or rows}
    missed, noticed = list[str](), set[str]()
    for how in dict.fromkeys(each["broken"] for each in chosen.values()):
        start = monotonic()
        mine = {name: each["test"] for name, each in chosen.items() if each["broken"] == how}
        failed = execute_claims.broken(BROKEN[how], set(mine.values()), options.seconds)
        noticed |= set(failed.values())
        same = unchanged(how, list(mine))
        missed += [f"{name}: {test} passes" for name, test in mine.items() if test not in failed]
        missed += [f"{name}: its answer is the same" for name in same]
        print(
            f"{how}: {sum(test in failed for test in mine.values())} tests and "
            f"{len(mine) - len(same)} answers of {len(mine)} rows, {monotonic() - start:.0f} s",
            flush=True,
        )
    anyhow = noticed - execute_claims.unbroken(noticed, 3600)
    missed += [f"fails without a break: {each}" for each in sorted(anyhow)]
    print(f"rows: {len(chosen)}")
    print(f"not noticed: {len(missed)}")
    print("\n".join(f"    {line}" for line in missed))
    return int(bool(missed))


def unchanged(how: str, names: list[str]) -> list[str]:
    """The rows that answer as recorded in a copy in which a law is broken."""
    with tempfile.TemporaryDirectory() as folder:
        place = execute_claims.copy(Path(folder) / "copy", BROKEN[how])
        found = subprocess.run(
            [sys.executable, place / "tests" / "support" / "known.py", "check", *names],
            env=execute_claims.environment(place),
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line.removeprefix("mission: ") for line in found.stdout.splitlines()]
    # A broken copy may also fail as a whole: then nothing is as it was.
    return [name for name in names if name not in lines] if lines else []


if __name__ == "__main__":
    sys.exit(main())
