"""`safeselect ledger`: make a ledger, show it, check it, and report it to an auditor."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from functools import reduce
from operator import and_
from pathlib import Path

from safeselect.accounting.cost import rounded_text
from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import say, shown, write
from safeselect.cli._report import Release, changes, releases, report
from safeselect.errors import InputError, LedgerDamaged, ParameterError, SafeSelectWarning
from safeselect.ledger import (
    Budget,
    Checker,
    Ledger,
    Record,
    Scope,
    append,
    kept_records,
    log_lines,
    repair,
)
from safeselect.ledger.record import commitment

_NEW_HEAD = "the new head is above"
FILE = declare("FILE  the ledger")
HEAD = declare("--head HEAD  a head of the ledger that was published earlier")
SCOPE = declare("--scope NAME required  such as a data set")
PUBLIC_KEYS = declare("""
--public-key HEX hex repeated  the 32 bytes of an Ed25519 key of a signed ledger, in 64 hexadecimal
    digits; given several times, every key of the ledger must be among them
""")
BUDGET = declare("""
--unit UNIT required  whose privacy, such as person
--neighbours NEIGHBOURS required  add_remove, replace_one or your own words: how the data sets that
    are compared differ by one unit
--epsilon E number  the most that all releases of the scope may cost
--delta D part  with --epsilon
--rho R number  instead: a budget of zero-concentrated privacy
--order O number  with --epsilon and --delta: the Renyi order at which costs add up
""")
CHARGED = declare("""
ledger: charge the release to a budget and record it
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
    if options.ledger is None or options.scope is None:
        if any(each is not None for each in given(options, CHARGED).values()):
            raise ParameterError(
                "--ledger and --scope go together; --purpose and --head go with them"
            )
        return None
    ledger = Ledger.open(options.ledger, head=options.head)
    purpose = f"safeselect {options.command}" if options.purpose is None else options.purpose
    found: list[Scope] = []
    for name in options.scope:
        budget = ledger.balance(name).budget
        kind = budget.neighbours if neighbours is None else neighbours
        found.append(ledger.scope(name, unit=budget.unit, neighbours=kind, purpose=purpose))
    return reduce(and_, found)


def _create(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SafeSelectWarning)
        budget = Budget(**given(options, BUDGET))
        ledger = Ledger.create(options.file, {options.scope: budget})
    lines = [*(str(each.message) for each in said), f"made ledger {ledger.id}; its head is above"]
    return _done(ledger.head, "\n".join(lines))


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
    said = (
        f"what followed the last good line is in {shown(kept)}, and what it charged counts no "
        f"more: charge that anew; {_NEW_HEAD}"
    )
    return _done(Ledger.open(options.file).head, said)


def _append(options: argparse.Namespace) -> int:
    lines = sys.stdin.buffer.read() if options.lines == "-" else _read(options.lines)
    rows, keys = lines.splitlines(keepends=True), options.public_key or ()
    checker = append(options.file, rows, public_keys=keys, head=options.head)
    return _done(checker.head, f"the ledger has {checker.count} records; {_NEW_HEAD}")


def _done(head: str, said: str) -> int:
    write(f"{head}\n")
    say(said)
    return 0


