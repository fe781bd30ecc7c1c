"""`safeselect ledger`: make a ledger, show it, check it, and report it to an auditor."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import cast

from safeselect.cli._options import Command, Option, declare, given
from safeselect.cli._output import read_text, reading, say, write
from safeselect.cli._page import as_html, as_json, as_text
from safeselect.cli._place import name_of, place_of, read_key
from safeselect.cli._report import SCHEMA, details, entry, sections
from safeselect.errors import LedgerRolledBack, ParameterError
from safeselect.ledger import Budget, Checker, Ledger, Proposal, Record, Scope, log_lines
from safeselect.ledger.balance import check_prices
from safeselect.ledger.record import BARE_HEAD
from safeselect.ledger.restoring import append, kept_records, repair
from safeselect.ledger.signing import Signer, approve
from safeselect.release.page import shown

_NEW_HEAD = "the new head is on standard output"
FILE = declare("FILE  ledger: a file or a PostgreSQL URL")
HEAD = declare("--head HEAD  published head (POSITION:HASH) that the ledger must still contain")
SCOPE = declare("--scope NAME required  scope (what one budget covers), such as a data set")
PUBLIC_KEYS = declare("""
--public-key HEX hex repeated  public Ed25519 key of a signed ledger; one is enough, but if you
    repeat the option, pass every key that the ledger has had
""")
SHOWN = PUBLIC_KEYS + declare("""
--html  print a detailed HTML page for an auditor
| --json  print the information from the HTML page in JSON format
""")
REASON = declare("--reason TEXT required  reason for the change, stated in the record")
LINES = declare("LINES optional =-  file with the lines to add, or - for standard input (default)")
BUDGET = declare("""
--unit UNIT required  unit of privacy (what is protected), such as person
--neighbours NAME required  definition of neighbours: add_remove, replace_one or your own words
--epsilon E  limit on the epsilon of all releases in the scope together
--delta D  limit on the delta of all releases in the scope together (default: 0)
--own-delta D  part of delta reserved for releases with a delta of their own, such as those of
    safeselect keys (default: a quarter; with --rho, all)
--rho R  limit on the rho (zero-concentrated differential privacy, zCDP) instead of the epsilon
""")
CEILING = declare("--ceiling N  largest epsilon or rho to which approvers may raise the limit")
APPROVERS = declare("""
--approver HEX hex repeated  public Ed25519 key of an approver; repeat the option for each approver
--approvals-needed N integer  number of approvers who must sign a change (default: all)
""")
WITHIN = declare("--within N integer =1000  new records until the proposal expires (default: 1000)")
LIMIT = declare("""
--limit {epsilon,delta,rho} required  limit to raise
--to N required  new value of the limit, at most its ceiling
""")
SIGNED = declare("""
PROPOSAL  file with the output of safeselect ledger propose
--key FILE required  approver's private Ed25519 key, in a PEM file without a password
""")
APPROVED = SIGNED[:1] + declare(
    "APPROVALS several  files with the output of safeselect ledger approve"
)
CHARGED = declare("""
ledger
--ledger FILE  ledger to charge: a file or a PostgreSQL URL (see safeselect ledger --help)
--scope NAME repeated  scope to charge, such as a data set; if repeated, all or none are charged
--purpose TEXT  purpose of the release, stated in the record (default: the name of the command)
--head HEAD  published head (POSITION:HASH) that the ledger must still contain
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
    return _done(ledger.head, f"created ledger {ledger.id}; its head is on standard output")


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
    return _done(ledger.head, f"reopened scope {shown(options.scope)}; {_NEW_HEAD}")


def _repair(options: argparse.Namespace) -> int:
    kept = repair(options.file, head=options.head)
    said = f"moved the invalid line and everything after it to {shown(kept)}; make any charges in "
    return _done(Ledger.open(options.file).head, f"{said}that file again; {_NEW_HEAD}")


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
    said = f"approvers must read and sign the proposal; it expires after record {until}"
    return _done(proposal.text, said)


def _approve(options: argparse.Namespace) -> int:
    key, proposal = read_key(options.key, "approver"), Proposal(read_text(options.proposal).strip())
    approval = json.dumps(approve(proposal, cast("Signer", key)))
    return _done(approval, f"approved: {shown(proposal.text)}")


def _enact(options: argparse.Namespace) -> int:
    signed, ledger = [], opened(options)
    for file in options.approvals:
        with reading(file):
            signed.append(json.loads(read_text(file)))
    ledger.enact(Proposal(read_text(options.proposal).strip()), signed)
    return _done(ledger.head, f"made the change; approvals: {len(signed)}; {_NEW_HEAD}")


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
    return _all_fine(checker, head=options.head)


