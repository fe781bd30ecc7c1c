"""Execute the claims: break the code that keeps each, and see that its evidence fails.

docs/claims.md says which tests are evidence for which claim.  `tests/support/breaks.py` says which
code keeps a claim, and how it is broken.  First all evidence is run on an unbroken copy of the
repository: only a case that passes there can be evidence, and one that fails there is an error.
Then, for each break, the evidence of its claims is run on a broken copy, piece by piece until each
fails once: first, for all breaks, what names the broken module, then what is left.  Evidence that
no break of its claim makes fail is listed, and is an error.

    make execute ARGS='--claims C5 C7 --minutes 20'
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests" / "support", ROOT / "tools"):
    sys.path.insert(0, str(folder))

from breaks import BREAKS
from mutants import Break

import claims

# What git does not keep: results and environments, whatever a user called these.
NOT_COPIED = (
    ".git",
    *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()),
    *(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/pyvenv.cfg")),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the breaks, print what noticed none, and what fails anyhow; 1 if there is any."""
    words = argparse.ArgumentParser(description="Break the code of each claim.")
    known = sorted({claim for each in BREAKS for claim in each.claims}, key=number)
    words.add_argument("--claims", nargs="+", choices=known, default=known)
    words.add_argument("--minutes", type=float, default=600, help="when to stop")
    words.add_argument("--seconds", type=float, default=900, help="of one break, at most")
    options = words.parse_args(arguments)
    end = monotonic() + 60 * options.minutes
    waiting = {pair for pair in claims.evidence() if pair[0] in options.claims}
    total, made, untried = len(waiting), set[Break](), set[Break]()
    passed, anyhow = unbroken({test for _, test in waiting}, 60 * options.minutes)
    print(f"passed without a break: {len(passed)}")
    print(f"failed without a break: {len(anyhow)}")
    print("\n".join(f"    {case}" for case in anyhow), flush=True)
    for each, narrow in [(each, narrow) for narrow in (True, False) for each in BREAKS]:
        mine = sorted(
            (claim, test)
            for claim, test in waiting
            if claim in each.claims and is_near(each, test) == narrow
        )
        if not mine:
            continue
        left = min(options.seconds, end - monotonic())
        if left < 10:
            untried.add(each)
            continue
        made.add(each)
        start = monotonic()
        failed = broken(each, {test for _, test in mine}, left, passed)
        found = {pair for pair in mine if pair[1] in failed}
        waiting -= found
        print(
            f"{' '.join(each.claims):6} {each.path}::{each.function}: "
            f"{len(found)} of {len(mine)} failed, {monotonic() - start:.0f} s",
            flush=True,
        )
    print(f"breaks made: {len(made)}")
    print(f"not made, or not for all, for want of time: {len(untried)}")
    print(f"evidence: {total}")
    print(f"failed under a break: {total - len(waiting)}")
    print(f"no break noticed: {len(waiting)}")
    print("\n".join(f"    {claim} {test}" for claim, test in sorted(waiting)))
    return int(bool(waiting) or bool(anyhow))


def number(claim: str) -> int:
    """By number, not by letters."""
    return int(claim.removeprefix("C"))


def is_near(change: Break, test: str) -> bool:
    """Whether a file of tests names the broken module or function: what it says is asked first."""
    words = (ROOT / test.partition("::")[0]).read_text("utf-8")
    return Path(change.path).stem in words or change.function in words


def unbroken(tests: Iterable[str], seconds: float) -> tuple[list[str], list[str]]:
    """The cases of tests or files that pass on a copy as it is, and what fails there."""
    with tempfile.TemporaryDirectory() as folder:
        place = copy(Path(folder) / "copy", None)
        result = place / "outcomes"
        result.touch()
        run(place, sorted(tests), seconds, {"CLAIM_OUTCOMES": str(result)})
        # Without the last line if it was cut when time ran out.
        found = dict(json.loads(line) for line in result.read_text().split("\n")[:-1])
    passed, failed = (
        sorted(case for case in found if found[case] == word) for word in ("passed", "failed")
    )
    return passed, failed


def broken(
    change: Break, tests: Iterable[str], seconds: float, passed: Iterable[str]
) -> dict[str, str]:
    """The tests or files that fail in a broken copy, each with its first case that does.

    Args:
        change: what is broken.
        tests: tests and files.
        seconds: how long they may take together.
        passed: the cases that pass on an unbroken copy; no other is run.

    Raises:
        ValueError: the text to be changed is not in its place exactly once.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = copy(Path(folder) / "copy", change)
        result, right = place / "failed.json", place / "passed.json"
        right.write_text(json.dumps(sorted(passed)))
        run(
            place,
            sorted(tests),
            seconds,
            {"CLAIM_EVIDENCE": str(result), "CLAIM_PASSED": str(right)},
        )
        # What was noticed before the time was over counts.
        return dict(json.loads(result.read_text())) if result.exists() else {}


def copy(place: Path, change: Break | None) -> Path:
    """A copy of the repository with this change."""
    shutil.copytree(ROOT, place, ignore=not_copied)
    if change is not None:
        change.make(place)
    return place


def not_copied(folder: str, names: list[str]) -> set[str]:
    """The names in a folder that git does not keep."""
    inside = Path(folder).relative_to(ROOT)
    return {
        name
        for name in names
        if any(fnmatch(name, each) or fnmatch(str(inside / name), each) for each in NOT_COPIED)
    }


def run(place: Path, tests: list[str], seconds: float, told: dict[str, str]) -> None:
    """Run tests or files; `claim_evidence` writes down what became of them."""
    calm = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "claim_evidence"]
    calm.append("--assert=plain")  # nobody reads how values differ
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "pytest", *calm, "--continue-on-collection-errors", *tests],
            cwd=place,
            env={**environment(place), **told},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )


def environment(place: Path) -> dict[str, str]:
    """The environment in which a copy runs its own code."""
    path = os.pathsep.join(
        str(place / part) for part in ("src", "tests/support", "tests/laws", "tools")
    )
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "first_failure",
    }


if __name__ == "__main__":
    sys.exit(main())
