"""Show mutants to tests: the part of `make mutants` that runs inside the mutated copy.

mutmut makes the mutants and switches between them; it would start pytest anew for each, which here
takes longer than the tests.  So pytest is started and the tests are collected once, and forks of
that process do the work:

1. one fork a worker runs its share of the tests on the unchanged code, for how long each takes and
   which functions it calls, itself or by way of a cache (a test that takes longer than --longest,
   or fails, is left out);
2. one fork a mutant runs the tests that call the mutated function, until one fails: those of the
   file that is named like the mutant's, and others for some seconds.  What survives and is not
   explained is shown to the rest of its tests in the end.

The process that forks never runs a test, and its caches are emptied.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import resource
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter

import pytest
from mutmut.configuration import config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

from mutant_notes import CACHED, MADE_BY

MEMORY = 4 << 30
"""Bytes of address space of a fork: a mutant may ask for anything."""

KILLED, KILLED_UNMARKED, SURVIVED = 10, 11, 12
VERDICTS = {
    KILLED: "killed",
    KILLED_UNMARKED: "killed by a test without a mark",
    SURVIVED: "survived",
    -signal.SIGALRM: "timed out",
}
"""By how a fork ended; otherwise the mutant crashed it."""


@dataclass(frozen=True)
class Test:
    """A test as it was on the unchanged code."""

    item: pytest.Item
    seconds: float
    functions: frozenset[str]
    claim: bool


class Judge:
    """A pytest plugin in the place of pytest's loop over the tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.end = monotonic() + options.seconds
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Unmarked tests count only where they are a part's own."""
        owns = tuple(self.options.own)
        items[:] = [item for item in items if is_claim(item) or item.nodeid.startswith(owns)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        imported = frozenset(state()._stats)
        for empty in CACHED.values():
            empty()  # of what the collection has left in them
        gc.collect()
        gc.freeze()  # or every fork would copy the pages that a collection touches
        tests = self.measured(session.items)
        plan = json.loads(Path(self.options.plan).read_text())
        with Path(self.options.verdicts).open("w", buffering=1) as out:
            print(json.dumps({"tests": len(tests), "of": len(session.items)}), file=out)
            for name, verdict in self.verdicts(plan, tests):
                # What ran before its mutant could be switched on needs another look.
                at_import = mangled_name_from_mutant_name(name) in imported
                line = {"mutant": name, "verdict": verdict, "at_import": at_import}
                print(json.dumps(line), file=out)
        return True

    def forked(self, jobs: Iterable[tuple[str, Callable[[], int]]]) -> Iterator[tuple[str, int]]:
        """Run each job in a fork, some at a time; how it ended, with what it is called."""
        running: dict[int, str] = {}

        def ended() -> tuple[str, int]:
            pid, status = os.waitpid(-1, 0)
            return running.pop(pid), os.waitstatus_to_exitcode(status)

        for name, job in jobs:
            if len(running) == self.options.workers:
                yield ended()
            if (child := os.fork()) == 0:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                try:
                    os._exit(job())
                finally:
                    os._exit(1)  # a fork never goes on as if it were the process that forks
            running[child] = name
        while running:
            yield ended()

    # ---- the unchanged code

    def measured(self, items: list[pytest.Item]) -> list[Test]:
        """Run every test, and say what it did; the quickest first."""
        workers = self.options.workers
        files = {f"{self.options.verdicts}.{number}": number for number in range(workers)}
        jobs = (
            (file, partial(self.measure, items[number::workers], file))
            for file, number in files.items()
        )
        for _ in self.forked(jobs):
            pass
        lines = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
        made_by: dict[str, set[str]] = defaultdict(set)
        for line in lines:
            made_by[line.get("cached", "")].update(line.get("made_by", ()))
        named = {item.nodeid: item for item in items}
        tests = []
        for line in sorted((line for line in lines if "test" in line), key=lambda x: x["seconds"]):
            called = line["functions"]
            functions = frozenset(called).union(*(made_by[f] for f in called if f in CACHED))
            item = named[line["test"]]
            tests.append(Test(item, line["seconds"], functions, is_claim(item)))
        return tests

    def measure(self, items: list[pytest.Item], file: str) -> int:
        set_mutant_under_test("stats")
        signal.signal(signal.SIGALRM, too_slow)
        longest = self.options.longest
        with Path(file).open("w", buffering=1) as out:
            for item in items:
                state()._stats.clear()
                start = perf_counter()
                signal.setitimer(signal.ITIMER_REAL, longest, longest)
                failed = self.fails(item, None)
                signal.setitimer(signal.ITIMER_REAL, 0)
                seconds, functions = perf_counter() - start, sorted(state()._stats)
                line = {"test": item.nodeid, "seconds": seconds, "functions": functions}
                if not failed and seconds < longest:
                    print(json.dumps(line), file=out)
            for function, functions in MADE_BY.items():
                print(json.dumps({"cached": function, "made_by": sorted(functions)}), file=out)
        return 0

    # ---- the mutants

    def verdicts(self, plan: dict[str, dict], tests: list[Test]) -> Iterator[tuple[str, str]]:
        """Each mutant of a plan and what became of it.

        What survives and is not explained is shown to the rest of its tests when all have had
        their turn.
        """
        calling: dict[str, list[Test]] = defaultdict(list)
        for test in tests:
            for function in test.functions:
                calling[function].append(test)
        functions = {name: mangled_name_from_mutant_name(name) for name in plan}
        owns = {functions[name]: known["own"] for name, known in plan.items()}
        chosen = {
            function: self.chosen(function, own, calling[function])
            for function, own in owns.items()
        }
        yield from ((name, "not reached") for name in plan if not chosen[functions[name]][0])
        rest = []
        for name, verdict in self.shown({name: chosen[functions[name]][0] for name in plan}):
            yield name, verdict
            if verdict == "survived" and not plan[name]["explained"]:
                rest.append(name)
        yield from self.shown({name: chosen[functions[name]][1] for name in rest})

    def shown(self, chosen: dict[str, list[Test]]) -> Iterator[tuple[str, str]]:
        """Mutants shown to tests, for as long as there is time."""
        jobs = (
            (name, partial(self.show, name, tests))
            for name, tests in chosen.items()
            if tests and monotonic() < self.end
        )
        for name, status in self.forked(jobs):
            yield name, VERDICTS.get(status, "crashed")

    def chosen(self, function: str, own: str, calling: list[Test]) -> tuple[list[Test], list[Test]]:
        """Of the tests that call a function, those to begin with and the rest.

        To begin with: all of the namesake, and others for as long as --patience allows; by turns
        those that call the fewest other functions, and those unlike the ones before.  Unmarked
        tests come last.
        """
        namesake = f"{own}/test_{function.split('.x')[0].rpartition('.')[2].lstrip('_')}.py::"
        calling = [test for test in calling if test.claim or test.item.nodeid.startswith(own)]
        narrow = sorted(calling, key=lambda test: (len(test.functions), test.seconds))
        # A case of every test, then a second case of each: many cases are of one kind.
        turns = dict(zip((test.item.nodeid for test in calling), cases(calling), strict=True))
        varied = sorted(calling, key=lambda test: turns[test.item.nodeid])
        place: dict[str, int] = {}
        for number, pair in enumerate(zip(narrow, varied, strict=True)):
            for test in pair:
                place.setdefault(test.item.nodeid, number)
        first, rest, seconds = [], [], 0.0
        for test in sorted(calling, key=lambda test: (not test.claim, place[test.item.nodeid])):
            of_namesake = test.item.nodeid.startswith(namesake)
            seconds += 0 if of_namesake else test.seconds
            (first if of_namesake or seconds <= self.options.patience else rest).append(test)
        first.sort(key=lambda test: (not test.claim, not test.item.nodeid.startswith(namesake)))
        return first, rest

    def show(self, name: str, tests: list[Test]) -> int:
        set_mutant_under_test(name)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for place, test in enumerate(tests):
            signal.alarm(math.ceil(10 * test.seconds + 5))
            following = tests[place + 1].item if place + 1 < len(tests) else None
            if self.fails(test.item, following):
                return KILLED if test.claim else KILLED_UNMARKED
        return SURVIVED

    def fails(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self.failed = False
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        except BaseException:  # noqa: BLE001 - whatever ends a test has ended it
            return True
        return self.failed


class TooSlow(BaseException):
    """No `Exception`: hypothesis would take it for a failure of the example, and look for more."""


def too_slow(_signal: int, _frame: object) -> None:
    raise TooSlow


def cases(tests: list[Test]) -> Iterator[int]:
    """Of each test, how many cases of the same test came before it."""
    seen: Counter[str] = Counter()
    for test in tests:
        kind = test.item.nodeid.partition("[")[0]
        yield seen[kind]
        seen[kind] += 1


def is_claim(item: pytest.Item) -> bool:
    """Whether a test is evidence for a claim of SECURITY.md."""
    return item.get_closest_marker("claim") is not None


def main() -> int:
    """Collect the tests, then judge."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--plan", required=True, help="what is known of each mutant, as JSON")
    words.add_argument("--verdicts", required=True, help="where to write, a line a mutant")
    words.add_argument("--seconds", type=float, required=True)
    words.add_argument("--longest", type=float, required=True, help="seconds of a test, at most")
    words.add_argument("--patience", type=float, required=True, help="seconds of tests at first")
    words.add_argument("--workers", type=int, required=True)
    words.add_argument("--own", action="append", required=True, help="folders of unmarked tests")
    options, for_pytest = words.parse_known_args()
    config()
    set_mutant_under_test("stats")
    return pytest.main(for_pytest, plugins=[Judge(options)])


if __name__ == "__main__":
    sys.exit(main())
