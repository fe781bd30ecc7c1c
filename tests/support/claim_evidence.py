"""A pytest plugin for `tools/execute_claims.py`: what evidence does on a copy of the repository.

A piece of evidence is a test with all of its parameters, one of its cases, or a file.

- Where CLAIM_OUTCOMES names a file the copy is unbroken: each case runs, and whether it "passed" or
  "failed" is written there, a line each.  A file that cannot be collected failed.
- Where CLAIM_EVIDENCE names a file the copy is broken: each piece runs until it fails once.  Each
  that has failed is written there, with the case that did.  Only the cases are run that the file
  CLAIM_PASSED lists, since they pass on an unbroken copy.

All is written at once, so that nothing is lost if time runs out.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

ASKED: list[str] = []
FAILED: dict[str, str] = {}
STOPPED: set[str] = set()
LONGEST = 60
"""Seconds of one test: a break may make a loop endless.  Its other cases are not waited for."""

UNBROKEN = os.environ.get("CLAIM_OUTCOMES")
PASSED: frozenset[str] = frozenset(
    () if UNBROKEN else json.loads(Path(os.environ["CLAIM_PASSED"]).read_text())
)


def pytest_configure(config: pytest.Config) -> None:
    ASKED.extend(str(argument) for argument in config.args)


def pieces(nodeid: str) -> set[str]:
    """The pieces of evidence that a case belongs to."""
    test = nodeid.partition("[")[0]
    return {each for each in (nodeid, test, test.partition("::")[0]) if each in ASKED}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow ones last: a quick one may fail before."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def too_slow(_signal: int, _frame: object) -> None:
    raise TimeoutError("a test took too long on a broken copy")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if UNBROKEN:
        return
    if item.nodeid not in PASSED:
        pytest.skip("this case does not pass on an unbroken copy")
    if pieces(item.nodeid) <= FAILED.keys() or item.nodeid.partition("[")[0] in STOPPED:
        pytest.skip("this piece of evidence has failed already, or takes too long")
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(LONGEST)


def pytest_runtest_teardown() -> None:
    signal.alarm(0)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if UNBROKEN and report.failed:
        noted(report.nodeid, "failed")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if UNBROKEN:
        if report.failed or (report.passed and report.when == "call"):
            noted(report.nodeid, report.outcome)
    # A test that was stopped because it took long has failed to pass, but it has noticed nothing.
    elif report.failed and "took too long" in str(report.longrepr):
        STOPPED.add(report.nodeid.partition("[")[0])
    elif report.failed:
        FAILED.update(dict.fromkeys(pieces(report.nodeid) - FAILED.keys(), report.nodeid))
        Path(os.environ["CLAIM_EVIDENCE"]).write_text(json.dumps(FAILED))


def noted(nodeid: str, outcome: str) -> None:
    """Note what became of a case; of several lines the last counts, as of a teardown that fails."""
    with Path(UNBROKEN or os.devnull).open("a") as file:
        file.write(json.dumps([nodeid, outcome]) + "\n")
