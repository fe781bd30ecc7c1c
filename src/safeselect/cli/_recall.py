"""`safeselect ledger recall` and `safeselect advisories`: what a defect of the library hit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from safeselect.audit.recall import Advisory, Recall, installed, letter, read_advisory, recall, rows
from safeselect.cli._ledger import FILE, HEAD, PUBLIC_KEYS
from safeselect.cli._options import Command, declare
from safeselect.cli._output import reading, say, write
from safeselect.cli._place import name_of, place_of
from safeselect.ledger import Checker, Ed25519Signer, correct, kept_records
from safeselect.release.page import shown

ADVISORY = declare("ADVISORY  a file such as docs/advisories/*.json")
LEDGERS = declare("LEDGER several  ledgers or exported logs")
HOW = declare("""
--letter  print a letter to those who were given the releases
| --json  print everything as JSON
""")
KEY = declare("--key FILE  the Ed25519 key of a signed ledger: a PEM file without a password")
_COLUMNS = "record", "utc", "mechanism", "outcome", "verdict", "promised", "restated"


def _advisory(file: str) -> Advisory:
    with reading(file):
        return read_advisory(Path(file).read_text("utf-8"))


def _recalled(advisory: Advisory, written: str, options: argparse.Namespace) -> Recall:
    checker = Checker(options.public_key or ())
    with reading(written):
        return recall(advisory, kept_records(place_of(written), checker), checker)


def _content(name: str, found: Recall) -> dict[str, Any]:
    hits = [dict(zip(_COLUMNS, row, strict=True)) for row in rows(found)]
    verdicts = {name: "over" if sure else "may be over" for name, sure in found.over.items()}
    head = {"file": name, "ledger": found.checker.ledger, "head": found.checker.head}
    return head | {"releases": hits, "not affected": found.others, "scopes": verdicts}


def _run(options: argparse.Namespace) -> int:
    """Print what was affected in each ledger."""
    advisory, listed, hits = _advisory(options.advisory), [], 0
    for written in options.ledger:
        found = _recalled(advisory, written, options)
        hits += len(found.hits)
        name = name_of(place_of(written))
        if options.json:
            listed.append(_content(name, found))
        elif options.letter:
            write(letter(found))
        else:
            lines = ["\t".join(_COLUMNS), *("\t".join(row) for row in rows(found))]
            for scope, is_sure in found.over.items():
                lines.append(f"{'over' if is_sure else 'may be over'} its budget: {shown(scope)}")
            sure = sum(hit.is_sure for hit in found.hits.values())
            may = len(found.hits) - sure
            counts = f"{sure} affected, {may} may be, {found.others} not"
            lines += [f"{shown(name)}, head {found.checker.head}: {counts}"]
            write("".join(f"{line}\n" for line in lines))
    if options.json:
        about = {"advisory": dict(advisory.content), "sha256": advisory.sha256}
        write(json.dumps(about | {"ledgers": listed}, indent=1) + "\n")
    return 3 if hits else 0


def _correct(options: argparse.Namespace) -> int:
    """Append a correction that names every charge that is affected for sure."""
    advisory, key = _advisory(options.advisory), None
    if options.key is not None:
        with reading(options.key):
            key = Ed25519Signer(Path(options.key).read_bytes(), key_id="owner")
    options.public_key = [key.public_key] if key else ()
    hits = _recalled(advisory, options.file, options).hits
    charges = [int(seq) for seq, hit in hits.items() if hit.is_sure]
    head = correct(
        place_of(options.file),
        advisory=advisory.content["id"],
        sha256=advisory.sha256,
        charges=charges,
        reason=advisory.content["summary"],
        signer=key,
        head=options.head,
    )
    write(f"{head}\n")
    say(f"the correction names {len(charges)} charges; the new head is above")
    return 0


def _list(options: argparse.Namespace) -> int:
    """Say which of these advisories touch the installed version."""
    touched = 0
    for file in options.advisory:
        advisory = _advisory(file)
        verdict = installed(advisory)
        said = {True: "touches this version", None: "touches some releases of this version"}
        touched += verdict is not False
        text = said.get(verdict, "does not touch this version")
        write(f"{shown(advisory.content['id'])}  {text}: {shown(advisory.content['summary'])}\n")
    return 3 if touched else 0


RECALL = Command(
    "recall",
    "list the releases that an advisory affects, and what they still promise",
    ADVISORY + LEDGERS + HOW + PUBLIC_KEYS,
    _run,
    """\
Offline; no ledger is changed. Each release is affected, may be (its record does not say), or is
not. The exit code is 3 if any is or may be.
""",
)
CORRECT = Command(
    "correct",
    "append that an advisory restates the guarantees of the charges it affects",
    ADVISORY + FILE + KEY + HEAD,
    _correct,
    "Totals stay what was charged. Only the owner of a ledger may append this.\n",
)
ADVISORIES = Command(
    "advisories",
    "say which advisories touch the installed version",
    declare("ADVISORY several  files such as docs/advisories/*.json"),
    _list,
    "Offline: get the files from the project's docs/advisories. The exit code is 3 if any does.\n",
)
