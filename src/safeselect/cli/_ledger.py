"""`safeselect ledger`: make a ledger, show it, check it, and report it to an auditor."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import reduce
from operator import and_
from pathlib import Path

from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import reading, say, write
from safeselect.cli._page import as_html, as_text
from safeselect.cli._report import details, sections
from safeselect.errors import ParameterError
from safeselect.ledger import Budget, Checker, Ledger, Record, Scope, log_lines
from safeselect.ledger.restoring import append, kept_records, repair
from safeselect.release.page import shown

_NEW_HEAD = "the new head is above"
FILE = declare("FILE  the ledger")
HEAD = declare("--head HEAD  a head of the ledger that was published earlier")
SCOPE = declare("--scope NAME required  such as a data set")
PUBLIC_KEYS = declare("""
--public-key HEX hex repeated  an Ed25519 key of a signed ledger; of several, all that it had
""")
SHOWN = PUBLIC_KEYS + declare("--html  print a page for an auditor, with details")
REASON = declare("--reason TEXT required  why; for the record")
LINES = declare("LINES optional =-  a file; or input")
BUDGET = declare("""
--unit UNIT required  whose privacy, such as person
--neighbours NAME required  add_remove, replace_one or your words: how data sets differ by a unit
--epsilon E  the most that all releases of the scope may cost
--delta D  with --epsilon
--rho R  instead: a budget of zero-concentrated privacy
--order O  with --epsilon and --delta: the Renyi order at which costs add up
""")
CHARGED = declare("""
ledger
--ledger FILE  made with: safeselect ledger create
--scope NAME repeated  scope of the ledger to charge; several are charged together or not at all
--purpose TEXT  why; one line for the record (default: the command's name)
--head HEAD  a head of the ledger that was published earlier
""")


def open_scope(options: argparse.Namespace, *, neighbours: str | None = None) -> Scope | None:
    """Return the scopes that `--ledger` and `--scope` name, together; None without them.

    Args:
        neighbours: the neighbours of the command's release, if fixed; otherwise the scope's.
    """
    if {options.ledger, options.purpose, options.head} == {None} and options.scope is None:
        return None
    if options.ledger is None or options.scope is None:
        raise ParameterError("--ledger and --scope go together; --purpose and --head go with them")
    ledger = Ledger.open(options.ledger, head=options.head)
    purpose = f"safeselect {options.command}" if options.purpose is None else options.purpose
    found: list[Scope] = []
    for name in options.scope:
        budget = ledger.balance(name).budget
        kind = budget.neighbours if neighbours is None else neighbours
        found.append(ledger.scope(name, unit=budget.unit, neighbours=kind, purpose=purpose))
    return reduce(and_, found)


def _create(options: argparse.Namespace) -> int:
    ledger = Ledger.create(options.file, {options.scope: Budget(**given(options, BUDGET))})
    return _done(ledger.head, f"made ledger {ledger.id}; its head is above")


def _add(options: argparse.Namespace) -> int:
    ledger = Ledger.open(options.file, head=options.head)
    ledger.add_scope(options.scope, Budget(**given(options, BUDGET)))
    return _done(ledger.head, f"opened scope {shown(options.scope)}; {_NEW_HEAD}")


def _reopen(options: argparse.Namespace) -> int:
    ledger = Ledger.open(options.file, head=options.head)
    ledger.reopen(options.scope, reason=options.reason)
    return _done(ledger.head, f"scope {shown(options.scope)} answers again; {_NEW_HEAD}")


def _repair(options: argparse.Namespace) -> int:
    kept = repair(options.file, head=options.head)
    said = f"what followed the last good line is in {shown(kept)}: charge anew what it charged"
    return _done(Ledger.open(options.file).head, f"{said}; {_NEW_HEAD}")


def _append(options: argparse.Namespace) -> int:
    place = 0 if options.lines == "-" else options.lines
    with reading(options.lines), open(place, "rb", closefd=place != 0) as file:
        rows = file.readlines()
    keys = options.public_key or ()
    checker = append(options.file, rows, public_keys=keys, head=options.head)
    return _done(checker.head, f"the ledger has {checker.count} records; {_NEW_HEAD}")


def _done(head: str, said: str) -> int:
    write(f"{head}\n")
    say(said)
    return 0


def _show(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    name = Path(options.file).name
    page = [*sections(name, checker, records)]
    if options.html:
        write(as_html(f"Privacy ledger {name}", [*page, *details(records)]))
    else:
        write(as_text(page))
    return _all_fine(checker)


def _export(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    write("".join(log_lines(records)))
    say(f"head {checker.head}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    checker, _ = _checked(options)
    write(f"head {checker.head}\n")
    _all_fine(checker, head=options.head)
    # Of a signed ledger one expects more than that its records follow from each other.
    return 3 if checker.signer and not checker.public_keys else 0


def _all_fine(checker: Checker, head: str | None = None) -> int:
    parts = [f"all {checker.count} records follow from each other"]
    if checker.signer and checker.public_keys:
        parts.append("signatures checked")
    elif checker.signer:
        parts.append("signatures not checked: give --public-key")
    if checker.unfinished:
        parts.append(f"{checker.unfinished} bytes after them are not a whole record")
    if head is None:
        parts.append("without --head nobody can tell whether the end was cut off")
    say("; ".join(parts))
    return 0


def _checked(options: argparse.Namespace) -> tuple[Checker, list[Record]]:
    """Return all records of a ledger or an exported log, after checking each."""
    checker = Checker(options.public_key or (), options.head)
    with reading(options.file):
        return checker, list(kept_records(options.file, checker))


def _action(
    name: str, purpose: str, run: Callable[[argparse.Namespace], int], own: tuple[Option, ...] = ()
) -> Command:
    return Command(name, purpose, (*FILE, *own, *HEAD), run)


LEDGER = Command(
    "ledger",
    "make, show and check a privacy budget and its records",
    about="""\
A ledger holds a privacy budget for each scope (a data set, say) and a record of every release. Its
head is what to publish: with it anybody can tell later that no record was changed or removed.
""",
    actions=(
        _action("create", "make a new ledger with one scope", _create, SCOPE + BUDGET),
        _action("add", "open another scope in a ledger", _add, SCOPE + BUDGET),
        _action(
            "reopen", "let a scope answer again that refusals have closed", _reopen, SCOPE + REASON
        ),
        _action("repair", "move what follows the last good line out of a damaged ledger", _repair),
        _action(
            "append",
            "make an older copy whole from the lines that its witness kept",
            _append,
            LINES + PUBLIC_KEYS,
        ),
        _action("show", "print where each scope stands, and every charge", _show, SHOWN),
        _action("export", "print all records, one line of JSON each", _export, PUBLIC_KEYS),
        _action("verify", "check all records of a ledger or of a log", _verify, PUBLIC_KEYS),
    ),
)
