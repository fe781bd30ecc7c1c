"""Show mutants to tests: the part of `make mutants` that is a plugin of pytest.

The tests are collected once, and forks of that process do the work:

1. one fork a file of tests runs them on the unchanged code and records how long each takes and
   which lines it executes (a test that takes longer than --longest, or fails, is left out);
2. one fork a mutant puts the changed function in the place of the original and runs the tests that
   execute a changed line, until one fails: those of the file that is named like the mutant's, those
   of its room, then others, for some seconds.  What survives and is not explained is shown to the
   rest of them in the end.  What ran at import is shown to the tests of its room in a copy, and so
   is every survivor if the time was too short to measure all tests.

The process that forks never runs a test, and its caches are emptied.  Each fork leads a group of
processes, which is ended with it.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, partial
from itertools import pairwise
from pathlib import Path
from time import monotonic, perf_counter, sleep
from types import CodeType, FunctionType
from typing import Any
from warnings import catch_warnings

import pytest

from changes import Change

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "safeselect"

LOG = ROOT / "build" / "mutants.txt"
"""Each change that a test noticed, and the test."""

MEMORY = 4 << 30
"""Bytes of address space of a fork: a mutant may ask for anything."""

KILLED, SURVIVED, AT_IMPORT, BROKEN = 10, 11, 12, 13
LATE = "not shown to all its tests"
VERDICTS = {KILLED: "noticed", SURVIVED: "survived", AT_IMPORT: "at import"}
"""By how a fork ended; otherwise the mutant crashed it or never ended, and that is noticed too."""


@dataclass(frozen=True)
class Mutant:
    """A change of a file of the package, from `src/safeselect`."""

    file: str
    change: Change

    @property
    def said(self) -> str:
        """The change in one line, as survivors.toml names it."""
        return f"{self.file}: {self.change.said}"

    @property
    def room(self) -> str:
        return self.file.partition("/")[0] if "/" in self.file else "safeselect"

    @property
    def tests(self) -> str:
        """The folder of tests of its room."""
        return "tests/" if self.room == "safeselect" else f"tests/{self.room}/"

    @property
    def own(self) -> str:
        """The file of tests that is named like the file."""
        path = Path(self.file)
        name = path.parent.name if path.stem == "__init__" else path.stem.strip("_")
        return (Path("tests") / path.parent / f"test_{name}.py").as_posix()

    def made(self) -> str:
        return self.change.made((PACKAGE / self.file).read_text())


@dataclass(frozen=True)
class Test:
    """A test as it was on the unchanged code, with the lines of each file that it executes."""

    item: pytest.Item
    seconds: float
    lines: dict[str, frozenset[int]]


@dataclass(eq=False)  # pytest puts plugins into sets
class Judge:
    """A pytest plugin in the place of pytest's loop over the tests."""

    options: argparse.Namespace
    mutants: list[Mutant]
    explained: set[str]
    end: float
    verdicts: dict[Mutant, str] = field(default_factory=dict)
    used: str = "no test was collected"
    failed: bool = False
    whole: bool = True

    def begin(self) -> None:
        """Record from now on what runs at import."""
        LOG.parent.mkdir(exist_ok=True)
        LOG.unlink(missing_ok=True)
        self.importing = recorder()
        self.importing.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.importing.stop()
        self.at_import = lines_of(self.importing, "")
        self.find_functions()
        found = [each for each in gc.get_objects() if type(each) is _lru_cache_wrapper]
        self.caches = [each for each in found if each.__module__.startswith("safeselect")]
        self.forget()
        gc.collect()
        gc.freeze()  # or every fork would copy the pages that a collection touches
        tests = self.measured(session.items)
        self.used = f"{len(tests)} of {len(session.items)} tests in use"
        self.judge(tests)
        return True

    def find_functions(self) -> None:
        """All functions that there are, by their code."""
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if type(each) is FunctionType:  # `isinstance` asks a hostile object of some test
                self.functions[key(each.__code__)].append(each)

    def forget(self) -> None:
        """Empty all caches of the package."""
        for each in self.caches:
            each.cache_clear()

    def forked(
        self, jobs: Iterable[tuple[object, Callable[[], int]]], end: float
    ) -> Iterator[tuple[object, int | None]]:
        """Run each job in a fork, some at a time; how it ended: None if time was over before."""
        running: dict[int, object] = {}

        def ended() -> Iterator[tuple[object, int | None]]:
            while not any(found := os.waitpid(-1, os.WNOHANG)):
                if monotonic() > end:
                    for pid in running:
                        kill(pid)
                sleep(0.003)
            pid, status = found
            if pid in running:
                kill(pid)
                over, code = monotonic() > end, os.waitstatus_to_exitcode(status)
                if code == BROKEN:
                    raise RuntimeError(f"a fork for {running[pid]} failed: {LOG}")
                yield running.pop(pid), None if over else code

        for name, job in jobs:
            while len(running) == self.options.workers:
                yield from ended()
            if monotonic() > end:
                break
            if (child := os.fork()) == 0:
                os.setpgid(0, 0)
                nowhere = os.open(os.devnull, os.O_RDWR)
                for number in range(3):
                    os.dup2(nowhere, number)
                try:
                    os._exit(job())
                except BaseException:  # noqa: BLE001 - a fork never goes on as its parent does
                    with LOG.open("a") as log:
                        traceback.print_exc(file=log)
                    os._exit(BROKEN)
            running[child] = name
        while running:
            yield from ended()

    # ---- the unchanged code

    def measured(self, items: list[pytest.Item]) -> list[Test]:
        """Run every test, those of the drawn files first, for at most half of the time."""
        owns = {mutant.own for mutant in self.mutants}
        rooms = tuple({mutant.tests for mutant in self.mutants})
        order = sorted(
            items,
            key=lambda item: (
                item.nodeid.partition("::")[0] not in owns,
                not item.nodeid.startswith(rooms),
            ),
        )
        named = {item.nodeid: item for item in items}
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in order:
            files[item.nodeid.partition("::")[0]].append(item)
        end, tests = (monotonic() + self.end) / 2, []
        with tempfile.TemporaryDirectory() as place:
            jobs = (
                (file, partial(self.measure, share, Path(place) / str(number)))
                for number, (file, share) in enumerate(files.items())
            )
            self.whole = None not in [status for _, status in self.forked(jobs, end)]
            for file in Path(place).iterdir():
                for line in file.read_text().splitlines():
                    with suppress(ValueError):  # the last line of a fork whose time was over
                        said = json.loads(line)
                        lines = {name: frozenset(each) for name, each in said["lines"].items()}
                        tests.append(Test(named[said["test"]], said["seconds"], lines))
        return tests

    def measure(self, items: list[pytest.Item], place: Path) -> int:
        signal.signal(signal.SIGALRM, too_slow)
        for (path, *_), functions in self.functions.items():
            # A test that fails for any other code, whatever it does, notices nothing.
            for function in functions if path.startswith(str(PACKAGE)) else ():
                code = function.__code__
                function.__code__ = code.replace(co_consts=(*code.co_consts, "another"))
        longest, coverage = self.options.longest, recorder()
        with place.open("w", buffering=1) as out:
            for item, following in pairwise([*items, None]):
                self.forget()
                start = perf_counter()
                coverage.start()
                coverage.switch_context(item.nodeid)
                signal.setitimer(signal.ITIMER_REAL, longest, longest)
                failed = self.fails(item, following)
                signal.setitimer(signal.ITIMER_REAL, 0)
                coverage.stop()
                seconds, lines = perf_counter() - start, lines_of(coverage, item.nodeid)
                coverage.erase()
                if not failed and seconds < longest:
                    line = {"test": item.nodeid, "seconds": seconds, "lines": lines}
                    print(json.dumps(line), file=out)
        return 0

    # ---- the mutants

    def judge(self, tests: list[Test]) -> None:
        """Show each mutant; what survives and is not explained gets the rest at the end."""
        now = monotonic()
        chosen = {mutant: self.chosen(mutant, tests) for mutant in self.mutants}
        first = {mutant: some for mutant, (some, _) in chosen.items()}
        rest = []
        for mutant, verdict in self.shown(first, now + (self.end - now) * 0.75):
            sure = verdict == "noticed" or mutant.said in self.explained
            self.verdicts[mutant] = verdict
            if not sure:
                rest.append(mutant)
        for mutant in rest:
            self.verdicts[mutant] = LATE
        for mutant, verdict in self.shown({each: chosen[each][1] for each in rest}, self.end):
            again = verdict != "noticed" and (not self.whole or self.runs_at_import(mutant))
            self.verdicts[mutant] = in_a_copy(mutant, self.end) if again else verdict

    def runs_at_import(self, mutant: Mutant) -> bool:
        here = self.at_import.get(mutant.file, ())
        return not mutant.change.function or mutant.change.first in here

    def shown(self, chosen: dict[Mutant, list[Test]], end: float) -> Iterator[tuple[Mutant, str]]:
        """Mutants shown to tests, for as long as there is time."""
        jobs = ((mutant, partial(self.show, mutant, tests)) for mutant, tests in chosen.items())
        for mutant, status in self.forked(jobs, end):
            if status is not None:
                yield mutant, VERDICTS.get(status, "noticed")

    def chosen(self, mutant: Mutant, tests: list[Test]) -> tuple[list[Test], list[Test]]:
        """Of the tests that execute a changed line, those to begin with and the rest."""
        change = mutant.change
        places = range(change.first, change.last + 1)
        found = [
            test
            for test in tests
            if not test.lines.get(mutant.file, frozenset()).isdisjoint(places)
        ]
        kinds: dict[str, int] = defaultdict(int)
        order = []
        for test in sorted(found, key=lambda test: test.seconds):
            name = test.item.nodeid
            kind = name.partition("[")[0]
            kinds[kind] += 1  # a case of every test, then a second case of each
            own = not name.startswith(mutant.own), not name.startswith(mutant.tests)
            order.append((own, kinds[kind], test.seconds, test))
        first, rest, seconds = [], [], 0.0
        for *_, test in sorted(order, key=lambda each: each[:3]):
            seconds += test.seconds
            (first if seconds <= self.options.patience else rest).append(test)
        return first, rest

    def show(self, mutant: Mutant, tests: list[Test]) -> int:
        if not mutant.change.function or not self.plant(mutant):
            return AT_IMPORT
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for test, following in pairwise([*tests, None]):
            signal.alarm(math.ceil(10 * test.seconds + 5))
            if self.fails(test.item, following and following.item):
                with LOG.open("a") as log:
                    log.write(f"{mutant.said}\n    {test.item.nodeid}\n")
                return KILLED
        return SURVIVED

    def plant(self, mutant: Mutant) -> bool:
        """Give each function of the file its changed code; whether that can be done."""
        try:
            changed = compile(mutant.made(), str(PACKAGE / mutant.file), "exec", dont_inherit=True)
            for code in inside(changed):
                for function in self.functions.get(key(code), ()):
                    function.__code__ = code
        except ValueError:  # another number of names from around it
            return False
        return True

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


