"""`safeselect ledger recall` and `safeselect advisories`: what a defect of the library hit."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from safeselect.audit.recall import Advisory, Recall, letter, read_advisory, recall
from safeselect.cli._ledger import FILE, HEAD, PUBLIC_KEYS
from safeselect.cli._options import Command, declare
from safeselect.cli._output import read_text, reading, say, write
from safeselect.cli._place import KEY, place_of, read_key
from safeselect.ledger import Checker, correct, kept_records
from safeselect.ledger.record import library, text
from safeselect.release.page import shown

ADVISORY = declare("ADVISORY  file with an advisory, such as a file in docs/advisories")
LEDGERS = declare("LEDGER several  one or more ledgers or exported logs")


def _recalled(advisory: Advisory, written: str, keys: Collection[bytes]) -> Recall:
    checker = Checker(keys)
    with reading(written):
        return recall(advisory, kept_records(place_of(written), checker), checker)


def _run(options: argparse.Namespace) -> int:
    """Write a letter for each ledger."""
    advisory, hits = read_advisory(read_text(options.advisory)), 0
    for written in options.ledger:
        found = _recalled(advisory, written, options.public_key or ())
        write(letter(found))
        hits += len(found.hits)
    return 3 if hits else 0


def _correct(options: argparse.Namespace) -> int:
    """Append a correction that names every charge that is affected for sure."""
    advisory, key = read_advisory(read_text(options.advisory)), read_key(options.key, "owner")
    hits = _recalled(advisory, options.file, [key.public_key] if key else ()).hits
    charges = [int(seq) for seq, hit in hits.items() if hit.is_sure]
    summary = "".join(each if each.isprintable() else " " for each in advisory.content["summary"])
    head = correct(
        place_of(options.file),
        advisory=text(advisory.content["id"], "the id of an advisory"),
        sha256=advisory.sha256,
        charges=charges,
        reason=text(" ".join(summary.split())[:200].rstrip(), "the summary of an advisory"),
        signer=key,
        head=options.head,
    )
    write(f"{head}\n")
    say(f"charges in the correction: {len(charges)}; the new head is on standard output")
    return 0


def _list(options: argparse.Namespace) -> int:
    """Say which of these advisories touch the installed version."""
    found = {file: read_advisory(read_text(file)) for file in options.advisory}
    verdicts = {file: each.touches({"library": library()}) for file, each in found.items()}
    for file, each in found.items():
        name, summary = (shown(each.content[of]) for of in ("id", "summary"))
        write(f"{name}  {_TOUCHES[verdicts[file]]} this version: {summary}\n")
    return 0 if set(verdicts.values()) <= {False} else 3


_TOUCHES = {True: "affects", None: "affects some releases made with", False: "does not affect"}
RECALL = Command(
    "recall",
    "list the releases that an advisory affects or may affect, and the guarantees that still hold",
    ADVISORY + LEDGERS + PUBLIC_KEYS,
    _run,
    """\
Changes no ledger, and works offline if the ledgers are files. A release is listed as possibly
affected if its record does not show whether it is. The exit code is 3 if any release is listed.

For example: safeselect ledger recall advisory.json budget.ledger
""",
)
CORRECT = Command(
    "correct",
    "add a record that lists the charges that an advisory certainly affects",
    ADVISORY + FILE + KEY + HEAD,
    _correct,
    """\
The totals do not change. A signed ledger requires --key. In PostgreSQL, only the owner can do this.

For example: safeselect ledger correct advisory.json budget.ledger
""",
)
ADVISORIES = Command(
    "advisories",
    "report, for each advisory, whether it affects the installed version",
    declare("ADVISORY several  files with advisories, such as docs/advisories/*.json"),
    _list,
    """\
Works offline on files such as those in docs/advisories. The exit code is 3 if any of the advisories
affects releases made with the installed version.

For example: safeselect advisories docs/advisories/*.json
""",
)
