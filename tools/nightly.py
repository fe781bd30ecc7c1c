"""All that takes too long for every change, one part after the other: `make nightly`.

Each part is a target of the Makefile, and can be run alone.  A part that fails, or takes longer
than its minutes, does not keep the others from running.  All minutes together are less than three
hours; with `--weekly` the parts that take hours follow.  At the end comes a table with the figures
of each part; the exit status is 1 if any part failed.  With `--commit` the table is the newest
one of `docs/nights.md`, and that page is committed; nothing else may have changed.

    make nightly ARGS='--parts soak mutants'
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Part:
    """A target of the Makefile, its minutes, and the figures to take from what it prints.

    `figures`: an expression with one group, which is summed over all it finds if it is a number
    and otherwise taken where it is found last; by the name of the figure.
    """

    target: str
    minutes: float
    figures: dict[str, str]
    arguments: str = ""
    environment: dict[str, str] = field(default_factory=dict)


NOW = datetime.now(UTC)
BEGUN = NOW.strftime("%Y-%m-%dT%H:%M")
WEEK = NOW.strftime("%G-W%V")
"""The seed of a share of mutants: those that survive get their reasons or tests within a week."""

_TESTS = {"tests": r"^=* ?(\d+ (?:passed|failed).*?) ?=*$"}
_EXECUTE = {
    "evidence": r"^of (\d+) pieces of evidence no break noticed: \d+$",
    "no break noticed": r"^of \d+ pieces of evidence no break noticed: (\d+)$",
    "anyhow": r"^failed without a break: (\d+)$",
}
NIGHTLY = {
    "tests": Part(
        "test", 27, _TESTS, environment={"EVERY": "-m nightly", "SAFESELECT_REQUIRE_POSTGRES": "1"}
    ),
    "counts": Part("test", 10, _TESTS, environment={"SAFESELECT_LONG": "1", "EVERY": "tests/laws"}),
    "soak": Part(
        "soak", 7, {"releases": r"^ *(\d+) releases ", "refuted": r"^(REFUTED: .*)$"}, "--minutes 5"
    ),
    "mutants": Part(
        "mutants",
        15,
        {
            "tests": r"^(\d+) of \d+ tests in use$",
            "tried": r"^\| all \| \d+ \| (\d+) ",
            "noticed": r"^\| all \| \d+ \| \d+ \| (\d+) ",
            "not explained": r"^Not explained: (\d+)$",
        },
        f"--minutes 12 --seed {WEEK}",
    ),
    "execute": Part("execute", 28, _EXECUTE, f"--minutes 26 --share 30 --seed {BEGUN}"),
    "laws": Part("laws", 14, {"rows": r"^rows: (\d+)$", "not noticed": r"^not noticed: (\d+)$"}),
    "faults": Part(
        "faults",
        17,
        {"alone": r"^noticed alone: (\d+ of \d+)$", "at once": r"^planted at once: (\d+)$"},
    ),
    "ties": Part("faults", 10, {"alone": r": (\d+ of \d+)$"}, "--ties"),
    "proofs": Part("proofs", 5, {"theorems": r"^(\d+) theorems, no axioms$"}),
    "service": Part(
        "service",
        5,
        {"answers": r"^answers (\d+) in", "kills": r", kills (\d+)$", "wrong": r"^wrong (\d+)$"},
    ),
    "walks": Part("walks", 8, {"followed": r"^walks: (\d+ of \d+) followed$"}),
    "matrix": Part("matrix", 10, {"pythons": r"^(matrix: .*)$"}),
    # Other libraries and programs, each in an environment of its own, which `make test` lacks.
    **{
        name: Part(name, minutes, {"tests passed": r"\b(\d+) passed\b"})
        for name, minutes in {
            "spark": 8,
            "clickhouse": 4,
            "pipeline-dp": 4,
            "dropins": 4,
            "types": 3,
        }.items()
    },
}
"""In this order: less than three hours."""

WEEKLY = {
    "long": Part(
        "test",
        180,
        _TESTS,
        environment={"SAFESELECT_LONG": "1", "HYPOTHESIS_PROFILE": "explore", "EVERY": ""},
    ),
    "all evidence": Part("execute", 120, _EXECUTE),
    "bank": Part("bank", 360, {"not noticed": r"^not noticed: (\d+)$"}),
    "timing": Part("timing", 60, {"last": r"^(.*\S.*)$"}),
    "fuzz": Part("fuzz", 60, {"last": r"^(.*\S.*)$"}),
}
PARTS = NIGHTLY | WEEKLY
NIGHTS = ROOT / "docs" / "nights.md"
HEAD = """# Nights

