"""The command line: options, their help, and the checks that need no file."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from safeselect.cli._audit import add_audit
from safeselect.cli._counting_parser import add_form, add_groups
from safeselect.cli._explain import add_explain
from safeselect.cli._help import RELEASE_EXIT_CODES
from safeselect.cli._keys import FILES, add_keys
from safeselect.cli._ledger_parser import add_charging, add_ledger
from safeselect.cli._numbers import add_command, add_grid, add_total, count, number
from safeselect.cli._verify import add_verify
from safeselect.selection._table import MECHANISMS

_CANDIDATES = """\
where the candidates come from:
  A list of items that was found in the data is itself private: if one person's row can put a new
  item on the list, then seeing that item printed tells about that person.

  by default               the domain is unknown: the items are found in FILE, and --delta bounds
                           the probability that an item shows which only one user has. At most k
                           items come out, best first; fewer, perhaps none, where the counts are
                           too small to be shown.
  --candidates FILE        a list made without looking at the data, one item a line. Items outside
                           the list are dropped; an item of the list without rows counts 0.
  --candidates-are-public  the items found in FILE are the list. Saying so asserts that this set
                           of items is public knowledge, so that it would be the same without any
                           one user.

in an unknown domain:
  --k-bar N                so many items compete (default: 10 times k). More of them find rarer
                           items; fewer need less of a lead.
  --max-contributions D    count each user for D items at most, chosen by a fixed hash, and print
                           noisy counts too: item, tab, count. D must not follow from the data.

in groups, with --group-by COL:
  Printed is one release, a line an item: group, tab, item. The groups are public: they are on a
  list made without the data, or their set is public knowledge. All groups of the list are in the
  release, those without rows too; of a group without items no line is printed.
"""
_SELECT = """\
The labels are the candidates and must be public: only the scores are protected. Rows are taken in
the order of their labels, so that the order of the file is not released.
"""


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, like all other errors; subcommands inherit it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="safeselect",
        description="Differentially private selection, sampled exactly: which candidates are best.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    counting = _command(commands, "top-k", "the items with the most distinct users", _CANDIDATES)
    counting.add_argument("--item", required=True, metavar="COL", help="column of the candidates")
    counting.add_argument(
        "--user", required=True, metavar="COL", help="column that says whose row it is"
    )
    counting.add_argument("-k", required=True, type=count, help="how many items to release")
    known = counting.add_mutually_exclusive_group()
    known.add_argument("--candidates", metavar="FILE", help="public list of items, one a line")
    known.add_argument(
        "--candidates-are-public",
        action="store_true",
        help="assert that the set of items in the file is public knowledge",
    )
    unknown = counting.add_argument_group("unknown domain")
    unknown.add_argument("--k-bar", type=count, metavar="N", help="how many items compete")
    unknown.add_argument(
        "--max-contributions", type=count, metavar="D", help="count a user for D items at most"
    )
    add_groups(counting)
    counting.add_argument(
        "--plot", metavar="FILE", help="draw the release too, in a .png, .svg or .pdf file"
    )
    add_form(counting)
    counting.add_argument(
        "--rows",
        type=count,
        metavar="N",
        help="how many rows FILE has, as far as that is public: warn if --delta is above 1/N",
    )
    counting.set_defaults(
        command="top-k", unit="neighbours: files that differ by all rows of one user; released: "
    )

    ready = _command(commands, "select", "the candidates with the largest ready scores", _SELECT)
    ready.add_argument("--label", required=True, metavar="COL", help="column of the candidates")
    ready.add_argument("--score", required=True, metavar="COL", help="column of the scores")
    ready.add_argument("-k", default=1, type=count, help="how many to release (default: 1)")
    ready.add_argument(
        "--sensitivity",
        required=True,
        type=number("sensitivity"),
        metavar="S",
        help="largest change of any one candidate's score when one unit, a person say, is added "
        "or removed",
    )
    ready.add_argument(
        "--monotonic",
        action="store_true",
        help="adding a unit never moves two scores in opposite directions: half the noise",
    )
    add_grid(ready)
    add_form(ready)
    ready.add_argument("--minimize", action="store_true", help="prefer small scores")
    ready.set_defaults(
        command="select", unit="neighbours: as your --sensitivity defines them; released: "
    )
    add_keys(commands)
    add_explain(commands)
    add_ledger(commands)
    add_verify(commands)
    add_audit(commands)
    return parser


def _command(commands: Any, name: str, purpose: str, epilog: str) -> argparse.ArgumentParser:
    description = f"Release {purpose}, with differential privacy."
    parser = add_command(commands, name, purpose, description, epilog + RELEASE_EXIT_CODES)
    parser.add_argument("file", metavar="FILE", nargs="+", help=FILES)
    add_total(parser)
    parser.add_argument(
        "--mechanism",
        choices=MECHANISMS,
        metavar="NAME",
        help=f"{', '.join(MECHANISMS)}; by default one_shot_exponential, or exponential with "
        "--delta or --rho",
    )
    parser.add_argument("--json", action="store_true", help="print the release as JSON")
    add_charging(parser)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        try:
            number = version("safeselect")
        except PackageNotFoundError:
            number = "(not installed)"
        sys.stdout.write(f"safeselect {number}\n")
        parser.exit()
