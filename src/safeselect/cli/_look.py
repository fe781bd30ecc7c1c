"""`safeselect look`: how a table is written, for whoever may see it."""

from __future__ import annotations

import argparse
import json

from safeselect.cli._options import Command, declare
from safeselect.cli._output import write
from safeselect.cli._page import columns
from safeselect.cli._releases import FILE, FORM, JSON, flags, table_of
from safeselect.tables.files import LAST, TITLE

LOOKED = declare("""
--user COL required  column that identifies the user of each row
--item COL  column of the items, to count items per user
""")


def _run(options: argparse.Namespace) -> int:
    look = table_of(options).check(user=options.user, item=options.item)
    if options.json:
        kept = {"not_for_publication": TITLE, "findings": look.findings, "options": look.options}
        write(f"{json.dumps(kept)}\n")
        return 0
    rows = [(what, found, " ".join(flags(settled))) for what, found, settled in look.findings]
    every = " ".join(flags(look.options)) or "none"
    write("".join(f"{line}\n" for line in [TITLE, *columns(rows), f"options: {every}", LAST]))
    return 0


LOOK = Command(
    "look",
    "inspect a file before a release; the output is private, NOT FOR PUBLICATION",
    (*FILE, *LOOKED, *JSON, *FORM),
    _run,
    """\
Prints the forms of users, numbers, dates and missing values, and the option for each. A release
never detects forms: without --ids, it compares ids as written. For example:
safeselect look trips.csv --user rider
""",
)