def _show(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    lines = []
    for name, balance in checker.scopes.items():
        budget = balance.budget
        terms = f"unit {shown(budget.unit)}, neighbours {shown(budget.neighbours)}"
        lines.append(f"scope {shown(name)}: {terms}")
        spent, left = budget.in_epsilon(balance.spent), budget.in_epsilon(balance.left)
        at = ""
        if budget.order is not None and budget.delta is not None:
            at = f" at delta {rounded_text(budget.delta)}"
        lines += [
            f"  {amount}: {rounded_text(spent[amount])} of {rounded_text(cap)} spent, "
            f"{rounded_text(left[amount])} left{at}"
            for amount, cap in budget.in_epsilon(budget.caps).items()
        ]
        if balance.refusals:
            closed = ": closed" if balance.is_closed else ""
            lines.append(
                f"  refusals of private input: {balance.refusals} of {balance.max_refusals}{closed}"
            )
        charges = [_line(name, each) for each in releases(records) if name in each.scopes]
        lines += [f"  {shown(line)}" for line in (*charges, *_changed(records, name))]
    if checker.approvers is not None:
        people = f"{checker.approvers.needed} of {len(checker.approvers.keys)}"
        lines.append(f"{people} approvers sign every new scope and raised limit")
    lines += [shown(line) for line in _changed(records, None)]
    lines.append(f"head {checker.head}")
    write("".join(f"{line}\n" for line in lines))
    return _all_fine(checker)


def _line(scope: str, release: Release) -> str:
    content, amounts = release.content, release.amounts(scope, "charge")
    price = ", ".join(f"{name} {rounded_text(value)}" for name, value in amounts.items())
    asserted = "; guarantee asserted" if release.is_asserted else ""
    return (
        f"{content['seq']} {content['utc']} {content['mechanism']} {price}: {release.outcome}; "
        f"{content['purpose']}{asserted}"
    )


def _changed(records: list[Record], scope: str | None) -> list[str]:
    return [" ".join(change) for change in changes(records, scope)]


def _export(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    write("".join(log_lines(records)))
    say(f"head {checker.head}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    lines = [f"head {checker.head}"]
    if options.release is not None:
        lines.append(f"record {_committed(options.release, checker, records)} holds this release")
    write("".join(f"{line}\n" for line in lines))
    _all_fine(checker, head=options.head)
    # Of a signed ledger one expects more than that its records follow from each other.
    return 3 if checker.signer and not checker.public_keys else 0


def _report(options: argparse.Namespace) -> int:
    checker, records = _checked(options)
    write(report(Path(options.file).name, records[0].content["utc"], checker, records))
    return _all_fine(checker)


def _all_fine(checker: Checker, head: str | None = None) -> int:
    parts = [f"all {checker.count} records follow from each other"]
    if checker.signer and checker.public_keys:
        parts.append("signatures checked")
    elif checker.signer:
        parts.append("signatures not checked: give --public-key")
    if checker.unfinished:
        parts.append(
            f"{checker.unfinished} bytes after them are not a whole record and do not count"
        )
    if head is None:
        parts.append("without --head nobody can tell whether the end was cut off")
    say("; ".join(parts))
    return 0


def _committed(file: str, checker: Checker, records: list[Record]) -> str:
    """Return the record whose commitment this release in JSON opens."""
    try:
        release = json.loads(_read(file))
        receipt = release.pop("receipt")
        ledger, seq, salt = receipt["ledger"], receipt["record"], bytes.fromhex(receipt["salt"])
        place = int(seq)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise InputError(f"{file!r} is not a release in JSON with a receipt") from None
    output = json.dumps(release, sort_keys=True, ensure_ascii=True)
    found = records[place].content if 0 <= place < len(records) else {}
    if ledger != checker.ledger or found.get("commitment") != commitment(salt, output):
        raise LedgerDamaged("the ledger holds no commitment to this release")
    return str(seq)


def _checked(options: argparse.Namespace) -> tuple[Checker, list[Record]]:
    """Return all records of a ledger or an exported log, after checking each."""
    checker = _checker(options)
    return checker, _records(options.file, checker)


def _checker(options: argparse.Namespace) -> Checker:
    return Checker(options.public_key or (), options.head)


def _records(file: str, checker: Checker) -> list[Record]:
    try:
        return list(kept_records(file, checker))
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None


def _action(
    name: str, purpose: str, run: Callable[[argparse.Namespace], int], own: tuple[Option, ...] = ()
) -> Command:
    does = f"{purpose[0].upper()}{purpose[1:]}."
    return Command(name, purpose, does, (*FILE, *own, *HEAD), run)


LEDGER = Command(
    "ledger",
    "make, show and check a privacy budget and its records",
    "Keep a privacy budget, and show what was released from it.",
    about="""\
A ledger is a file that holds a privacy budget for each scope (a data set, say) and a record of
every release. Its head, the hash of its last record, is what to publish: with it anybody can tell
later that no record was changed or removed.

exit codes: 0 done, 2 command line or input file, 3 the records do not check, or are signed and
verify was given no key, 5 the ledger cannot be used, 6 it is busy: try again
""",
    actions=(
        _action("create", "make a new ledger with one scope", _create, SCOPE + BUDGET),
        _action("add", "open another scope in a ledger", _add, SCOPE + BUDGET),
        _action(
            "reopen",
            "let a scope answer again that refusals have closed",
            _reopen,
            SCOPE + declare("--reason TEXT required  why; for the record"),
        ),
        _action("repair", "move what follows the last good line out of a damaged ledger", _repair),
        _action(
            "append",
            "make an older copy whole from the lines that its witness kept",
            _append,
            declare("LINES optional =-  a file; or input") + PUBLIC_KEYS,
        ),
        _action("show", "print where each scope stands, and every charge", _show, PUBLIC_KEYS),
        _action("export", "print all records, one line of JSON each", _export, PUBLIC_KEYS),
        _action(
            "verify",
            "check all records of a ledger or of an exported log",
            _verify,
            PUBLIC_KEYS + declare("--release JSON  a release with its receipt, to be found in it"),
        ),
        _action("report", "print a page of HTML for an auditor", _report, PUBLIC_KEYS),
    ),
)