def kill(pid: int) -> None:
    """End a fork and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def recorder() -> Any:
    from coverage import Coverage

    return Coverage(data_file=None, source=[str(PACKAGE)], config_file=False, messages=False)


def lines_of(coverage: Any, context: str) -> dict[str, list[int]]:
    """The lines of each file of the package that ran in a context."""
    with catch_warnings(action="ignore"):  # of a test that runs no line of it
        data = coverage.get_data()
    data.set_query_context(context)
    files = {Path(each).relative_to(PACKAGE).as_posix(): each for each in data.measured_files()}
    return {name: lines for name, each in files.items() if (lines := data.lines(each))}


def key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def inside(code: CodeType) -> Iterator[CodeType]:
    """All code in a code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from inside(each)


def in_a_copy(mutant: Mutant, end: float) -> str:
    """What all tests of its room say, with pytest from the start."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from mutants import copy, python

    calm = ("-x", "-q", "--tb=no", "-m", "not nightly", "-p", "no:cacheprovider", "-p", "no:xdist")
    asked = [each for each in (mutant.own, mutant.tests) if (ROOT / each).exists()]
    with tempfile.TemporaryDirectory() as place:
        package = copy(Path(place))
        (package / "safeselect" / mutant.file).write_text(mutant.made())
        try:
            done = python(package, "-m", "pytest", *calm, *asked, seconds=max(1, end - monotonic()))
        except subprocess.TimeoutExpired:
            return LATE
    return "survived" if done.returncode == 0 else "noticed"
