"""`safeselect verify`: check the package on the machine where it runs."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import time_ns

from safeselect.audit.certified import certificate
from safeselect.audit.code import running
from safeselect.cli._options import Command, declare
from safeselect.cli._output import shown, write
from safeselect.errors import InputError
from safeselect.known_answers import verify

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


def _run(options: argparse.Namespace) -> int:
    """Compare, and say what was found.

    Raises:
        InputError: the certificate's file is there already, or cannot be written.
    """
    place = None if options.certificate is None else _new_file(options.certificate)
    with _sources_for_tests():
        answers = verify()
    utc = datetime.fromtimestamp(time_ns() // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = certificate(running(), answers, utc)
    if place is not None:
        with os.fdopen(place, "w", encoding="ascii") as file:
            file.write(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=True) + "\n")
    code, known = content["code"], content["known_answers"]
    for differing, said in (
        (code["differing"], f"{code['functions']} functions are what their source compiles to"),
        (known["differing"], f"{known['count']} known answers are given"),
    ):
        write("".join(f"differs: {shown(name)}\n" for name in differing))
        write(f"{'FAILED' if differing else 'passed'}  {said}\n")
    return int(not content["passed"])


@contextmanager
def _sources_for_tests() -> Iterator[None]:
    """Allow known bytes for a while, where only production is allowed.

    This process reads no data, and releases nothing but made-up scores.
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
    "check this installation: the code that is loaded, and its known answers",
    "Check on this machine that the code is the examined one, and computes the same.",
    declare("--certificate FILE  write a new file with the findings"),
    _run,
    """\
Checks that the code that is loaded is that of the source files, and that this machine computes what
the examined code computes: from fixed bytes and made-up scores exactly the releases, prices,
charges and refusals that were recorded. That takes about five seconds. It reads no data, and it
does not look at the source of random bytes: each release does that. With --certificate what was
found is written as JSON, with the versions of all that computes and the hash of the code that runs.

exit codes: 0 all is as recorded, 1 something differs, 2 command line, or the certificate cannot be
written
""",
)
