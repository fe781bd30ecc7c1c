"""A pytest plugin for `tools/execute_claims.py`: each piece of evidence runs until it fails once.

A piece of evidence is a test with all of its parameters, a file, or one case of a test.  Each that
has failed is written, with the case that did, to the file that CLAIM_EVIDENCE names, at once, so
that nothing is lost if time runs out.
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
    if pieces(item.nodeid) <= FAILED.keys() or item.nodeid.partition("[")[0] in STOPPED:
        pytest.skip("this piece of evidence has failed already, or takes too long")
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(LONGEST)


def pytest_runtest_teardown() -> None:
    signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # A test that was stopped because it took long has failed to pass, but it has noticed nothing.
    if report.failed and "took too long" in str(report.longrepr):
        STOPPED.add(report.nodeid.partition("[")[0])
    elif report.failed:
        FAILED.update(dict.fromkeys(pieces(report.nodeid) - FAILED.keys(), report.nodeid))
        Path(os.environ["CLAIM_EVIDENCE"]).write_text(json.dumps(FAILED))
