"""Options of the commands that read tables: groups, and how files are read."""

from __future__ import annotations

import argparse
from typing import Any

from safeselect.cli._numbers import count
from safeselect.tables import TableAs


def add_groups(counting: argparse.ArgumentParser) -> None:
    grouped = counting.add_argument_group("groups")
    grouped.add_argument("--group-by", metavar="COL", help="release a list for each value of COL")
    which = grouped.add_mutually_exclusive_group()
    which.add_argument("--groups", metavar="FILE", help="public list of groups, one a line")
    which.add_argument(
        "--groups-are-public",
        action="store_true",
        help="assert that the set of groups in the file is public knowledge",
    )
    many = grouped.add_mutually_exclusive_group()
    many.add_argument(
        "--groups-per-user",
        type=count,
        metavar="M",
        help="in how many groups a usual user is, as a public fact; it chooses --max-groups",
    )
    many.add_argument(
        "--max-groups",
        type=_count_or_all,
        metavar="C",
        help="count a user in C groups at most, chosen by a fixed hash (default: 1), or 'all'; the "
        "budget is shared by C groups",
    )


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add how a file is read; `table_of` reads the options."""
    form = parser.add_argument_group("how FILE is read")
    form.add_argument("--delimiter", default=",", metavar="C", help="of a CSV file (default: ,)")
    form.add_argument(
        "--encoding", choices=("utf-8", "latin-1", "utf-16"), default="utf-8", help="of a CSV file"
    )
    form.add_argument("--trim", action="store_true", help="drop blanks around text")
    form.add_argument(
        "--casefold", action="store_true", help="make letters small; lists of names too"
    )
    form.add_argument(
        "--nfc", action="store_true", help="compose letters and accents, so that both forms are one"
    )
    form.add_argument(
        "--whole-numbers",
        action="store_true",
        help="read text such as 7.0 as 7, as programs write ids where one is missing",
    )


def table_of(options: argparse.Namespace) -> Any:
    """The files and how they are read; the one path alone where nothing is said of its form."""
    files = options.file if isinstance(options.file, list) else [options.file]
    given = TableAs(
        files if len(files) > 1 else files[0],
        delimiter="\t" if options.delimiter == "\\t" else options.delimiter,
        encoding=options.encoding,
        trim=options.trim,
        casefold=options.casefold,
        nfc=options.nfc,
        whole_numbers=options.whole_numbers,
    )
    return given.table if given == TableAs(given.table) else given


def _count_or_all(text: str) -> int | str:
    return text if text == "all" else count(text)
