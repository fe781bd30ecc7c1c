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
from safeselect.cli._escape import shown
from safeselect.cli._releases import Release, raised, releases, replaced_keys
from safeselect.cli._report import report
from safeselect.errors import InputError, LedgerDamaged, ParameterError, SafeSelectWarning
from safeselect.ledger import (
    Budget,
    Checker,
    HmacSigner,
    Ledger,
    Record,
    Scope,
    Verifier,
    append,
    kept_records,
    log_lines,
    repair,
)
from safeselect.ledger.record import commitment
from safeselect.ledger.signing import Ed25519Verifier, is_key

_NEW_HEAD = "the new head is above"


def run_ledger(options: argparse.Namespace) -> tuple[int, str, str]:
    """Run a command; return its exit code, and the texts for standard output and error."""
    commands: dict[str, Callable[[argparse.Namespace], tuple[int, str, str]]] = {
        "create": _create,
        "add": _add,
        "reopen": _reopen,
        "repair": _repair,
        "append": _append,
        "show": _show,
        "export": _export,
        "verify": _verify,
        "report": _report,
    }
    return commands[options.action](options)


def open_scope(options: argparse.Namespace, *, neighbours: str | None = None) -> Scope | None:
    """Return the scopes that `--ledger` and `--scope` name, together; None without them.

    Args:
        neighbours: the neighbours of the command's release, if fixed; otherwise the scope's.
    """
    if options.ledger is None or options.scope is None:
        others = options.purpose, options.key_file, options.head
        if (options.ledger, options.scope, *others) != (None,) * 5:
            raise ParameterError(
                "--ledger and --scope go together; --purpose, --head and --key-file go with them"
            )
        return None
    ledger = _opened_ledger(options.ledger, options)
    purpose = f"safeselect {options.command}" if options.purpose is None else options.purpose
    found: list[Scope] = []
    for name in options.scope:
        budget = ledger.balance(name).budget
        kind = budget.neighbours if neighbours is None else neighbours
        found.append(ledger.scope(name, unit=budget.unit, neighbours=kind, purpose=purpose))
    return reduce(and_, found)


def _opened_ledger(file: str, options: argparse.Namespace) -> Ledger:
    """Open the ledger, with its key if there is one."""
    signer = None
    if options.key_file is not None:
        signer = HmacSigner(_read(options.key_file), key_id=_signed_by(file)["key_id"])
    return Ledger.open(file, signer=signer, head=options.head)


def _create(options: argparse.Namespace) -> tuple[int, str, str]:
    signer = None
    if options.key_file is not None:
        signer = HmacSigner(_read(options.key_file), key_id=options.key_id or "key")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SafeSelectWarning)
        ledger = Ledger.create(options.file, {options.scope: _budget(options)}, signer=signer)
    lines = [*(str(each.message) for each in said), f"made ledger {ledger.id}; its head is above"]
    return 0, f"{ledger.head}\n", "\n".join(lines)


def _add(options: argparse.Namespace) -> tuple[int, str, str]:
    ledger = _opened_ledger(options.file, options)
    ledger.add_scope(options.scope, _budget(options))
    return 0, f"{ledger.head}\n", f"opened scope {shown(options.scope)}; {_NEW_HEAD}"


def _reopen(options: argparse.Namespace) -> tuple[int, str, str]:
    ledger = _opened_ledger(options.file, options)
    ledger.reopen(options.scope, reason=options.reason)
    return 0, f"{ledger.head}\n", f"scope {shown(options.scope)} answers again; {_NEW_HEAD}"


def _append(options: argparse.Namespace) -> tuple[int, str, str]:
    lines = sys.stdin.buffer.read() if options.lines == "-" else _read(options.lines)
    rows = lines.splitlines(keepends=True)
    verifier, accepted = _verifier(options), _accepted(options)
    checker = append(options.file, rows, verifier=verifier, head=options.head, accepted=accepted)
    return 0, f"{checker.head}\n", f"the ledger has {checker.count} records; {_NEW_HEAD}"


def _repair(options: argparse.Namespace) -> tuple[int, str, str]:
    signer = None
    if options.key_file is not None:
        signer = HmacSigner(_read(options.key_file), key_id=_signed_by(options.file)["key_id"])
    kept = repair(options.file, signer=signer, head=options.head)
    ledger = Ledger.open(options.file, signer=signer)
    said = (
        f"what followed the last good line is in {shown(str(kept))}, and what it charged counts no "
        f"more: charge that anew; {_NEW_HEAD}"
    )
    return 0, f"{ledger.head}\n", said


