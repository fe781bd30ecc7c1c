"""Plant the faults of the bank: do known answers, quick tests or all tests notice?  `make bank`.

The faults of `tests/vectors/bank*.json` were written by people who had not read the tests.  Each
is planted alone, in a copy of the package.  Known answers are asked as `safeselect verify` asks
them, with the hash of the code set aside; then the tests of `make quick` run until one fails; then
those of `make test`, first those of the fault's room.  What takes too long has noticed.
Before all, a copy that differs in comments is tested: a test that fails there is left out.

Each verdict is a line of `build/bank.jsonl`.  A fault that has one is not planted again.  Faults
that do no damage are left out.  The exit status is 1 if a fault is not noticed.

    make bank ARGS='--only ledger --minutes 20'
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutants import Break, copy, python

BANKS = sorted((ROOT / "tests" / "vectors").glob("bank*.json"))
LOG = ROOT / "build" / "bank.jsonl"
KNOWN = """
import sys
from safeselect import known_answers
sys.exit(1 - all(same for _, same in known_answers.differences("small")))
"""
COMMENT = "a comment"
SECONDS = 3600


def faults() -> dict[str, Mapping[str, Any]]:
    """Every fault of the bank that does damage, by room and name."""
    found = [each for bank in BANKS for each in json.loads(bank.read_text())["faults"]]
    return {f"{each['room']}: {each['name']}": each for each in found if each["damage"]}


@cache
def options(target: str) -> list[str]:
    """What a target of the Makefile gives pytest, without the options of parallel runs."""
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=ROOT,
        env={**os.environ, "MAKEFLAGS": ""},  # without the arguments of `make bank`
        capture_output=True,
        text=True,
        check=True,
    )
    words = shlex.split(said.stdout.replace("\\\n", " ").splitlines()[-1])
    return words[words.index("worksteal") + 1 :]


def failures(package: Path, words: Sequence[str]) -> list[str]:
    """The tests that fail in a copy, chosen and stopped as `words` say."""
    calm = ("-q", "--assert=plain", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist")
    try:
        run = python(package, "-m", "pytest", *calm, *words, seconds=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"more than {SECONDS} s"]
    found = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
    return found or ([f"pytest: {run.returncode}"] if run.returncode not in (0, 5) else [])


def first(package: Path, words: Sequence[str], places: Sequence[str]) -> list[str]:
    """The first test that fails, of the first place that has one; or none."""
    for place in places:
        if found := failures(package, ["-x", *words, place]):
            return found[:1]
    return []


def verdict(fault: Mapping[str, Any], left_out: Iterable[str]) -> dict[str, Any]:
    """What notices one fault: of known answers whether, of tests the first."""
    change = Break(fault["place"], fault["text"], fault["other"])
    out = [f"--deselect={each}" for each in left_out]
    with tempfile.TemporaryDirectory() as place:
        package = copy(Path(place), [change])
        known = python(package, "-c", KNOWN).returncode != 0
        own = f"tests/{change.file.partition('/')[0]}"
        likely = [own, fault["tests"].partition("::")[0]]  # the second noticed it first
        likely = [each for each in likely if (ROOT / each).exists()]
        few = options("quick")
        there = ["tests/known", *(each for each in likely if f"--ignore={each}" not in few)]
        quick = first(package, [*few, *out], [*there, "tests"])
        tests = quick or first(package, [*options("test"), *out], [*likely, "tests"])
    return {"known answers": known, "quick": quick, "test": tests}


def with_a_comment() -> list[str]:
    """The tests that fail in a copy that differs in a comment alone."""
    with tempfile.TemporaryDirectory() as place:
        package = copy(Path(place))
        for path in (package / "safeselect").rglob("*.py"):
            path.write_text(path.read_text() + "# A comment.\n")
        return failures(package, options("test"))


def table(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A row for each room, and one for all; of faults that do damage."""
    known = faults()
    rooms: dict[str, list[Mapping[str, Any]]] = {}
    for name, each in found.items():
        if name in known:
            rooms.setdefault(known[name]["room"], []).append(each)
    rooms["all"] = [each for room in rooms.values() for each in room]
    kinds = ("known answers", "quick", "test")
    rows = [
        f"| {room} | {len(said)} | "
        + " | ".join(str(sum(bool(each[kind]) for each in said)) for kind in kinds)
        + " |"
        for room, said in rooms.items()
    ]
    return [
        "| room | do damage | known answers | `make quick` | `make test` |",
        "|---|--:|--:|--:|--:|",
        *rows,
    ]


def main(arguments: list[str] | None = None) -> int:
    """Plant, look, print; 1 if nothing notices a fault that does damage."""
    words = argparse.ArgumentParser(description="What notices the faults of the bank?")
    words.add_argument("--only", default="", help="only faults whose room and name contain this")
    words.add_argument("--minutes", type=float, default=600, help="when to stop")
    chosen = words.parse_args(arguments)
    end = monotonic() + 60 * chosen.minutes
    LOG.parent.mkdir(exist_ok=True)
    LOG.touch()
    found = {each.pop("fault"): each for each in map(json.loads, LOG.read_text().splitlines())}
    for name, fault in ({COMMENT: None} | faults()).items():
        if name in found or (fault and chosen.only not in name) or monotonic() > end:
            continue
        if fault is None:
            found[name] = {"test": with_a_comment()}
        else:
            found[name] = verdict(fault, found[COMMENT]["test"])
        with LOG.open("a") as log:
            log.write(json.dumps({"fault": name, **found[name]}) + "\n")
        print(name, json.dumps(found[name]), sep="\n    ", flush=True)
    print("\n".join(table(found)))
    lost = [name for name in faults() if name in found and not found[name]["test"]]
    print(f"not noticed: {len(lost)}", *lost, sep="\n    ")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