def _export(options: argparse.Namespace) -> int:
    checker, records = checked(options)
    write("".join(log_lines(records)))
    say(f"head {checker.head}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    checker, records = checked(options)
    check_prices((each.content, each.budgets) for each in records)
    write(f"head {checker.head}\n")
    _all_fine(checker, head=options.head)
    # Of a signed ledger one expects more than that its records follow from each other.
    return 3 if checker.signer and not checker.public_keys else 0


def _registry(options: argparse.Namespace) -> int:
    made = entry(options.scope, *checked(options))
    written = json.dumps(made, indent=2, ensure_ascii=False)
    write(f"{written}\n")
    say(f"{written.lower().count('missing')} fields must be filled in; YAML schema: {SCHEMA}")
    return 0


def _all_fine(checker: Checker, head: str | None = None) -> int:
    parts = [f"all {checker.count} records are consistent"]
    if checker.signer and checker.public_keys:
        parts.append(f"signatures checked (wrong but set aside: {len(checker.aside)})")
    elif checker.signer:
        parts.append("signatures not checked: pass --public-key")
    if checker.unfinished:
        parts.append(f"the last {checker.unfinished} bytes are not a complete record")
    if head is None:
        parts.append("without --head, the removal of the last records cannot be detected")
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
        why = "either records were lost or changed, or this is not a head of this ledger"
        raise LedgerRolledBack(f"no record matches the published head; {why}")
    return checker, records


def _action(
    name: str,
    purpose: str,
    run: Callable[[argparse.Namespace], int],
    own: tuple[Option, ...] = (),
    example: str = "",
) -> Command:
    proposed = "propose " if run is _propose else ""
    about = f"For example: safeselect ledger {proposed}{name} budget.ledger{example}\n"
    head = () if run is _create else HEAD  # a new ledger has none yet
    file = declare("FILE  ledger file") if run is _repair else FILE
    return Command(name, purpose, (*file, *own, *head), run, about)


OPENED = SCOPE + BUDGET + CEILING
_OPENED = " --scope trips --unit rider --neighbours add_remove --epsilon 4"
_REASON = " --scope trips --reason 'input file corrected'"
_APPROVE = "For example: safeselect ledger approve proposal.json --key approver.pem > approval.json"
LEDGER = Command(
    "ledger",
    "create, show and check a privacy budget and its records",
    about="""\
A ledger holds a privacy budget for each scope (for example, a data set) and a record of every
release. Publish its head, which identifies the last record. Anyone who has the head can check later
that neither this record nor an earlier one was changed or removed.

The URL of a ledger in PostgreSQL has the form postgresql://USER@HOST/DATABASE?schema=NAME, without
a password. Put the password in PGPASSWORD or ~/.pgpass.
""",
    actions=(
        _action("create", "create a ledger with one scope", _create, OPENED + APPROVERS, _OPENED),
        _action("add", "add a scope to a ledger", _add, OPENED, _OPENED),
        _action(
            "reopen", "reopen a scope closed by refused calls", _reopen, SCOPE + REASON, _REASON
        ),
        _action(
            "repair", "move the first invalid line and all later lines out of a ledger", _repair
        ),
        _action(
            "append",
            "bring an older copy of a ledger up to date with lines that were stored elsewhere",
            _append,
            LINES + PUBLIC_KEYS,
            " log.jsonl",
        ),
        Command(
            "propose",
            "print a proposed change for approvers to sign, without changing the ledger",
            actions=(
                _action("scope", "propose a new scope", _propose, OPENED + WITHIN, _OPENED),
                _action(
                    "limit",
                    "propose to raise one limit of a budget",
                    _propose,
                    SCOPE + LIMIT + REASON + WITHIN,
                    " --scope trips --limit epsilon --to 6 --reason 'a second year'",
                ),
                _action(
                    "reopening",
                    "propose to reopen a scope",
                    _propose,
                    SCOPE + REASON + WITHIN,
                    _REASON,
                ),
            ),
        ),
        Command("approve", "sign a proposal with an approver's key", SIGNED, _approve, _APPROVE),
        _action(
            "enact",
            "make a change that enough approvers have signed",
            _enact,
            APPROVED,
            " proposal.json approval.json",
        ),
        _action("show", "print all charges and the state of each scope", _show, SHOWN),
        _action("export", "print all records, one JSON object per line", _export, PUBLIC_KEYS),
        _action("verify", "check all records of a ledger or an exported log", _verify, PUBLIC_KEYS),
        _action(
            "registry",
            "print a draft entry for the public registry of differential privacy deployments",
            _registry,
            SCOPE + PUBLIC_KEYS,
            " --scope trips > entry.json",
        ),
    ),
)
