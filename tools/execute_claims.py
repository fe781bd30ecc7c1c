"""Execute the claims: break the code that keeps each, and see that its evidence fails.

docs/claims.md says which tests are evidence for which claim.  `tests/support/breaks.py` says which
code keeps a claim, and how it is broken.  For each break the evidence of its claims is run on a
broken copy of the repository, piece by piece until each fails once: first, for all breaks, what
names the broken module, then what is left.  Evidence that no break of its claim makes fail is
listed, and is an error; so is a case that fails without a break, too.

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
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests" / "support", ROOT / "tools"):
    sys.path.insert(0, str(folder))

from breaks import BREAKS, Break

import claims

COPIED = ("src", "tests", "tools", "docs", "examples", "requirements", "benchmarks", "fuzz")
FILES = ("pyproject.toml", "README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")


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
    total, made, untried, cases = len(waiting), set[Break](), set[Break](), set[str]()
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
        failed = broken(each, {test for _, test in mine}, left)
        cases.update(failed.values())
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
    anyhow = sorted(broken(None, cases, options.seconds))
    print(f"failed without a break: {len(anyhow)}")
    print("\n".join(f"    {case}" for case in anyhow))
    return int(bool(waiting) or bool(anyhow))


def number(claim: str) -> int:
    """By number, not by letters."""
    return int(claim.removeprefix("C"))


def is_near(change: Break, test: str) -> bool:
    """Whether a file of tests names the broken module or function: what it says is asked first."""
    words = (ROOT / test.partition("::")[0]).read_text("utf-8")
    return Path(change.path).stem in words or change.function in words


def broken(change: Break | None, tests: Iterable[str], seconds: float) -> dict[str, str]:
    """The tests, files or cases that fail in a broken copy, each with its first case that does.

    Args:
        change: what is broken, or None for a copy as it is.

    Raises:
        ValueError: the text to be changed is not in its place exactly once.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = copy(Path(folder), change)
        result = place / "failed.json"
        if tests:
            run(place, sorted(tests), result, seconds)
        # What was noticed before the time was over counts.
        return dict(json.loads(result.read_text())) if result.exists() else {}


def copy(place: Path, change: Break | None) -> Path:
    """A copy of the repository with this change."""
    for name in COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, place)
    if change is not None:
        path = place / change.path
        source = path.read_text()
        if source.count(change.text) != 1:
            raise ValueError(f"{change.path} has {source.count(change.text)} times: {change.text}")
        path.write_text(source.replace(change.text, change.other))
    return place


def run(place: Path, tests: list[str], result: Path, seconds: float) -> None:
    """Run each test, or file, until it fails once; `claim_evidence` writes down which did."""
    calm = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "claim_evidence"]
    calm.append("--assert=plain")  # nobody reads how values differ
    path = os.pathsep.join(str(place / part) for part in ("src", "tests/support", "tools"))
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "pytest", *calm, "--continue-on-collection-errors", *tests],
            cwd=place,
            env={
                **os.environ,
                "PYTHONPATH": path,
                "PYTHONDONTWRITEBYTECODE": "1",
                "HYPOTHESIS_PROFILE": "first_failure",
                "CLAIM_EVIDENCE": str(result),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )


if __name__ == "__main__":
    sys.exit(main())
