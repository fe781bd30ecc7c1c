"""`safeselect sql`: the statement with which another engine counts users."""

from __future__ import annotations

import argparse

from safeselect.cli._options import Command, declare
from safeselect.cli._output import write
from safeselect.errors import InputError
from safeselect.tables.dialects import DIALECTS, check_statement, statement

OPTIONS = declare(f"""
--dialect NAME {{{",".join(DIALECTS)}}} required  engine: {", ".join(DIALECTS)}
--check  print the statement that shows how the engine compares text
--table NAME  table, or SCHEMA.TABLE
--item COL  column of the items, integers or text
--user COL  column that identifies the user of a row, integers or text
--places integer  how many of the largest counts: k_bar + 1; all without it
--max-contributions integer  for how many items a user is counted; all without it
""")


def _run(options: argparse.Namespace) -> int:
    asked = {
        name: getattr(options, name)
        for name in ("table", "item", "user", "places", "max_contributions")
        if getattr(options, name) is not None
    }
    if options.check:
        if asked:
            raise InputError("--check goes with --dialect alone: it reads no table")
        sql = check_statement(options.dialect)
    else:
        for name in ("table", "item", "user"):
            if name not in asked:
                raise InputError(f"--{name} is missing; or write --check")
        sql = statement(options.dialect, **asked)
    run = "run by the tests" if DIALECTS[options.dialect].tested else "NOT RUN by the tests"
    write(f"-- {options.dialect}, {run}\n{sql}")
    return 0


SQL = Command(
    "sql",
    "print the statement with which a database counts users",
    OPTIONS,
    _run,
    """\
The database counts, and Counts.from_rows takes the rows of both statements: of the counts, and of
--check. Text is compared by its bytes, whatever the collation of a column. For example:
safeselect sql --dialect postgres --table trips --item city --user rider --places 101
""",
)
