"""Execute the claims: break the code that keeps each, and see that its evidence fails.

docs/claims.md says which tests are evidence for which claim.  `tests/support/breaks.py` says which
code keeps a claim, and how it is broken.  For each break, the evidence of its claims is run on a
broken copy of the repository, piece by piece until each fails once: first, for all breaks, the
broken module's own file of tests, then what names it, then what is left.  The cases that failed
are then run on an unbroken copy: one that fails there too is no evidence, and an error.  Evidence
that no break of its claim makes fail is listed, and is an error.

A file keeps what was noticed and which breaks were made in time, so that a run goes on where the
last one stopped: first in few seconds for each break, then in more for what is left.

    make execute ARGS='--claims C5 C7 --seconds 60 --kept FILE'

With `--share` that many pieces of evidence are asked, drawn by `--seed`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests" / "support", ROOT / "tools"):
    sys.path.insert(0, str(folder))

from breaks import BREAKS
from claim_evidence import pieces
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
    words.add_argument("--kept", type=Path, help="a file for what was noticed, to go on from there")
    words.add_argument("--share", type=int, help="how many pieces of evidence to ask (all)")
    words.add_argument("--seed", default="", help="of the share")
    options = words.parse_args(arguments)
    end = monotonic() + 60 * options.minutes
    noticed: dict[str, str] = {}  # a piece of evidence of a claim, and the case that failed
    done: list[str] = []
    if options.kept and options.kept.exists():
        noticed, done = json.loads(options.kept.read_text())
    asked = [f"{claim} {test}" for claim, test in claims.evidence() if claim in options.claims]
    if options.share:
        draw = random.Random(options.seed)  # noqa: S311 - which pieces is no secret
        asked = draw.sample(asked, min(options.share, len(asked)))
    untried = 0
    for far, each in product(range(3), BREAKS):
        mine = [
            piece
            for piece in asked
            for claim, test in [piece.split()]
            if piece not in noticed and claim in each.claims and distance(each, test) == far
        ]
        label = f"{each.path}::{each.function}: {each.text!r}, {_PHASES[far]}"
        if not mine or label in done:
            continue
        left = min(options.seconds, end - monotonic())
        if left < 10:
            untried += 1
            continue
        start = monotonic()
        failed = broken(each, {piece.split()[1] for piece in mine}, left)
        found = {piece: case for piece in mine if (case := failed.get(piece.split()[1]))}
        noticed |= found
        if monotonic() - start < left:
            done.append(label)
        if options.kept:
            options.kept.write_text(json.dumps([noticed, done], indent=1))
        took = f"{len(found)} of {len(mine)} failed, {monotonic() - start:.0f} s"
        print(f"{' '.join(each.claims):6} {label}: {took}", flush=True)
    noticed = {piece: case for piece, case in noticed.items() if piece in asked}
    anyhow = set(noticed.values()) - unbroken(set(noticed.values()), 60 * options.minutes)
    unnoticed = [piece for piece in asked if noticed.get(piece) in {None, *anyhow}]
    print(f"not made, or not for all, for want of time: {untried}")
    for title, cases in {
        "failed without a break": sorted(anyhow),
        f"of {len(asked)} pieces of evidence no break noticed": unnoticed,
    }.items():
        print("\n    ".join([f"{title}: {len(cases)}", *cases]))
    return int(bool(unnoticed))


def number(claim: str) -> int:
    """By number, not by letters."""
    return int(claim.removeprefix("C"))


_PHASES = "its own file of tests", "files that name it", "other files"


def distance(change: Break, test: str) -> int:
    """Which of the phases a piece of evidence is asked in."""
    path, stem = ROOT / test.partition("::")[0], Path(change.path).stem
    if path.stem == f"test_{stem}":
        return 0
    return 1 if re.search(rf"\b({stem}|{change.function})\b", path.read_text("utf-8")) else 2


def unbroken(cases: Iterable[str], seconds: float) -> set[str]:
    """Those of these cases that pass on a copy as it is."""
    with tempfile.TemporaryDirectory() as folder:
        found = run(copy(Path(folder) / "copy", None), sorted(cases), seconds)
    return {case for case, outcome in found.items() if outcome == "passed"}


def broken(change: Break, tests: Iterable[str], seconds: float) -> dict[str, str]:
    """The tests or files that fail in a broken copy, each with a case that does.

    Raises:
        ValueError: the text to be changed is not in its place exactly once.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = run(copy(Path(folder) / "copy", change), sorted(tests), seconds)
    failed = [case for case, outcome in found.items() if outcome == "failed"]
    return {piece: case for case in failed for piece in pieces(case) if piece in tests}


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


def run(place: Path, tests: list[str], seconds: float) -> dict[str, str]:
    """The outcome of each case of tests or files that ran before the time was over."""
    calm = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "claim_evidence"]
    calm.append("--assert=plain")  # nobody reads how values differ
    result = place / "outcomes"
    result.touch()
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "pytest", *calm, "--continue-on-collection-errors", *tests],
            cwd=place,
            env={**environment(place), "CLAIM_OUTCOMES": str(result)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    # Without the last line if it was cut when time ran out.
    return dict(json.loads(line) for line in result.read_text().split("\n")[:-1])


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