Each table is that of one run of `make nightly`, the newest first. The run wrote and committed it.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a part."""

    name: str
    status: int
    seconds: float
    figures: str


def main(arguments: list[str] | None = None) -> int:
    """Run the parts, print the table; 1 if any failed."""
    words = argparse.ArgumentParser(description="All that takes too long for every change.")
    words.add_argument("--parts", nargs="+", choices=PARTS)
    words.add_argument("--weekly", action="store_true", help="with the parts that take hours")
    words.add_argument("--commit", action="store_true", help="commit the table of all parts")
    words.add_argument("--make", default="make", help="how make is called")
    options = words.parse_args(arguments)
    if options.commit and (options.parts or git("status", "--porcelain")):
        words.error("--commit is for all parts, of a commit that is checked out unchanged")
    parts = options.parts or (PARTS if options.weekly else NIGHTLY)
    outcomes = [run(name, PARTS[name], options.make) for name in parts]
    print("", *table(outcomes), sep="\n")
    if options.commit:
        commit(outcomes)
    return int(any(outcome.status for outcome in outcomes))


def git(*words: str) -> str:
    """What git answers."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(outcomes: list[Outcome]) -> None:
    """Put the table on top of the page of nights, and commit that page."""
    minutes = sum(each.seconds for each in outcomes) / 60
    title = f"## {BEGUN}, commit {git('rev-parse', '--short=8', 'HEAD')}"
    machine = f"{os.cpu_count()} processors, {platform.machine()}, Python {sys.version.split()[0]}"
    older = NIGHTS.read_text("utf-8").removeprefix(HEAD) if NIGHTS.exists() else ""
    body = "\n".join(["", title, "", f"{minutes:.0f} minutes; {machine}.", "", *table(outcomes)])
    NIGHTS.write_text(f"{HEAD}{body}\n{older}", "utf-8")
    git("add", str(NIGHTS))
    git("commit", "--quiet", "-m", f"A night of {minutes:.0f} minutes", str(NIGHTS))


def run(name: str, part: Part, make: str) -> Outcome:
    """One part: what it prints is passed on.  When its minutes are over it is ended, and failed."""
    print(f"--- {name}", flush=True)
    start, lines = monotonic(), []
    command = [make, "--directory", str(ROOT), part.target]
    # An empty list of arguments too: the ones of `make nightly` are not those of its parts.
    with subprocess.Popen(
        [*command, f"ARGS={part.arguments}"],
        env={**os.environ, "MAKEFLAGS": "", **part.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        end = threading.Timer(60 * part.minutes, os.killpg, (child.pid, signal.SIGKILL))
        end.start()
        for line in child.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
        end.cancel()
    return Outcome(name, child.returncode, monotonic() - start, figures(part, "".join(lines)))


def figures(part: Part, text: str) -> str:
    """The figures of a part, in words."""
    found = {
        name: re.findall(expression, text, re.MULTILINE)
        for name, expression in part.figures.items()
    }
    return ", ".join(f"{name} {total(values)}" for name, values in found.items() if values)


def total(values: list[str]) -> str:
    """The sum of numbers, or the last of other words."""
    return str(sum(map(int, values))) if all(map(str.isdigit, values)) else values[-1].strip()


def table(outcomes: list[Outcome]) -> list[str]:
    """A row for each part."""
    rows = [
        f"| {each.name} | {'FAILED' if each.status else 'passed'} | {each.seconds:.0f} | "
        f"{each.figures} |"
        for each in outcomes
    ]
    return ["| part | verdict | seconds | figures |", "|---|---|--:|---|", *rows]


if __name__ == "__main__":
    sys.exit(main())
