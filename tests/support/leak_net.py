"""A pytest plugin: no output of any test may show a private value of `sentinels`.

It reads what pytest captured of every test of the session, passed or failed: standard output and
standard error, log records, warnings and the report of a failure.  With pytest-xdist the main
process reads the reports of all workers.  A session in which something is found fails.
"""

from __future__ import annotations

import warnings

import pytest
from sentinels import found_in


class LeakNet:
    """What was found so far: test -> where in its output."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = {}

    def look(self, test: str, where: str, text: str) -> None:
        if found_in(text):
            self.found.setdefault(test, set()).add(where)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for where, text in report.sections:
            self.look(report.nodeid, where, text)
        self.look(report.nodeid, "report", report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.look(report.nodeid, "collection", report.longreprtext)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, nodeid: str
    ) -> None:
        self.look(nodeid, "warning", str(warning_message.message))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("private values in the output of tests", red=True, bold=True)
        for test, places in sorted(self.found.items()):
            terminalreporter.line(f"{test}: {', '.join(sorted(places))}")
