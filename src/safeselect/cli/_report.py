"""What a ledger holds, for a terminal or an auditor's page, and for a public registry.

The schema of an entry is that of `opendp/deployments-registry-data`, file
`schemas/deployments-schema.yaml`, at the commit that `SCHEMA` names.  What a ledger knows is
filled; the rest says that it is missing.
"""

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
from safeselect.errors import InputError
from safeselect.ledger import EXTERNAL, Balance, Checker, Record
from safeselect.ledger.record import Fields, read_numbers
from safeselect.release.display import with_places
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
    yield Section("Not on this page", unsaid)


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
    signed = "none. To detect a changed record, use a head that was saved after the record."
    if checker.signer:
        checked = "checked" if checker.public_keys else "not checked here"
        signed = f"{checker.signer['algorithm']}, {', '.join(checker.keys.used)}: {checked}"
    approved = "none. Anyone with write access can open and reopen scopes."
    if checker.approvers is not None:
        people = f"{checker.approvers.needed} of {len(checker.approvers.keys)} approvers"
        approved = f"at least {people} must sign every new scope, raised limit and reopening; "
        approved += "the signatures in the records were checked"
    facts = {
        "head": checker.head,
        "ledger": checker.ledger,
        "created": records[0].content["utc"],
        "records": f"{checker.count}; hashes, order, totals, caps and nonces were checked",
        "charges": f"{len(outcomes)}: {counts}" if counts else "0",
        "unfinished writes that were removed": checker.torn,
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
    made = (each.content for each in records if each.content["kind"] == "charged")
    charges = [row for content in made for row in _charge(name, content, outcomes)]
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
            said = "no longer applies, because a release has a guarantee without an epsilon"
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


def _charge(scope: str, content: Fields, outcomes: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the row of a charge, if it is to this scope."""
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
            said = f"new signing key {key}, {by or 'handed over by the previous key'}"
        elif scope is None and content["kind"] == "corrected":
            said = f"{content['advisory']} affects charges ({len(content['charges'])} in all): "
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
    parts = [f"{x['count']} x {named(read_guarantee(x['each']))}" for x in content["parts"]]
    return (
        content["seq"],
        _law(content),
        _texts(content["parameters"]),
        "; ".join(parts),
        _texts(content["source"]),
        _texts(library),
        record.hash,
    )


def _law(content: Mapping[str, Any]) -> str:
    """Return why a charged release keeps its guarantee."""
    external = "asserted by the caller; another library made the release"
    return external if content["source"].get("name") == EXTERNAL else theorem(content["mechanism"])


def _texts(content: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {each}" for name, each in content.items())


def _numbers(amounts: Mapping[str, Fraction]) -> str:
    said = (f"{name} {rounded_text(value)}" for name, value in amounts.items() if value)
    return ", ".join(said).replace("_", " ")


SCHEMA = "opendp/deployments-registry-data@3e9c812a924cf01d228f26f6c462c59c391c3f2a"
_MISSING = "MISSING: not in the ledger"
_ABSENT = """\
basic.name basic.description basic.intended_use basic.data_product_region basic.data_curators
dp_variant.data_domain dp_variant.unprotected_quantities deployment_model.actors
deployment_model.access_type_details accounting.post_processing implementation.justification
implementation.preprocessing_and_hyperparameter_tuning administrative.registry_authors"""
_LISTS = "basic.data_curators", "administrative.registry_authors"
_VARIANTS = {("epsilon",): "Pure DP", ("rho",): "Zero-concentrated DP", ("rho", "delta"): "Custom"}


def entry(name: str, checker: Checker, records: list[Record]) -> dict[str, object]:
    """Return the entry; epsilon, delta and rho are rounded up, and those of a ceiling if any."""
    balance = checker.balance(name)
    budget = balance.budget
    every = (each.content for each in records if each.content["kind"] == "charged")
    made = [each for each in every if name in [one["scope"] for one in each["charges"]]]
    if not made:
        raise InputError("this scope has no charges to register")
    limits = budget.terms.at(budget.ceiling).limits
    version = checker.library.get("version", "of a version that no record states")
    numbers = {limit: float(with_places(value, 4)) for limit, value in limits.items()}
    exact = {"delta": with_places(limits["delta"], 30)} if "delta" in limits else {}
    laws = dict.fromkeys(f"{each['mechanism']}: {_law(each)}" for each in made)
    filled: dict[str, object] = {
        "basic.data_product_type": "Summary statistics",
        "basic.publication_date": made[0]["utc"][:10],
        "dp_variant.variant_name": _VARIANTS.get((*limits,), "Approximate DP"),
        "privacy_loss.privacy_unit": budget.unit,
        "privacy_loss.privacy_unit_details": f"{budget.neighbours}: {budget.statement()}",
        "privacy_loss.privacy_parameters": {**numbers, **exact},
        "deployment_model.model_name": "Central",
        "deployment_model.release_type": "Many releases" if len(made) > 1 else "One release",
        "deployment_model.release_type_details": f"{len(made)} charges so far. {balance}.",
        "accounting.composition": "Adaptive. The ledger refuses charges that exceed its caps.",
        "implementation.mechanisms": f"safeselect {version}. {'; '.join(laws)}.",
        "administrative.notes": f"Ledger {checker.ledger}, head {checker.head}; schema {SCHEMA}.",
    }
    filled |= {path: [_MISSING] if path in _LISTS else _MISSING for path in _ABSENT.split()}
    parts: dict[str, dict[str, object]] = {}
    for path, value in filled.items():
        section, _, field = path.partition(".")
        parts.setdefault(section, {})[field] = value
    return {"url_slug": "missing", "status": "Draft", "tier": 2, "deployment": parts}
