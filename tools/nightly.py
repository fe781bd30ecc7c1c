"""All that takes too long for every change, one part after the other: `make nightly`.

Each part is a target of the Makefile, and can be run alone.  A part that fails does not keep the
others from running.  At the end stands a table with the figures of each; the exit status is 1 if
any part failed.

    make nightly ARGS='--parts soak mutants'
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Part:
    """A target of the Makefile, and the figures to take from what it prints.

    `figures`: an expression with one group, which is summed over all it finds if it is a number
    and otherwise taken where it is found last; by the name of the figure.
    """

    target: str
    figures: dict[str, str]
    arguments: str = ""
    environment: dict[str, str] = field(default_factory=dict)


PARTS = {
    "soak": Part(
        "soak", {"releases": r"^ *(\d+) releases ", "refuted": r"^(REFUTED: .*)$"}, "--minutes 30"
    ),
    "mutants": Part(
        "mutants",
        {"tests": r"^(\d+) of \d+ tests in use$", "not explained": r"^Not explained: (\d+)$"},
    ),
    "execute": Part(
        "execute",
        {
            "evidence": r"^evidence: (\d+)$",
            "failed under a break": r"^failed under a break: (\d+)$",
            "no break noticed": r"^no break noticed: (\d+)$",
            "anyhow": r"^failed without a break: (\d+)$",
        },
    ),
    "laws": Part("laws", {"rows": r"^rows: (\d+)$", "not noticed": r"^not noticed: (\d+)$"}),
    "faults": Part(
        "faults",
        {"alone": r"^noticed alone: (\d+ of \d+)$", "at once": r"^planted at once: (\d+)$"},
    ),
    "timing": Part("timing", {"last": r"^(.*\S.*)$"}),
    "long": Part(
        "test",
        {"tests": r"^=* ?(\d+ (?:passed|failed).*?) ?=*$"},
        environment={"SAFESELECT_LONG": "1", "HYPOTHESIS_PROFILE": "explore", "EVERY": ""},
    ),
    "proofs": Part("proofs", {"theorems": r"^(\d+) theorems, no axioms$"}),
    "service": Part(
        "service",
        {"answers": r"^answers (\d+) in", "kills": r", kills (\d+)$", "wrong": r"^wrong (\d+)$"},
    ),
    "walks": Part("walks", {"followed": r"^walks: (\d+ of \d+) followed$"}),
    "matrix": Part("matrix", {"pythons": r"^(matrix: .*)$"}),
    # Other libraries and programs, each in an environment of its own, which `make test` lacks.
    **{
        name: Part(name, {"tests passed": r"\b(\d+) passed\b"})
        for name in ("spark", "clickhouse", "pipeline-dp", "dropins", "types")
    },
    "fuzz": Part("fuzz", {"last": r"^(.*\S.*)$"}),
}
"""In this order."""


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
    words.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    words.add_argument("--make", default="make", help="how make is called")
    options = words.parse_args(arguments)
    outcomes = [run(name, PARTS[name], options.make) for name in options.parts]
    print("\n".join(table(outcomes)))
    return int(any(outcome.status for outcome in outcomes))


def run(name: str, part: Part, make: str) -> Outcome:
    """One part: what it prints is passed on."""
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
    ) as child:
        for line in child.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
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
        f"{each.name:10} {'FAILED' if each.status else 'passed':8} {each.seconds:8.0f} s  "
        f"{each.figures}"
        for each in outcomes
    ]
    return ["", f"{'part':10} {'verdict':8} {'time':>10}  figures", *rows]


if __name__ == "__main__":
    sys.exit(main())
