"""`safeselect audit`: one page about one release, with one verdict."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safeselect.adapters.ed25519 import Ed25519Verifier
from safeselect.audit.certified import compare_code
from safeselect.audit.line import Line, verdict
from safeselect.audit.recorded import charge_of, compare, opened_by
from safeselect.cli._escape import in_html, shown
from safeselect.errors import InputError, LedgerError
from safeselect.ledger import Checker, HmacSigner, Record, Verifier, kept_records
from safeselect.ledger.records.fields import read_head
from safeselect.releases import Release, from_json

_ABOUT = """\
Compares, each in a line: the release with the record that its receipt names, and with the record of
its charge; the records with each other, with a head that was published and with their signatures;
the code that ran with the certificate that safeselect verify --certificate wrote. It reads no data.

exit codes: 0 everything holds; 3 something does not hold, or could not be compared (the last line
says what); 2 command line, or a file cannot be read
"""
_WORDS = {True: "holds", False: "DOES NOT HOLD", None: "not compared"}


def add_audit(commands: Any) -> None:
    """Add `safeselect audit`."""
    audit = commands.add_parser(
        "audit",
        help="check one release: against its ledger, a published head, and the code's certificate",
        description="Reach one verdict about one release.",
        epilog=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
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
    lines = list(_lines(options))
    holds, last = verdict(lines)
    page = _html(options.release, lines, last) if options.html else _text(lines, last)
    return 0 if holds else 3, page, ""


def _lines(options: argparse.Namespace) -> Iterator[Line]:
    written, certificate = _read(options.release), None
    if options.certificate is not None:
        certificate = _read(options.certificate)
    release: Release | None = None
    try:
        release = from_json(written)
        yield Line("release", True, "It is a whole release, spelled as the library spells it.")
    except InputError as error:
        yield Line("release", False, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    checker, records, damage = _replayed(options.log)
    yield damage or Line(
        "log",
        True,
        f"The {len(records)} records of ledger {checker.ledger} follow from each other: hashes, "
        f"order, totals, caps, nonces and outcomes.{_rest(checker)}",
    )
    signed = _signatures(options, checker, damage is not None)
    yield signed
    place = None if release is None or release.receipt is None else release.receipt.record
    yield _head(options.head, records, place, signed.holds is True and bool(checker.signer))
    if release is None:
        yield Line("commitment", None, "There is no release to look for in the log.")
        return
    opened = opened_by(release, checker.ledger, records)
    yield opened
    charge = charge_of(release, records) if release.receipt else None
    if charge is None:
        yield Line("charge", None, "The receipt leads to no record of a charge.")
        return
    yield from compare(release, charge)
    if certificate is None:
        yield Line("certificate", None, "No certificate was given (--certificate).")
    else:
        yield from compare_code(certificate, charge["library"], charge["mechanism"])


def _replayed(file: str) -> tuple[Checker, list[Record], Line | None]:
    """Replay the log without its key; return the records up to the first that is wrong."""
    checker, records = Checker(), []
    try:
        for record in kept_records(file, checker):
            records.append(record)
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None
    except LedgerError as error:
        return checker, records, Line("log", False, f"It is damaged: {error}.")
    return checker, records, None


def _rest(checker: Checker) -> str:
    if not checker.unfinished:
        return ""
    return (
        f"  After them are {checker.unfinished} bytes of an unfinished write, which do not count."
    )


def _signatures(options: argparse.Namespace, checker: Checker, damaged: bool) -> Line:
    what = "signatures"
    given = options.public_key is not None or options.key_file is not None
    if damaged:
        return Line(what, None, "The log is damaged, so its signatures were not verified.")
    if not checker.signer:
        if given:
            return Line(
                what, False, "A key was given, and the log is not signed: it is not that key's log."
            )
        return Line(
            what, True, "The ledger has no key: only a published head shows that it was rewritten."
        )
    named = f"{checker.signer.get('algorithm')} key {checker.signer.get('key_id')}"
    if not given:
        return Line(
            what, None, f"The records are signed with {named}; give --public-key or --key-file."
        )
    try:
        replayed = Checker(_verifier(options, checker.signer))
        for _ in kept_records(options.log, replayed):
            pass
    except LedgerError as error:
        return Line(
            what, False, f"Not all records are signed with the key that was given: {error}."
        )
    if replayed.head != checker.head:
        return Line(what, None, "The log grew while it was read: try again.")
    return Line(what, True, f"All {checker.count} records are signed with {named}, as given.")


def _verifier(options: argparse.Namespace, signer: dict[str, str]) -> Verifier:
    if options.public_key is not None:
        return Ed25519Verifier(options.public_key, key_id=signer["key_id"])
    try:
        key = Path(options.key_file).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"the file {options.key_file!r} cannot be read") from None
    return HmacSigner(key, key_id=signer["key_id"])


def _head(head: str | None, records: list[Record], place: int | None, signed: bool) -> Line:
    what, found = "head", read_head(head)
    if found is None:
        return Line(
            what,
            None,
            "No published head was given (--head): nobody can tell whether the end was cut off, or "
            "an unsigned log rewritten.",
        )
    seq, hash_ = found
    if seq >= len(records):
        return Line(
            what, False, f"The head names record {seq}, and the log ends before it: it was cut."
        )
    if records[seq].hash != hash_:
        return Line(
            what, False, f"Record {seq} is not the one that the head names: the log was rewritten."
        )
    if place is not None and seq < place and not signed:
        return Line(
            what,
            None,
            f"Record {seq} is the one that the head names, but the release is in record {place}, "
            "which a head so old does not cover: give a later one.",
        )
    return Line(
        what,
        True,
        f"Record {seq} is the one that the head names; {len(records) - seq - 1} follow it.",
    )


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read as text") from None


def _text(lines: list[Line], last: str) -> str:
    width = max(len(line.what) for line in lines)
    rows = [
        f"{_WORDS[line.holds]:13}  {line.what:{width}}  {shown(line.sentence)}\n" for line in lines
    ]
    return f"{''.join(rows)}\n{shown(last)}\n"


def _html(name: str, lines: list[Line], last: str) -> str:
    rows = "\n".join(
        f"<tr><td>{_WORDS[line.holds]}<td>{in_html(line.what)}<td>{in_html(line.sentence)}"
        for line in lines
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
