"""Which tests notice which planted fault: `make kills`.

First one run of the tests is recorded: the lines of the package that each test executes, and for
how long it runs.  Then each known fault is planted in a copy of the repository, and of the tests
that execute a changed line as many are run there as fit into three minutes, the quickest first.
Every fault is a line of `build/kills/faults.jsonl`: what stands there is not made again.  At the
end two lists: faults that nothing notices, and files of tests that notice none that a quicker file
does not notice as well.

    make kills ARGS='--record tests/engine tests/spec'     record these tests, and make all faults
    make kills ARGS='--only quantile --minutes 20'         some faults, for so long

Known faults are those of `tests/support`, and the changes that survived all tests and are explained
in `tools/survivors.toml`, where their text is in its file once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests" / "support", ROOT / "tools"):
    sys.path.insert(0, str(folder))

from mutants import Break

import execute_claims

PACKAGE = "src/safeselect/"
PLACE = ROOT / "build" / "kills"
SECONDS = 180
"""Of the tests of one fault."""

Changes = Sequence[Break]


# ------------------------------------------------------------------------------ the recorded run


class Recorder:
    """A plugin: what each test executes, as contexts of coverage, and how long it takes."""

    def __init__(self, place: Path) -> None:
        from coverage import Coverage

        place.mkdir(parents=True, exist_ok=True)
        self.seconds: dict[str, float] = {}
        self.place = place
        self.coverage = Coverage(
            data_file=place / "contexts", source=[str(ROOT / PACKAGE)], config_file=False
        )
        self.coverage.erase()
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = monotonic()
        result = yield
        self.seconds[item.nodeid] = monotonic() - start
        self.coverage.switch_context("")
        return result

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:  # a test that fails anyhow notices nothing
            self.seconds[report.nodeid] = float("inf")

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        whole = {test: each for test, each in self.seconds.items() if each < SECONDS}
        (self.place / "seconds.json").write_text(json.dumps(whole))


def executed(place: Path) -> dict[str, dict[int, list[str]]]:
    """By file and line of the package, the tests that execute it."""
    from coverage import CoverageData

    data = CoverageData(str(place / "contexts"))
    data.read()
    files = {Path(each).relative_to(ROOT).as_posix(): each for each in data.measured_files()}
    return {name: data.contexts_by_lineno(each) for name, each in files.items()}


# ------------------------------------------------------------------------------ the faults


def faults() -> dict[str, Changes]:
    """Every known fault by its name."""
    from accounting_mutants import ACCOUNTING
    from breaks import BREAKS
    from broken_laws import BROKEN

    from faults import FAULTS

    found: dict[str, Changes] = {f"fault: {name}": each for name, each in FAULTS.items()}
    found |= {f"accounting: {name}": [each] for name, (each, _) in ACCOUNTING.items()}
    found |= {
        f"claim {number}: {each.path}::{each.function}": [each]
        for number, each in enumerate(BREAKS)
    }
    found |= {f"law: {name}": [each] for name, each in BROKEN.items()}
    reasons = tomllib.loads((ROOT / "tools" / "survivors.toml").read_text())["reason"]
    for change in (change for reason in reasons for change in reason["changes"]):
        file, _, lines = change.partition(": ")
        before, _, after = lines.partition(" -> ")
        each = Break(file, before, after)
        if len(each.starts((ROOT / each.path).read_text())) == 1:
            found[f"survivor: {change}"] = [each]
    return found


def reached(changes: Changes, lines: Mapping[str, Mapping[int, list[str]]]) -> set[str]:
    """The tests that execute a changed line; of lines that run at import, all of their file."""
    found: set[str] = set()
    for each in changes:
        source, of_file = (ROOT / each.path).read_text(), lines.get(each.path, {})
        first = source[: each.starts(source)[0]].count("\n") + 1
        last = first + each.text.rstrip("\n").count("\n")
        near = {test for line in range(first, last + 1) for test in of_file.get(line, ()) if test}
        found |= near or {test for tests in of_file.values() for test in tests if test}
    return found


def quickest(tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """As many tests as fit into the time of a fault, the quickest first."""
    chosen, spent = [], 0.0
    for test in sorted((test for test in tests if test in seconds), key=seconds.__getitem__):
        spent += seconds[test]
        if spent > SECONDS / 2 or len(chosen) == 2000:
            break
        chosen.append(test)
    return chosen


def killers(changes: Changes, tests: list[str]) -> list[str]:
    """Those of the tests that fail in a copy with a fault."""
    with tempfile.TemporaryDirectory() as folder:
        place = execute_claims.copy(Path(folder) / "copy", None)
        for each in changes:
            each.make(place)
        said = execute_claims.run(place, tests, SECONDS)
    return sorted(test for test, outcome in said.items() if outcome == "failed")


# ------------------------------------------------------------------------------ the two lists


def unnoticed(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Faults that nothing notices and nobody has explained."""
    names = (each["fault"] for each in found if not each["killed by"])
    return [name for name in names if not name.startswith("survivor: ")]


def needless(found: Iterable[Mapping[str, Any]], seconds: Mapping[str, float]) -> dict[str, float]:
    """Files of tests, with their seconds, that notice no fault that a quicker one does not."""
    cost: dict[str, float] = defaultdict(float)
    for test, each in seconds.items():
        cost[test.partition("::")[0]] += each
    noticing: dict[str, set[str]] = defaultdict(set)
    for each in found:
        for test in each["killed by"]:
            noticing[test.partition("::")[0]].add(each["fault"])
    covered: set[str] = set()
    left: dict[str, float] = {}
    for file in sorted(cost, key=cost.__getitem__):
        if noticing[file] <= covered:
            left[file] = cost[file]
        covered |= noticing[file]
    return left


def main(arguments: list[str] | None = None) -> int:
    """Record, plant, print; 1 if a fault was planted that nothing notices."""
    words = argparse.ArgumentParser(description="Which tests notice which planted fault.")
    words.add_argument("--record", nargs="*", metavar="TESTS", help="record these, or all, anew")
    words.add_argument("--only", default="", help="only faults whose name contains this")
    words.add_argument("--minutes", type=float, default=600, help="when to stop")
    words.add_argument("--place", type=Path, default=PLACE, help="where all of it is kept")
    options = words.parse_args(arguments)
    end = monotonic() + 60 * options.minutes
    place: Path = options.place
    if options.record is not None or not (place / "seconds.json").exists():
        calm = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
        os.chdir(ROOT)
        pytest.main([*calm, *(options.record or ["tests"])], plugins=[Recorder(place)])
    seconds, lines = json.loads((place / "seconds.json").read_text()), executed(place)
    known = faults()
    log = place / "faults.jsonl"
    log.touch()
    before = map(json.loads, log.read_text().splitlines())
    found = [each for each in before if each["fault"] in known]
    made = {each["fault"] for each in found}
    for name, changes in known.items():
        if name in made or options.only not in name or monotonic() > end:
            continue
        tests = quickest(reached(changes, lines), seconds)
        found.append(
            {
                "fault": name,
                "tests": len(tests),
                "killed by": killers(changes, tests) if tests else [],
            }
        )
        with log.open("a") as file:
            file.write(json.dumps(found[-1]) + "\n")
        print(f"{len(found[-1]['killed by'])} of {len(tests)}: {name}", flush=True)
    print(f"faults: {len(found)} of {len(known)}")
    print(f"nothing notices: {len(lost := unnoticed(found))}", *lost, sep="\n    ")
    print("files that notice nothing that a quicker one does not:")
    for file, each in needless(found, seconds).items():
        print(f"{each:8.1f} s  {file}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
