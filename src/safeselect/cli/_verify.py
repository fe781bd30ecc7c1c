"""`safeselect verify`: check the package on the machine where it runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import time_ns

from safeselect.audit.code import extensions, running
from safeselect.audit.report import certificate_json, line, summary
from safeselect.audit.verify import FULL, QUICK, run
from safeselect.cli._options import Command, declare
from safeselect.cli._output import say, write
from safeselect.errors import InputError
from safeselect.ledger.record import library

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


def _run(options: argparse.Namespace) -> int:
    """Run all checks and write a line for each, and say the summary.

    Raises:
        InputError: the certificate's file is there already, or cannot be written.
    """
    certificate = None if options.certificate is None else _new_file(options.certificate)
    findings, effort = [], FULL if options.full else QUICK
    with _sources_for_tests():
        for finding in run(effort):
            findings.append(finding)
            write(f"{line(finding)}\n")
    if certificate is not None:
        utc = datetime.fromtimestamp(time_ns() // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        content = certificate_json(
            findings,
            effort=effort,
            utc=utc,
            library=library(),
            running=running(),
            extensions=extensions(),
        )
        with os.fdopen(certificate, "w", encoding="ascii") as file:
            file.write(content)
    say(summary(findings))
    return int(not all(finding.passed for finding in findings))


@contextmanager
def _sources_for_tests() -> Iterator[None]:
    """Allow known bytes for a while, where only production is allowed.

    Checks run the engine on bytes that they know.  This process reads no data, and releases nothing
    but made-up scores; the check of sources sets the variable itself.
    """
    before = os.environ.pop(_VARIABLE, None)
    try:
        yield
    finally:
        if before is not None:
            os.environ[_VARIABLE] = before


def _new_file(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise InputError("the certificate's file is there already: name a new one") from None
    except OSError as error:
        raise InputError(f"the certificate cannot be written: {error.strerror}") from None


VERIFY = Command(
    "verify",
    "check this installation: laws, privacy of small instances, releases",
    "Check on this machine that the code does what is claimed.",
    declare("""
--quick  fewer and smaller instances, about 15 seconds (default)
| --full  all of them, more of them with hundreds of thousands of candidates: some minutes
--certificate FILE  write a new file with the findings
"""),
    _run,
    """\
Checks that the code that is loaded is that of the source files; the laws of the samplers and of
the noise; the privacy of small instances; and for every mechanism releases of made-up scores, few
and many, alone and in pairs, its charge, its forks and its sources. It reads no data. Mechanisms of
which a check failed are listed. With --certificate the findings are written as JSON: mechanism by
mechanism what was looked at and what was not, the versions, and the hash of the code that runs.

exit codes: 0 all checks passed, 1 one failed, 2 command line, or the certificate cannot be written
""",
)
