"""`safeselect sql`: print a statement that counts users in another engine."""

from __future__ import annotations

import argparse

from safeselect.cli._options import Command, declare, given
from safeselect.cli._output import write
from safeselect.errors import InputError
from safeselect.tables.dialects import DIALECTS, check_statement, statement

OPTIONS = declare(f"""
--dialect NAME {{{",".join(DIALECTS)}}} required  engine: {", ".join(DIALECTS)}
--check  print an SQL statement that tests how the engine compares text; omit all options below
--table NAME  name of the table, such as trips or sales.trips
--item COL  column that contains the items, as integers or text
--user COL  column that identifies the user of each row, as integers or text
--places integer  number of largest counts (default: all); for unknown_domain_top_k, pass k_bar + 1
--max-contributions integer  count each user for at most this many items (default: all)
""")


def _run(options: argparse.Namespace) -> int:
    columns = given(options, OPTIONS[2:]).items()
    asked = {name: value for name, value in columns if value is not None}
    if options.check:
        if asked:
            raise InputError("--check takes only --dialect, because its statement reads no table")
        sql = check_statement(options.dialect)
    else:
        for name in ("table", "item", "user"):
            if name not in asked:
                raise InputError(f"pass --{name}, or use --check")
        sql = statement(options.dialect, **asked)
    run = "a tested dialect" if DIALECTS[options.dialect].tested else "NOT A TESTED DIALECT"
    write(f"-- {options.dialect}, {run}\n{sql}")
    return 0


SQL = Command(
    "sql",
    "print an SQL statement that counts the distinct users of each item in a database table",
    OPTIONS,
    _run,
    """\
In the engine, run the printed statement and the one that --check prints. In Python, pass the rows
of both to Counts.from_rows. The statement compares text byte by byte, whatever the collation.

For example: safeselect sql --dialect postgres --table trips --item city --user rider --places 101
""",
)
