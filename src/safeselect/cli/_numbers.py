"""What several commands have in common: their form, exact numbers, and the options for them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from safeselect.cli._help import HelpFormatter
from safeselect.errors import ParameterError
from safeselect.exact.parameters import rational


def add_command(
    commands: Any, name: str, purpose: str, description: str, about: str | None = None
) -> argparse.ArgumentParser:
    """Add a command: its purpose in one line, what it does, and what is said below its options."""
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=purpose,
        description=description,
        epilog=about,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    return added


def number(name: str, below: int | None = None, *, zero: bool = False) -> Callable[[str], Fraction]:
    """Return a reader of a positive rational for argparse; with `zero`, of zero too."""

    def read(text: str) -> Fraction:
        try:
            return rational(text, name, below=below, zero=zero)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def count(text: str) -> int:
    """Read a positive integer of at most nine digits for argparse."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return int(text)


def add_grid(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading numbers."""
    parser.add_argument(
        "--grid",
        type=number("grid"),
        metavar="G",
        help="public step for scores that are not integers, such as a thousandth of the "
        "sensitivity; scores go to the nearest step, and what that adds to their change is "
        "counted; without it every score must be an integer",
    )
    parser.add_argument(
        "--on-grid",
        action="store_true",
        help="the true scores are multiples of G, and those in the file lie less than half a step "
        "from them, as k/n computed in floats does from the nearest multiple of 1/n: nothing is "
        "added",
    )
    parser.add_argument(
        "--score-error",
        type=number("score_error", zero=True),
        metavar="E",
        help="how far a score in the file may lie from the one whose change was declared "
        "(default: half of G); 0 where they are exact",
    )


def add_total(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the total cost."""
    total = parser.add_mutually_exclusive_group(required=True)
    more: dict[str, Any] = {"nargs": "+"} if several else {}
    total.add_argument(
        "--epsilon",
        type=number("epsilon"),
        metavar="E",
        help="total cost, such as 1, 0.1 or 1/3" + "; or several, to compare" * several,
        **more,
    )
    total.add_argument(
        "--rho", type=number("rho"), metavar="R", help="total cost as zero-concentrated privacy"
    )
    parser.add_argument(
        "--delta",
        type=number("delta", below=1),
        metavar="D",
        help="with --epsilon: allow this much slack, such as 1e-9, for less noise",
    )
