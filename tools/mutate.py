"""Mutation testing of the whole package: `make mutants`.  docs/mutants.md has the results.

`changes` makes small changes of every function, one at a time, and `mutant_judge` shows each to the
tests that execute the changed line.  A room is a folder of `src/safeselect`; its tests are in the
folder of the same name.  All stops when the time is over:

    make mutants ARGS='--minutes 20 --seed 7'               a share of all rooms, in random order
    make mutants ARGS='--only ledger/ cli/ --most 60 --seed 7'  at most 60 of each room

A mutant that no test notices must be explained in tools/survivors.toml: the exit status is 1 if
one is not, if an explanation is of a change that is no longer made, or that a test notices, or if
the time was too short to notice any.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from time import monotonic

import pytest

from changes import changes
from mutant_judge import LATE, LOG, PACKAGE, ROOT, Judge, Mutant

EXPLAINED = ROOT / "tools" / "survivors.toml"

NOT_CHANGED = {
    "adapters/diffprivlib.py": "its library is in the environment of `make dropins`",
    "adapters/pipeline_dp.py": "its library is in the environment of `make pipeline-dp`",
    "tables/spark.py": "its library is in the environment of `make spark`",
}
"""Files of which no mutants are made, and why."""

LEFT_OUT = (
    *("tests/test_docs.py", "tests/test_examples.py", "tests/test_import.py", "tests/test_lint.py"),
    *("tests/test_lint_division.py", "tests/test_site.py", "tests/test_snippets.py"),
    *("tests/test_typing.py", "tests/test_contributing.py", "tests/inside/timing", "tests/tools"),
)
"""Tests that read the source, start processes, which have the original, or count its steps."""

FIRST_FAILURE = "first_failure"
"""One failure is enough: hypothesis looks for no smaller example."""


def main(arguments: list[str] | None = None) -> int:
    """Draw, judge, report."""
    options = parser().parse_args(arguments)
    end = monotonic() + 60 * options.minutes
    every, known = list(mutants()), explained()
    judge = Judge(options, drawn(every, options), known, end)
    os.environ["HYPOTHESIS_PROFILE"] = FIRST_FAILURE
    os.chdir(ROOT)
    calm = ["-q", "--tb=no", "-m", "not nightly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    judge.begin()
    shown, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # the forks print what pytest prints of a test
    left_out = (f"--ignore={path}" for path in LEFT_OUT)
    ended = pytest.main([*calm, *left_out, *options.tests], [judge])
    os.dup2(shown, 1)
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"pytest ended with {ended!r}: {LOG}")
    print(judge.used)
    late = list(judge.verdicts.values()).count(LATE)
    print(f"{late} mutants not shown to all their tests in time")
    print("\n".join(table(every, judge.verdicts, known)))
    wrong = findings(every, judge.verdicts, known)
    for title, said in wrong.items():
        print(f"\n{title}: {len(said)}", *said, sep="\n    ")
    return int("noticed" not in judge.verdicts.values() or any(wrong.values()))


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    words = argparse.ArgumentParser(description="Mutation testing of the package.")
    words.add_argument("--minutes", type=float, default=60, help="when to stop (60)")
    words.add_argument("--longest", type=float, default=5, help="seconds of a test, at most (5)")
    words.add_argument(
        "--patience", type=float, default=5, help="seconds of tests for one mutant, at first (5)"
    )
    words.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="how many mutants at a time (all cores)"
    )
    words.add_argument(
        "--only", nargs="+", default=[""], help="only files that begin so, such as ledger/ or cli/"
    )
    words.add_argument("--most", type=int, help="of each room, at most")
    words.add_argument("--tests", nargs="+", default=["tests"], help="only these tests")
    words.add_argument("--seed", default="", help="the order of the mutants: a hash of it and each")
    return words


def mutants() -> Iterator[Mutant]:
    """All changes of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        if file not in NOT_CHANGED:
            yield from (Mutant(file, change) for change in changes(path.read_text()))


def drawn(every: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """Those that are asked for, in random order: a change elsewhere does not move the others."""

    def place(mutant: Mutant) -> bytes:
        word = f"{options.seed} {mutant.said} {mutant.change.function}"
        return hashlib.sha256(word.encode()).digest()

    found, rooms = [], Counter[str]()
    for mutant in sorted(every, key=place):
        if not mutant.file.startswith(tuple(options.only)):
            continue
        if options.most is None or rooms[mutant.room] < options.most:
            rooms[mutant.room] += 1
            found.append(mutant)
    return found


def explained() -> set[str]:
    """The changes of which it is written down why nothing that is promised changes with them."""
    reasons = tomllib.loads(EXPLAINED.read_text())["reason"]
    return {change for reason in reasons for change in reason["changes"]}


# ---- the report


def findings(
    every: list[Mutant], verdicts: dict[Mutant, str], known: set[str]
) -> dict[str, list[str]]:
    """What makes a run fail, under a title each."""
    survived = {mutant.said for mutant, verdict in verdicts.items() if verdict == "survived"}
    noticed = {mutant.said for mutant, verdict in verdicts.items() if verdict == "noticed"}
    return {
        "Not explained": sorted(survived - known),
        "Explained, but no longer made": sorted(known - {mutant.said for mutant in every}),
        "Explained, but noticed": sorted((noticed & known) - survived),
    }


def table(every: list[Mutant], verdicts: dict[Mutant, str], known: set[str]) -> Iterator[str]:
    """A line a room: how many mutants, and what became of those that were tried."""
    yield "| room | mutants | tried | noticed | survived | explained |"
    yield "|---|--:|--:|--:|--:|--:|"
    rooms: dict[str, Counter[str]] = {mutant.room: Counter() for mutant in every}
    rooms["all"] = Counter()
    for mutant in every:
        verdict = verdicts.get(mutant, "")
        here = {"mutants": 1, verdict: 1, "tried": verdict in ("noticed", "survived")}
        here["explained"] = verdict == "survived" and mutant.said in known
        rooms[mutant.room].update(here)
        rooms["all"].update(here)
    for room, count in rooms.items():
        cells = (count[kind] for kind in ("mutants", "tried", "noticed", "survived", "explained"))
        yield f"| {room} | {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
