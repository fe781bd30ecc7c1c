"""`safeselect ledger`: make a ledger, show it, check it, and report it to an auditor."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import reduce
from operator import and_
from pathlib import Path
from typing import cast

from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import reading, say, write
from safeselect.cli._page import as_html, as_json, as_text
from safeselect.cli._place import name_of, place_of, read_key
from safeselect.cli._report import details, sections
from safeselect.errors import LedgerRolledBack, ParameterError
from safeselect.ledger import Budget, Checker, Ledger, Proposal, Record, Scope, log_lines
from safeselect.ledger.balance import check_price
from safeselect.ledger.record import BARE_HEAD
from safeselect.ledger.restoring import append, kept_records, repair
from safeselect.ledger.signing import Signer, approve
from safeselect.release.page import shown

_NEW_HEAD = "the new head is above"
FILE = declare("FILE  the ledger: a file, or a URL of PostgreSQL")
HEAD = declare("--head HEAD  a head of the ledger that was published earlier")
SCOPE = declare("--scope NAME required  name of the scope, such as a data set")
PUBLIC_KEYS = declare("""
--public-key HEX hex repeated  an Ed25519 key of a signed ledger; of several, all that it had
""")
SHOWN = PUBLIC_KEYS + declare("""
--html  print a page for an auditor, with details
| --json  print the same as JSON
""")
REASON = declare("--reason TEXT required  why; for the record")
LINES = declare("LINES optional =-  a file; or input")
BUDGET = declare("""
--unit UNIT required  the unit of privacy, such as person
--neighbours NAME required  add_remove, replace_one or your words: how data sets differ by a unit
--epsilon E  the most that all releases of the scope may cost
--delta D  with --epsilon: takes every release; with --rho
--own-delta D  the part of delta for the deltas that releases bring (default: a quarter of it)
--rho R  instead of --epsilon: a budget of zero-concentrated privacy
""")
CEILING = declare(
    "--ceiling N  the limit of later raises of epsilon or rho, by approvers; it is promised"
)
APPROVERS = declare("""
--approver HEX hex repeated  the public Ed25519 key of an approver of later scopes and limits
--approvals-needed N integer  number of approvers who must sign (default: all)
""")
WITHIN = declare("--within N integer =1000  approvals expire after so many more records")
LIMIT = declare("""
--limit {epsilon,delta,rho} required  what to raise
--to N required  the new value
""")
SIGNED = declare("""
PROPOSAL  a file with what propose printed
--key FILE required  the approver's Ed25519 key: a PEM file without a password
""")
APPROVED = declare("""
PROPOSAL  a file with what propose printed
APPROVALS several  files with what approve printed
""")
CHARGED = declare("""
ledger
--ledger FILE  a ledger made by safeselect ledger create; or a URL, as for safeselect ledger show
--scope NAME repeated  scope of the ledger to charge; several are charged together or not at all
--purpose TEXT  the reason, one line for the record (default: the command's name)
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
        raise ParameterError("use --ledger and --scope together; --purpose and --head require both")
    ledger = Ledger.open(place_of(options.ledger), head=options.head)
    purpose = f"safeselect {options.command}" if options.purpose is None else options.purpose
    found: list[Scope] = []
    for name in options.scope:
        budget = ledger.balance(name).budget
        kind = budget.neighbours if neighbours is None else neighbours
        found.append(ledger.scope(name, unit=budget.unit, neighbours=kind, purpose=purpose))
    return reduce(and_, found)


def _create(options: argparse.Namespace) -> int:
    people = {"approvers": options.approver or (), "approvals_needed": options.approvals_needed}
    ledger = Ledger.create(place_of(options.file), {options.scope: _budget(options)}, **people)
    return _done(ledger.head, f"made ledger {ledger.id}; its head is above")


def _budget(options: argparse.Namespace) -> Budget:
    number = "epsilon" if options.rho is None else "rho"
    ceiling = None if options.ceiling is None else {number: options.ceiling}
    return Budget(**given(options, BUDGET), ceiling=ceiling)


def opened(options: argparse.Namespace) -> Ledger:
    """Open the ledger that is named, with the head that is given."""
    return Ledger.open(place_of(options.file), head=options.head)


def _add(options: argparse.Namespace) -> int:
    ledger = opened(options)
    ledger.add_scope(options.scope, _budget(options))
    return _done(ledger.head, f"opened scope {shown(options.scope)}; {_NEW_HEAD}")


def _reopen(options: argparse.Namespace) -> int:
    ledger = opened(options)
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
    checker = append(place_of(options.file), rows, public_keys=keys, head=options.head)
    return _done(checker.head, f"the ledger has {checker.count} records; {_NEW_HEAD}")


def _propose(options: argparse.Namespace) -> int:
    """Print what approvers sign: of a limit, of a scope, or of more refusals."""
    propose = opened(options).propose.within(options.within)
    if hasattr(options, "limit"):
        raised = {"limit": options.limit, "to": options.to, "reason": options.reason}
        proposal = propose.limit(options.scope, **raised)
    elif hasattr(options, "unit"):
        proposal = propose.scope(options.scope, _budget(options))
    else:
        proposal = propose.reopening(options.scope, reason=options.reason)
    until = proposal.content["until"]
    return _done(proposal.text, f"each approver reads and approves this; it expires at {until}")


def _approve(options: argparse.Namespace) -> int:
    key, proposal = read_key(options.key, "approver"), _proposal(options)
    approval = json.dumps(approve(proposal, cast("Signer", key)))
    return _done(approval, f"approved: {shown(proposal.text)}")


def _enact(options: argparse.Namespace) -> int:
    signed, ledger = [], opened(options)
    for file in options.approvals:
        with reading(file):
            signed.append(json.loads(Path(file).read_bytes()))
    ledger.enact(_proposal(options), signed)
    return _done(ledger.head, f"done, approved by {len(signed)}; {_NEW_HEAD}")


def _proposal(options: argparse.Namespace) -> Proposal:
    with reading(options.proposal):
        return Proposal(Path(options.proposal).read_text("ascii").strip())


def _done(head: str, said: str) -> int:
    write(f"{head}\n")
    say(said)
    return 0


def _show(options: argparse.Namespace) -> int:
    checker, records = checked(options)
    name = name_of(place_of(options.file))
    page = [*sections(name, checker, records)]
    if options.html or options.json:
        page += details(records)
        write(as_json(page) if options.json else as_html(f"Privacy ledger {name}", page))
    else:
        write(as_text(page))
    return _all_fine(checker)


def _export(options: argparse.Namespace) -> int:
    checker, records = checked(options)
    write("".join(log_lines(records)))
    say(f"head {checker.head}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    checker, records = checked(options)
    for record in records:
        check_price(record.content, record.budgets)
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


def checked(options: argparse.Namespace) -> tuple[Checker, list[Record]]:
    """Return all records of a ledger or an exported log, after checking each.

    All are here, so a head is found by its hash alone.
    """
    bare = BARE_HEAD.fullmatch(options.head or "")
    checker = Checker(options.public_key or (), None if bare else options.head)
    with reading(options.file):
        records = list(kept_records(place_of(options.file), checker))
    if bare and options.head not in {record.hash for record in records}:
        raise LedgerRolledBack("no record matches the published head: the end was cut or rewritten")
    return checker, records


def _action(
    name: str,
    purpose: str,
    run: Callable[[argparse.Namespace], int],
    own: tuple[Option, ...] = (),
    example: str = "",
) -> Command:
    proposed = "propose " if run is _propose else ""
    about = f"For example: safeselect ledger {proposed}{name} budget.db{example}\n"
    return Command(name, purpose, (*FILE, *own, *HEAD), run, about)


OPENED = SCOPE + BUDGET + CEILING
_OPENED = " --scope trips --unit rider --neighbours add_remove --epsilon 4"
_REASON = " --scope trips --reason 'the second year'"
_APPROVE = """\
For example: safeselect ledger approve proposal.json --key approver.pem > approval.json
"""
LEDGER = Command(
    "ledger",
    "create, show and check a privacy budget and its records",
    about="""\
A ledger holds a privacy budget for each scope (a data set, say) and a record of every release. Its
head is what to publish: with it anybody can tell later that no record was changed or removed.

A ledger in PostgreSQL is written postgresql://USER@HOST/DB?schema=NAME, without a password, which
goes into PGPASSWORD or ~/.pgpass.
""",
    actions=(
        _action("create", "make a new ledger with one scope", _create, OPENED + APPROVERS, _OPENED),
        _action("add", "open another scope in a ledger", _add, OPENED, _OPENED),
        _action(
            "reopen",
            "let a scope answer again that refusals have closed",
            _reopen,
            SCOPE + REASON,
            _REASON,
        ),
        _action("repair", "move what follows the last good line out of a damaged ledger", _repair),
        _action(
            "append",
            "make an older copy whole from the lines that its witness kept",
            _append,
            LINES + PUBLIC_KEYS,
            " witness.jsonl",
        ),
        Command(
            "propose",
            "print a change for approvers to sign; nothing is written",
            actions=(
                _action("scope", "another scope", _propose, OPENED + WITHIN, _OPENED),
                _action(
                    "limit",
                    "a greater budget",
                    _propose,
                    SCOPE + LIMIT + REASON + WITHIN,
                    f"{_REASON} --limit epsilon --to 6",
                ),
                _action("reopening", "more refusals", _propose, SCOPE + REASON + WITHIN, _REASON),
            ),
        ),
        Command("approve", "sign a proposal with an approver's key", SIGNED, _approve, _APPROVE),
        _action(
            "enact",
            "write a change that enough approvers signed",
            _enact,
            APPROVED,
            " proposal.json approval.json",
        ),
        _action("show", "print where each scope stands, and every charge", _show, SHOWN),
        _action("export", "print all records, one line of JSON each", _export, PUBLIC_KEYS),
        _action("verify", "check all records of a ledger or of a log", _verify, PUBLIC_KEYS),
    ),
)
