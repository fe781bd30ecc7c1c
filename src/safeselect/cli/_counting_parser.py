"""The options of `safeselect top-k` for groups, and for how its files are read."""

from __future__ import annotations

import argparse

from safeselect.cli._numbers import count

__all__ = ["add_groups_and_form"]


def add_groups_and_form(counting: argparse.ArgumentParser) -> None:
    grouped = counting.add_argument_group("groups")
    grouped.add_argument("--group-by", metavar="COL", help="release a list for each value of COL")
    which = grouped.add_mutually_exclusive_group()
    which.add_argument("--groups", metavar="FILE", help="public list of groups, one a line")
    which.add_argument(
        "--groups-are-public",
        action="store_true",
        help="assert that the set of groups in the file is public knowledge",
    )
    grouped.add_argument(
        "--max-groups",
        type=_count_or_all,
        metavar="C",
        help="count a user in C groups at most, chosen by a fixed hash (default: 1), or 'all'; the "
        "budget is shared by C groups",
    )
    form = counting.add_argument_group("how FILE is read")
    form.add_argument("--delimiter", default=",", metavar="C", help="of a CSV file (default: ,)")
    form.add_argument(
        "--encoding", choices=("utf-8", "latin-1", "utf-16"), default="utf-8", help="of a CSV file"
    )
    form.add_argument("--trim", action="store_true", help="drop blanks around text")
    form.add_argument("--casefold", action="store_true", help="make letters small")
    form.add_argument(
        "--nfc", action="store_true", help="compose letters and accents, so that both forms are one"
    )


def _count_or_all(text: str) -> int | str:
    return text if text == "all" else count(text)