def _budget(options: argparse.Namespace) -> Budget:
    return Budget(
        options.unit,
        options.neighbours,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        order=options.order,
    )


def _show(options: argparse.Namespace) -> tuple[int, str, str]:
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
        lines += [_line(name, each) for each in releases(records) if name in each.scopes]
        lines += [
            shown(f"  {content['seq']} {content['utc']} {said}")
            for content, said in raised(name, records)
        ]
    if checker.approvers is not None:
        people = f"{checker.approvers.needed} of {len(checker.approvers.keys)}"
        lines.append(f"{people} approvers sign every new scope and raised limit")
    lines += [
        shown(f"{content['seq']} {content['utc']} {said}")
        for content, said in replaced_keys(records)
    ]
    lines.append(f"head {checker.head}")
    return 0, "".join(f"{line}\n" for line in lines), _all_fine(checker)


def _line(scope: str, release: Release) -> str:
    content, amounts = release.content, release.amounts(scope, "charge")
    price = ", ".join(f"{name} {rounded_text(value)}" for name, value in amounts.items())
    return shown(
        f"  {content['seq']} {content['utc']} {content['mechanism']} {price}: {release.outcome}; "
        f"{content['purpose']}{'; guarantee asserted' if release.is_asserted else ''}"
    )


def _export(options: argparse.Namespace) -> tuple[int, str, str]:
    checker, records = _checked(options)
    return 0, "".join(log_lines(records)), f"head {checker.head}"


def _verify(options: argparse.Namespace) -> tuple[int, str, str]:
    checker, records = _checked(options)
    lines = [f"head {checker.head}"]
    if options.release is not None:
        lines.append(f"record {_committed(options.release, checker, records)} holds this release")
    # Of a signed ledger one expects more than that its records follow from each other.
    code = 3 if checker.signer and checker.verifier is None else 0
    return code, "".join(f"{line}\n" for line in lines), _all_fine(checker, head=options.head)


def _all_fine(checker: Checker, head: str | None = None) -> str:
    parts = [f"all {checker.count} records follow from each other"]
    if checker.signer and checker.verifier:
        parts.append("signatures checked")
    elif checker.signer:
        parts.append("signatures not checked: give --key-file or --public-key")
    if checker.unfinished:
        parts.append(
            f"{checker.unfinished} bytes after them are not a whole record and do not count"
        )
    if head is None:
        parts.append("without --head nobody can tell whether the end was cut off")
    return "; ".join(parts)


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


def _report(options: argparse.Namespace) -> tuple[int, str, str]:
    checker, records = _checked(options)
    name, made = Path(options.file).name, records[0].content["utc"]
    return 0, report(name, made, checker, records), _all_fine(checker)


def _checked(options: argparse.Namespace) -> tuple[Checker, list[Record]]:
    """Return all records of a ledger or an exported log, after checking each."""
    checker = Checker(_verifier(options), options.head, _accepted(options))
    return checker, _records(options.file, checker)


def _records(file: str, checker: Checker) -> list[Record]:
    try:
        return list(kept_records(file, checker))
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None


def _verifier(options: argparse.Namespace) -> Verifier | None:
    """Return the key of `--key-file` or `--public-key`, with the name in the first record."""
    if options.key_file is not None and options.public_key is not None:
        raise ParameterError("give --key-file or --public-key, not both")
    if options.key_file is not None:
        return HmacSigner(_read(options.key_file), key_id=_signed_by(options.file)["key_id"])
    if options.public_key is not None:
        signer = _signed_by(options.file, "ed25519", "--public-key")
        keys = [Ed25519Verifier(key, key_id=signer["key_id"]) for key in options.public_key]
        first = [key for key in keys if is_key(key, signer)]
        return (first or keys)[0]
    return None


def _accepted(options: argparse.Namespace) -> frozenset[str]:
    """Return the keys of `--public-key` if there are several: no other one may have signed."""
    keys = options.public_key or []
    return frozenset(key.hex() for key in keys) if len(keys) > 1 else frozenset()


def _signed_by(
    file: str, algorithm: str = "hmac-sha256", option: str = "--key-file"
) -> dict[str, str]:
    """Return the first record's statement about the key."""
    checker = Checker()
    try:
        next(kept_records(file, checker), None)
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None
    if checker.signer.get("algorithm") != algorithm:
        raise InputError(f"the ledger is not signed with a key that {option} could hold")
    return checker.signer


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None
