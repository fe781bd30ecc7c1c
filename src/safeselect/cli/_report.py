"""What a ledger holds, for a terminal or an auditor's page: scopes, charges, changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.audit.page import CANNOT_SHOW, standing
from safeselect.audit.recall import named, read_guarantee
from safeselect.audit.theorems import theorem
from safeselect.ledger import EXTERNAL, Balance, Checker, Record
from safeselect.ledger.record import read_numbers
from safeselect.release.page import Section


def sections(name: str, checker: Checker, records: Sequence[Record]) -> Iterator[Section]:
    """Return what the ledger is, and where each scope stands.

    Args:
        name: the ledger's name, such as the name of its file.
        checker: a checker that has read all records.
        records: all records.
    """
    outcomes = _outcomes(records)
    yield _summary(name, checker, records, outcomes.values())
    for scope, balance in checker.scopes.items():
        yield _scope(scope, balance, records, outcomes)


def details(records: Sequence[Record]) -> Iterator[Section]:
    """Return what else an auditor asks about each charge, and what no record says."""
    names = "Record", "Theorem", "Parameters", "Draws", "Source", "Library", "Record hash"
    charges = [_detail(record) for record in records if record.content["kind"] == "charged"]
    yield Section("Details", {}, {"Every charge": [names, *charges]} if charges else {})
    unsaid = {str(place): line for place, line in enumerate(CANNOT_SHOW.splitlines(), 1)}
    yield Section("What this page does not say", unsaid)


def _outcomes(records: Sequence[Record]) -> dict[str, str]:
    """Return how each charge ended, by its place."""
    found: dict[str, str] = {}
    for content in (record.content for record in records):
        if content["kind"] == "charged":
            found[content["seq"]] = "no outcome"
        elif "charge" in content:
            used = (f"{name} {number}" for name, number in content.get("spent", {}).items())
            more = content.get("reason") or ", ".join(used)
            found[content["charge"]] = f"{content['kind']} ({more})" if more else content["kind"]
    return found


def _summary(
    name: str, checker: Checker, records: Sequence[Record], outcomes: Collection[str]
) -> Section:
    ended = Counter(outcome.partition(" (")[0] for outcome in outcomes)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in ended.items())
    signed = "none: the chain shows changes only to a reader who knows a later head"
    if checker.signer:
        checked = "checked" if checker.public_keys else "not checked here"
        signed = f"{checker.signer['algorithm']}, {', '.join(checker.keys.used)}: {checked}"
    approved = "none: who may write opens scopes and reopens them"
    if checker.approvers is not None:
        people = f"{checker.approvers.needed} of {len(checker.approvers.keys)} keys"
        approved = f"{people} sign every new scope and every raised limit: checked"
    facts = {
        "head": checker.head,
        "ledger": checker.ledger,
        "made": records[0].content["utc"],
        "records": f"{checker.count}, each checked: hash, order, running totals, caps and nonce",
        "charges": f"{len(outcomes)}: {counts}" if counts else "0",
        "unfinished writes cut off": checker.torn,
        "signatures": signed,
        "approvals": approved,
    }
    return Section(
        f"Privacy ledger {name}", facts, _table("Keys and corrections", _CHANGED, _changes(records))
    )


def _scope(
    name: str, balance: Balance, records: Sequence[Record], outcomes: Mapping[str, str]
) -> Section:
    facts = {"promise": balance.budget.statement()} | standing(balance) | _sums(balance)
    charges = [row for each in records for row in _charge(name, each, outcomes)]
    tables = _table("Charges", _CHARGED, charges)
    return Section(
        f"Scope {name}", facts, tables | _table("Raised limits", _CHANGED, _changes(records, name))
    )


def _sums(balance: Balance) -> dict[str, str]:
    """Return how much of each amount is used; of the pair of epsilon one line."""
    found = {}
    for name, cap in balance.budget.caps.items():
        said = f"{rounded_text(balance.spent[name])} of {rounded_text(cap, ROUND_FLOOR)}"
        if name == "epsilon" and balance.spent.get("not_pure"):
            said = "no longer: a release has no epsilon of its own"
        if name != "not_pure":
            found[name.replace("_", " ")] = said
    return found


_CHANGED = "Record", "Time (UTC)", "Change"
_CHARGED = (
    *("Record", "Time (UTC)", "Purpose", "Mechanism"),
    *("Guarantee", "Charged", "Total after", "Outcome"),
)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {title: [names, *rows]} if rows else {}


def _charge(scope: str, record: Record, outcomes: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the row of a charge to this scope, if it is one."""
    content = record.content
    if content["kind"] != "charged":
        return
    for charge in content["charges"]:
        if charge["scope"] == scope:
            yield (
                *(content[each] for each in ("seq", "utc", "purpose", "mechanism")),
                named(read_guarantee(content["guarantee"])),
                *(_numbers(read_numbers(charge[each], "a charge")) for each in ("charge", "after")),
                outcomes[content["seq"]],
            )


def _changes(records: Sequence[Record], scope: str | None = None) -> list[tuple[str, str, str]]:
    """Return place, time and words of each raised limit of a scope, or of each new key."""
    found = []
    for record in records:
        content = record.content
        by = f"approved by {len(content['approvals'])}" if content.get("approvals") else ""
        if scope is None and content["kind"] == "key":
            key = content["signer"]["public_key"]
            said = f"key {key} signs, {by or 'handed over by the key before it'}"
        elif scope is None and content["kind"] == "corrected":
            said = f"{content['advisory']} restates {len(content['charges'])} charges: "
            said += content["reason"]
        elif content["kind"] == "raised" and content["scope"] == scope:
            raised = f"raised {content['limit']} from {content['before']} to {content['after']}"
            said = f"{raised}{by and ', '}{by}: {content['reason']}"
        else:
            continue
        found.append((content["seq"], content["utc"], said))
    return found


def _detail(record: Record) -> tuple[str, ...]:
    content, library = record.content, record.library
    by = theorem(content["mechanism"])
    if content["source"].get("name") == EXTERNAL:
        by = "asserted by the caller; another library made the release"
    parts = ((each["count"], named(read_guarantee(each["each"]))) for each in content["parts"])
    return (
        content["seq"],
        by,
        _texts(content["parameters"]),
        "; ".join(f"{count} x {said}" for count, said in parts),
        _texts(content["source"]),
        _texts(library),
        record.hash,
    )


def _texts(content: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {each}" for name, each in content.items() if isinstance(each, str))


def _numbers(amounts: Mapping[str, Fraction]) -> str:
    said = (f"{name} {rounded_text(value)}" for name, value in amounts.items() if value)
    return ", ".join(said).replace("_", " ")
