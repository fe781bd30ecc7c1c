"""`safeselect audit`: one page about one release, with one verdict."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from safeselect.adapters.statement import sections
from safeselect.audit.line import verdict
from safeselect.audit.page import SCHEMA, page_of
from safeselect.audit.release import Seen, audit
from safeselect.cli._options import Command, declare
from safeselect.cli._output import read_text, reading, write
from safeselect.cli._page import as_html, columns, texts
from safeselect.cli._place import name_of, place_of
from safeselect.ledger.record import utc_now
from safeselect.release.page import Section, shown
from safeselect.release.results import from_json


def _run(options: argparse.Namespace) -> int:
    """Compare all that was given, and print the page.

    Raises:
        InputError: a file cannot be read.
        ParameterError: the head or the key is no such thing.
    """
    release = read_text(options.release)
    certificate = None if options.certificate is None else read_text(options.certificate)
    log, seen = place_of(options.log), Seen()
    keys = options.public_key, certificate, options.certificate_key
    lines = [*audit(release, log, options.head, *keys, seen)]
    holds, last = verdict(lines)
    rows = [(f"{line.word:12}", line.what, line.sentence) for line in lines]
    name = Path(options.release).name
    made = {"by": options.by or "not stated", "time": utc_now("minute")}
    made |= {"release": name, "log": name_of(log), "head": options.head or "none"}
    words = sections(seen.release) if seen.release else {}
    page = page_of(lines, seen, words, made)
    if options.json:
        write(json.dumps({"schema": SCHEMA, "holds": holds, "page": page}, indent=1) + "\n")
    elif options.html:
        parts = (
            Section(title, said) if isinstance(said, Mapping) else texts(title, said)
            for title, said in page.items()
        )
        write(as_html(f"Audit of {name}", parts))
    else:
        write("".join(f"{line}\n" for line in [*columns(rows), "", shown(last)]))
    return 0 if holds else 3


def _state(options: argparse.Namespace) -> int:
    """Print what a release says of itself, in words."""
    release = from_json(read_text(options.release))
    if options.plot:
        figure = release.plot()
        with reading(options.plot, "written"):
            figure.savefig(options.plot)
    write(f"{release.statement()}\n")
    return 0


STATEMENT = Command(
    "statement",
    "describe a release in words, for a report",
    declare("""
RELEASE  file with a release in JSON format
--plot FILE  also write a figure of the release to FILE, such as release.png or release.svg
"""),
    _state,
    """\
The text is computed from the release alone. To check the release, use safeselect audit.

For example: safeselect statement release.json
""",
)
AUDIT = Command(
    "audit",
    "check a release against its ledger and, if given, a published head and a code certificate",
    declare("""
RELEASE  file with a release in JSON format, including its receipt
--log LOG required  ledger (a file or a PostgreSQL URL), or a log exported from it
--head HEAD  head of the ledger (POSITION:HASH), published after the release
--certificate FILE  certificate written by safeselect verify --certificate
--certificate-key HEX hex  public Ed25519 key that verifies a signed certificate
--public-key HEX hex  public Ed25519 key of a signed ledger, as published by its owner
--by TEXT  name of the auditor, shown in the HTML or JSON output
--html  print an HTML page with the verdict, the budget and the limits of the audit
| --json  print the information from the HTML page in JSON format
"""),
    _run,
    """\
Prints each comparison and the verdict. An unsigned log is evidence only up to the given head.

For example: safeselect audit release.json --log budget.ledger --head 12:...
""",
)
