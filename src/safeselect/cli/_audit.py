"""`safeselect audit`: one page about one release, with one verdict."""

from __future__ import annotations

import argparse
from pathlib import Path

from safeselect.audit.line import verdict
from safeselect.audit.release import audit
from safeselect.cli._options import Command, declare
from safeselect.cli._output import shown, write
from safeselect.cli._page import fill, page, table
from safeselect.errors import InputError
from safeselect.ledger.record import read_head


def _run(options: argparse.Namespace) -> int:
    """Compare all that was given, and print the page.

    Raises:
        InputError: a file cannot be read.
        ParameterError: the head or the key is no such thing.
    """
    read_head(options.head)
    certificate = None if options.certificate is None else _read(options.certificate)
    lines = list(
        audit(_read(options.release), options.log, options.head, options.public_key, certificate)
    )
    holds, last = verdict(lines)
    if options.html:
        rows = [(line.word, line.what, line.sentence) for line in lines]
        name = Path(options.release).name
        body = fill(_BODY, name=name, last=last, table=table((), rows))
        write(page(f"Audit of {name}", body))
    else:
        width = max(len(line.what) for line in lines)
        for line in lines:
            write(f"{line.word:13}  {line.what:{width}}  {shown(line.sentence)}\n")
        write(f"\n{shown(last)}\n")
    return 0 if holds else 3


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read as text") from None


_BODY = "<h1>Audit of <code>{name}</code></h1>\n<p><strong>{last}</strong></p>\n{table}"
AUDIT = Command(
    "audit",
    "check one release: against its ledger, a published head, and the code's certificate",
    "Reach one verdict about one release.",
    declare("""
RELEASE  a release in JSON, with its receipt
--log LOG required  the ledger, or a log that it exported
--head HEAD  a head of the ledger that was published after the release
--certificate FILE  what safeselect verify --certificate wrote
--public-key HEX hex  the Ed25519 key of a signed ledger, as its owner published it
--html  print the page as HTML
"""),
    _run,
    """\
Compares, each in a line: the release with the record that its receipt names, and with the record of
its charge; its plan, computed again from its mechanism, cost and parameters; the records with each
other, with a head that was published and with their signatures; the code that ran with the
certificate that safeselect verify --certificate wrote. It reads no data.

A log that is not signed holds up to the head that is given. What can be restated as a whole, with a
head of the forger's own, no audit sees: the manual of the ledger lists it.

exit codes: 0 it holds; 3 something does not hold, is missing, or could not be compared (the last
line says what); 2 command line, or a file cannot be read
""",
)
