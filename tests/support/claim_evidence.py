"""A pytest plugin for `tools/execute_claims.py`: what evidence does on a copy of the repository.

A piece of evidence is a test with all of its parameters, one of its cases, or a file.  Each runs
until it fails once.  Whether a case passed or failed is written at once into the file that
CLAIM_OUTCOMES names, a line each, so that nothing is lost if time runs out.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

ASKED: set[str] = set()
FAILED: set[str] = set()
STOPPED: set[str] = set()
LONGEST = 60
"""Seconds of one test: a break may make a loop endless.  Its other cases are not waited for."""


def pytest_configure(config: pytest.Config) -> None:
    ASKED.update(str(argument) for argument in config.args)


def pieces(nodeid: str) -> set[str]:
    """The pieces of evidence that a case may belong to."""
    test = nodeid.partition("[")[0]
    return {nodeid, test, test.partition("::")[0]}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow ones last: a quick one may fail before."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def too_slow(_signal: int, _frame: object) -> None:
    raise TimeoutError("a test took too long on a broken copy")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if pieces(item.nodeid) & ASKED <= FAILED or item.nodeid.partition("[")[0] in STOPPED:
        pytest.skip("this piece of evidence has failed already, or takes too long")
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(LONGEST)


def pytest_runtest_teardown() -> None:
    signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # A test that was stopped because it took long has failed to pass, but it has noticed nothing.
    if report.failed and "took too long" in str(report.longrepr):
        STOPPED.add(report.nodeid.partition("[")[0])
    elif report.failed or (report.passed and report.when == "call"):
        if report.failed:
            FAILED.update(pieces(report.nodeid))
        # Of several lines the last counts, as of a teardown that fails.
        with Path(os.environ["CLAIM_OUTCOMES"]).open("a") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + "\n")
