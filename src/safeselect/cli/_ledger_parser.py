"""The command line of `safeselect ledger`, and the options with which a release is charged."""

from __future__ import annotations

import argparse
from typing import Any

from safeselect.cli._numbers import add_command, number

_ABOUT = """\
A ledger is a file that holds a privacy budget for each scope (a data set, say) and a record of
every release. Its head, the hash of its last record, is what to publish: with it anybody can tell
later that no record was changed or removed.

exit codes: 0 done, 2 command line or input file, 3 the records do not check, or are signed and
verify was given no key, 5 the ledger cannot be used, 6 it is busy: try again
"""


def add_ledger(commands: Any) -> None:
    """Add `safeselect ledger ACTION`."""
    ledger = add_command(
        commands,
        "ledger",
        "make, show and check a privacy budget and its records",
        "Keep a privacy budget, and show what was released from it.",
        _ABOUT,
    )
    ledger.set_defaults(command="ledger")
    actions = ledger.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, purpose in (
        ("create", "make a new ledger with one scope"),
        ("add", "open another scope in a ledger"),
    ):
        action = _action(actions, name, purpose)
        action.add_argument("--scope", required=True, metavar="NAME", help="such as a data set")
        action.add_argument("--unit", required=True, help="whose privacy, such as person")
        action.add_argument(
            "--neighbours",
            required=True,
            help="add_remove, replace_one or your own words: how the data sets that are compared "
            "differ by one unit",
        )
        for option, below, about in (
            ("epsilon", None, "the most that all releases of the scope may cost"),
            ("delta", 1, "with --epsilon"),
            ("rho", None, "instead: a budget of zero-concentrated privacy"),
            ("order", None, "with --epsilon and --delta: the Renyi order at which costs add up"),
        ):
            action.add_argument(
                f"--{option}", type=number(option, below), metavar=option[0].upper(), help=about
            )
        if name == "create":
            action.add_argument("--key-id", metavar="ID", help="public name of the key")
    reopen = _action(actions, "reopen", "let a scope answer again that refusals have closed")
    reopen.add_argument("--scope", required=True, metavar="NAME", help="the scope")
    reopen.add_argument("--reason", required=True, metavar="TEXT", help="why; for the record")
    _action(actions, "repair", "move what follows the last good line out of a damaged ledger")
    more = _action(actions, "append", "make an older copy whole from the lines of its receiver")
    more.add_argument("lines", metavar="LINES", nargs="?", default="-", help="a file; or input")
    _add_public_key(more)
    for name, purpose in (
        ("show", "print where each scope stands, and every charge"),
        ("export", "print all records, one line of JSON each"),
        ("verify", "check all records of a ledger or of an exported log"),
        ("report", "print a page of HTML for an auditor"),
    ):
        action = _action(actions, name, purpose)
        _add_public_key(action)
        if name == "verify":
            action.add_argument(
                "--release", metavar="JSON", help="a release with its receipt, to be found in it"
            )


def add_charging(parser: argparse.ArgumentParser) -> None:
    """Add the options with which a release is charged to a ledger."""
    group = parser.add_argument_group("ledger", "charge the release to a budget and record it")
    group.add_argument("--ledger", metavar="FILE", help="made with: safeselect ledger create")
    group.add_argument(
        "--scope",
        metavar="NAME",
        action="append",
        help="scope of the ledger to charge; several are charged together or not at all",
    )
    group.add_argument(
        "--purpose",
        metavar="TEXT",
        help="why; one line for the record (default: the command's name)",
    )
    _add_key(group)


def _action(actions: Any, name: str, purpose: str) -> argparse.ArgumentParser:
    action = add_command(actions, name, purpose, f"{purpose[0].upper()}{purpose[1:]}.")
    action.set_defaults(action=name)
    action.add_argument("file", metavar="FILE", help="the ledger")
    _add_key(action)
    return action


def _add_key(parser: Any) -> None:
    parser.add_argument("--head", help="a head of the ledger that was published earlier")
    parser.add_argument(
        "--key-file", metavar="KEY", help="file with the HMAC key of a signed ledger"
    )


def _add_public_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--public-key",
        metavar="HEX",
        type=bytes.fromhex,
        action="append",
        help="the 32 bytes of an Ed25519 key of a signed ledger, in 64 hexadecimal digits; given "
        "several times, every key of the ledger must be among them",
    )
