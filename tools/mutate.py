"""Mutation testing of the trusted core: `make mutants`.  docs/mutants.md explains what survives.

mutmut makes small changes to the code, one at a time, and runs the tests marked with a claim.  The
order is that in which the parts build on one another, and all stops when the time is over, so a run
says of each part what was killed, what survived and what was not tried:

    make mutants ARGS='--minutes 20 --parts _exact guarantees'

What survives is then shown to all tests of its own part, with or without a mark: what they notice
lacks a mark, and what they do not notice lacks a test or is explained.

All happens on a copy in build/mutants; `mutmut show NAME` there shows a mutant.  Left out are tests
that start processes or read the source (they would see the original or every mutant at once), and
those that take longer than --longest: most mutants of the lower parts are reached by every test,
and a survivor costs them all.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
RANKING = ("plan", "scale", "draws", "select", "largest", "contenders", "rank", "top", "many")
THRESHOLDS = ("laws", "logarithm", "fine", "thresholds")
PARTS = {
    "_exact": (("_exact/*",), "tests/exact"),
    "guarantees": (("guarantees/*",), "tests/guarantees"),
    "thresholds": (tuple(f"lattice/{name}.py" for name in THRESHOLDS), "tests/lattice"),
    "ranking": (tuple(f"lattice/{name}.py" for name in RANKING), "tests/lattice"),
    "mechanisms": (("mechanisms/*",), "tests/mechanisms"),
}
"""The files of a part and the folder of its own tests, in the order in which they build up."""

LEFT_OUT = (
    *("tests/release", "tests/adapters", "tests/timing", "tests/audit", "tests/sources"),
    *("tests/test_lint.py", "tests/test_import.py", "tests/lattice/test_work.py"),
    *("tests/accounting/test_ledger_processes.py", "tests/accounting/test_ledger_faults.py"),
    "tests/mechanisms/test_threads_and_forks.py",
)
SETTINGS = """[mutmut]
source_paths=src
only_mutate=
{files}
also_copy=
    tools
    docs
    examples
    requirements
    README.md
    SECURITY.md
process_isolation=forkserver
timeout_multiplier=4
timeout_constant=10
pytest_add_cli_args=
{options}
pytest_add_cli_args_test_selection=
    tests
"""
VERDICTS = {0: "survived", 1: "killed", 3: "killed", 33: "not reached", None: "not run"}


def main() -> int:
    """Copy, time the tests, mutate part by part until the time is over, report."""
    options = parser().parse_args()
    end = monotonic() + 60 * options.minutes
    prepare()
    skipped = [f"--ignore={path}" for path in LEFT_OUT]
    skipped += [f"--deselect={test}" for test in slow(skipped, options.longest)]
    files = [f"src/safeselect/{file}" for part in options.parts for file in PARTS[part][0]]
    settings = SETTINGS.format(
        files="\n".join(f"    {file}" for file in files),
        options="\n".join(f"    {each}" for each in ("-m", "claim", *CALM, *skipped)),
    )
    (WORK / "setup.cfg").write_text(settings)
    noticed: dict[str, bool] = {}
    for part in options.parts:
        patterns, own = PARTS[part]
        names = [f"safeselect.{pattern_of(file)}" for file in patterns]
        bounded([*MUTMUT, "run", "--max-children", "1", *names], end - monotonic())
        for name in survivors():
            if name not in noticed and monotonic() < end:
                noticed[name] = own_tests_notice(name, own, end - monotonic())
    print("\n".join(report(noticed)))
    return 0


CALM = ("-p", "no:cacheprovider", "-p", "no:xdist")
MUTMUT = (sys.executable, "-m", "mutmut")


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    words = argparse.ArgumentParser(description="Mutation testing of the trusted core.")
    words.add_argument("--minutes", type=float, default=55, help="when to stop (55)")
    words.add_argument("--longest", type=float, default=1, help="seconds of a test, at most (1)")
    words.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    return words


def prepare() -> None:
    """A fresh copy of all that tests read."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name in ("src", "tests", "tools", "docs", "examples", "requirements"):
        shutil.copytree(ROOT / name, WORK / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "SECURITY.md"):
        shutil.copy(ROOT / name, WORK)


def slow(skipped: list[str], longest: float) -> Iterator[str]:
    """The tests that take too long here, or fail already in the copy."""
    found = WORK / "durations.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "claim", *CALM, *skipped]
    subprocess.run(
        [*command, "-o", "junit_family=xunit1", f"--junitxml={found}", "tests"],
        cwd=WORK,
        env={**os.environ, "PYTHONPATH": str(WORK / "src")},
        check=False,
    )
    for case in ElementTree.parse(found).iter("testcase"):  # noqa: S314 - as above
        if float(case.attrib["time"]) > longest or case.find("failure") is not None:
            yield f"{case.attrib['file']}::{case.attrib['name']}"


def bounded(command: list[str], seconds: float) -> bool:
    """Run a command and all that it starts for so long at most; whether it ended by itself."""
    if seconds <= 0:
        return False
    run = subprocess.Popen(command, cwd=WORK, start_new_session=True)
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return False
    return True


def pattern_of(file: str) -> str:
    """How mutmut calls the mutants of a file, or of all files of a folder."""
    return f"{file.removesuffix('.py').removesuffix('/*').replace('/', '.')}.*"


def results() -> Iterator[tuple[str, dict[str, int | None]]]:
    """By file: the mutants and how their tests ended."""
    for meta in sorted((WORK / "mutants").rglob("*.meta")):
        name = meta.relative_to(WORK / "mutants" / "src" / "safeselect").as_posix()
        yield name.removesuffix(".meta"), json.loads(meta.read_text())["exit_code_by_key"]


def survivors() -> list[str]:
    """The mutants that no test with a claim noticed, or reached."""
    return [name for _, codes in results() for name, code in codes.items() if code in (0, 33)]


def own_tests_notice(name: str, own: str, seconds: float) -> bool:
    """Whether any test of a folder fails on a mutant."""
    place = WORK / "mutants"
    environment = {"PYTHONPATH": str(place / "src"), "MUTANT_UNDER_TEST": name}
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *CALM, own],
            cwd=place,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
            timeout=max(seconds, 1),
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode in (1, 2)  # 2: not even collected, for what runs at import


def report(noticed: dict[str, bool]) -> Iterator[str]:
    """A table by file, and what survived all."""
    kinds = ("killed", "survived", "not reached", "timed out", "not run")
    yield f"| file | mutants | {' | '.join(kinds)} | of these noticed by other tests |"
    yield f"|{'---|' * (len(kinds) + 3)}"
    for file, codes in results():
        count = Counter(VERDICTS.get(code, "timed out") for code in codes.values())
        others = sum(noticed.get(name, False) for name in codes)
        cells = [f"`{file}`", len(codes), *(count[kind] for kind in kinds), others]
        yield f"| {' | '.join(map(str, cells))} |"
    for name in (name for name in survivors() if not noticed.get(name)):
        show = subprocess.run(
            [*MUTMUT, "show", name], cwd=WORK, capture_output=True, text=True, check=False
        )
        yield f"\n{name}"
        yield from (
            line
            for line in show.stdout.splitlines()
            if line[:1] in "+-" and line[:3] not in ("+++", "---")
        )


if __name__ == "__main__":
    sys.exit(main())
