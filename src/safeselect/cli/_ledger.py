"""`safeselect ledger`: make a ledger, look at it, check it, hand it to an auditor."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from safeselect.accounting import (
    Budget,
    Checker,
    HmacSigner,
    Ledger,
    Record,
    Scope,
    check_log,
    log_lines,
)
from safeselect.accounting.record import brief, commitment
from safeselect.cli._report import Release, releases, report
from safeselect.errors import InputError, LedgerError, ParameterError

__all__ = ["open_scope", "run_ledger"]

_SQLITE = b"SQLite format 3\x00"


def run_ledger(options: argparse.Namespace) -> tuple[str, str]:
    """Run one of the commands; returns what goes to standard output and to standard error."""
    commands: dict[str, Callable[[argparse.Namespace], tuple[str, str]]] = {
        "create": _create,
        "add": _add,
        "show": _show,
        "export": _export,
        "verify": _verify,
        "report": _report,
    }
    return commands[options.action](options)


def open_scope(options: argparse.Namespace, *, neighbours: str | None = None) -> Scope | None:
    """The scope that `--ledger` and `--scope` name; None without them.

    Args:
        neighbours: what the command releases for, where it knows; otherwise as the scope says.
    """
    if options.ledger is None or options.scope is None:
        if (options.ledger, options.scope, options.purpose, options.key_file) != (None,) * 4:
            raise ParameterError("--ledger and --scope go together, and --purpose with them")
        return None
    ledger = _opened_ledger(options.ledger, options)
    budget = ledger.standing(options.scope).budget
    return ledger.scope(
        options.scope,
        unit=budget.unit,
        neighbours=budget.neighbours if neighbours is None else neighbours,
        purpose=options.purpose or f"safeselect {options.command}",
    )


def _opened_ledger(file: str, options: argparse.Namespace) -> Ledger:
    """The ledger, opened with its key if there is one."""
    ledger = Ledger.open(file)
    if options.key_file is None:
        return ledger
    return Ledger.open(file, signer=_key(options, ledger.records()))


def _create(options: argparse.Namespace) -> tuple[str, str]:
    signer = None
    if options.key_file is not None:
        signer = HmacSigner(_read(options.key_file), key_id=options.key_id or "key")
    ledger = Ledger.create(options.file, {options.scope: _budget(options)}, signer=signer)
    return f"{ledger.head}\n", f"made ledger {ledger.id}; its head is above"


def _add(options: argparse.Namespace) -> tuple[str, str]:
    ledger = _opened_ledger(options.file, options)
    ledger.add_scope(options.scope, _budget(options))
    return f"{ledger.head}\n", f"opened scope {options.scope}; the new head is above"


def _budget(options: argparse.Namespace) -> Budget:
    return Budget(
        options.unit,
        options.neighbours,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        order=options.order,
    )


def _show(options: argparse.Namespace) -> tuple[str, str]:
    checker, records = _checked(options)
    lines = []
    for name, standing in checker.scopes.items():
        budget = standing.budget
        lines.append(f"scope {name}: unit {budget.unit}, neighbours {budget.neighbours}")
        lines += [
            f"  {amount}: {brief(standing.spent[amount])} of {brief(cap)} spent, "
            f"{brief(standing.left[amount])} left"
            for amount, cap in budget.caps.items()
        ]
        lines += [_line(each) for each in releases(records) if each.content["scope"] == name]
    lines.append(f"head {checker.head}")
    return "".join(f"{line}\n" for line in lines), _all_fine(checker)


def _line(release: Release) -> str:
    content = release.content
    price = ", ".join(f"{name} {brief(value)}" for name, value in release.amounts("charge").items())
    return (
        f"  {content['seq']} {content['utc']} {content['mechanism']} {price}: {release.outcome}; "
        f"{content['purpose']}"
    )


def _export(options: argparse.Namespace) -> tuple[str, str]:
    checker, records = _checked(options)
    return "".join(log_lines(records)), f"head {checker.head}"


def _verify(options: argparse.Namespace) -> tuple[str, str]:
    checker, records = _checked(options)
    lines = [f"head {checker.head}"]
    if options.release is not None:
        lines.append(f"record {_committed(options.release, checker, records)} holds this release")
    return "".join(f"{line}\n" for line in lines), _all_fine(checker, head=options.head)


def _all_fine(checker: Checker, head: str | None = None) -> str:
    parts = [f"all {checker.count} records follow from each other"]
    if checker.signer:
        parts.append("signatures checked" if checker.verifier else "signatures not checked")
    if head is None:
        parts.append("without --head nobody can tell whether the end was cut off")
    return "; ".join(parts)


def _committed(file: str, checker: Checker, records: list[Record]) -> str:
    """The record whose commitment this release in JSON opens."""
    try:
        release = json.loads(_read(file))
        receipt = release.pop("receipt")
        ledger, seq, salt = receipt["ledger"], receipt["record"], bytes.fromhex(receipt["salt"])
        place = int(seq)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise InputError(f"{file!r} is no release in JSON with a receipt") from None
    output = json.dumps(release, sort_keys=True, ensure_ascii=True)
    found = records[place].content if 0 <= place < len(records) else {}
    if ledger != checker.ledger or found.get("commitment") != commitment(salt, output):
        raise LedgerError("the ledger holds no commitment to this release")
    return str(seq)


def _report(options: argparse.Namespace) -> tuple[str, str]:
    checker, records = _checked(options)
    name, made = Path(options.file).name, records[0].content["utc"]
    return report(name, made, checker, releases(records)), _all_fine(checker)


def _checked(options: argparse.Namespace) -> tuple[Checker, list[Record]]:
    """All records of a ledger or of an exported log, every one checked."""
    key = None if options.key_file is None else _key(options, _records(options.file, Checker()))
    checker = Checker(key, getattr(options, "head", None))
    records = list(_records(options.file, checker))
    checker.finish()
    return checker, records


def _records(file: str, checker: Checker) -> Iterator[Record]:
    try:
        # Closed again before SQLite opens the file: closing it later would drop SQLite's locks.
        with open(file, "rb") as opened:
            is_log = opened.read(len(_SQLITE)) not in (_SQLITE, b"")
        if is_log:
            with open(file, "rb") as log:
                yield from check_log(log, checker)
            return
    except OSError:
        raise InputError(f"the file {file!r} cannot be read") from None
    yield from Ledger.open(file).records(checker)


def _key(options: argparse.Namespace, records: Iterator[Record]) -> HmacSigner:
    """The key of `--key-file`, under the name that the first record gives it."""
    first = next(records, None)
    signer = {} if first is None else first.content["signer"]
    if signer.get("algorithm") != "hmac-sha256":
        raise InputError("the ledger is not signed with a key that --key-file could hold")
    return HmacSigner(_read(options.key_file), key_id=signer["key_id"])


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None
