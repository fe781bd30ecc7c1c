"""`safeselect audit`: one page about one release, with one verdict."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from safeselect.audit.line import Line, verdict
from safeselect.audit.release import audit as compare
from safeselect.cli._escape import in_html, shown
from safeselect.cli._numbers import add_command
from safeselect.errors import InputError
from safeselect.ledger import HmacSigner, Verifier
from safeselect.ledger.record import read_head
from safeselect.ledger.signing import Ed25519Verifier

_ABOUT = """\
Compares, each in a line: the release with the record that its receipt names, and with the record of
its charge; its plan, computed again from its mechanism, cost and parameters; the records with each
other, with a head that was published and with their signatures; the code that ran with the
certificate that safeselect verify --certificate wrote. It reads no data.

A log that is not signed holds up to the head that is given. What can be restated as a whole, with a
head of the forger's own, no audit sees: the manual of the ledger lists it.

exit codes: 0 it holds; 3 something does not hold, is missing, or could not be compared (the last
line says what); 2 command line, or a file cannot be read
"""


def add_audit(commands: Any) -> None:
    """Add `safeselect audit`."""
    audit = add_command(
        commands,
        "audit",
        "check one release: against its ledger, a published head, and the code's certificate",
        "Reach one verdict about one release.",
        _ABOUT,
    )
    audit.add_argument("release", metavar="RELEASE", help="a release in JSON, with its receipt")
    audit.add_argument(
        "--log", required=True, metavar="LOG", help="the ledger, or a log that it exported"
    )
    audit.add_argument("--head", help="a head of the ledger that was published after the release")
    audit.add_argument(
        "--certificate", metavar="FILE", help="what safeselect verify --certificate wrote"
    )
    key = audit.add_mutually_exclusive_group()
    key.add_argument(
        "--public-key",
        metavar="HEX",
        type=bytes.fromhex,
        help="the Ed25519 key of a signed ledger, as its owner published it",
    )
    key.add_argument("--key-file", metavar="KEY", help="file with the HMAC key of a signed ledger")
    audit.add_argument("--html", action="store_true", help="print the page as HTML")
    audit.set_defaults(command="audit")


def run_audit(options: argparse.Namespace) -> tuple[int, str, str]:
    """Compare all that was given; return the exit code, the page, and nothing for standard error.

    Raises:
        InputError: a file cannot be read.
        ParameterError: the head or the key is no such thing.
    """
    read_head(options.head)
    key = None
    if options.public_key is not None or options.key_file is not None:
        key = partial(_verifier, options)
    certificate = None if options.certificate is None else _read(options.certificate)
    lines = list(compare(_read(options.release), options.log, options.head, key, certificate))
    holds, last = verdict(lines)
    page = _html(options.release, lines, last) if options.html else _text(lines, last)
    return 0 if holds else 3, page, ""


def _verifier(options: argparse.Namespace, signer: Mapping[str, str]) -> Verifier:
    if options.public_key is not None:
        return Ed25519Verifier(options.public_key, key_id=signer["key_id"])
    try:
        key = Path(options.key_file).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"the file {options.key_file!r} cannot be read") from None
    return HmacSigner(key, key_id=signer["key_id"])


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read as text") from None


def _text(lines: list[Line], last: str) -> str:
    width = max(len(line.what) for line in lines)
    rows = [f"{line.word:13}  {line.what:{width}}  {shown(line.sentence)}\n" for line in lines]
    return f"{''.join(rows)}\n{shown(last)}\n"


def _html(name: str, lines: list[Line], last: str) -> str:
    rows = "\n".join(
        f"<tr><td>{line.word}<td>{in_html(line.what)}<td>{in_html(line.sentence)}" for line in lines
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>Audit of {in_html(Path(name).name)}</title>\n"
        "<style>body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem "
        "auto; } td { padding: 0.3rem 1rem 0.3rem 0; vertical-align: top; overflow-wrap: anywhere; "
        "border-bottom: 1px solid #d9dee8; } td:first-child { white-space: nowrap; }</style>"
        "</head>\n"
        f"<body><h1>Audit of <code>{in_html(Path(name).name)}</code></h1>\n"
        f"<p><strong>{in_html(last)}</strong></p>\n<table><tbody>\n{rows}\n</tbody></table>"
        "</body></html>\n"
    )
