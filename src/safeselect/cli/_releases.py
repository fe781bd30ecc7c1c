"""The releases in the records of a ledger: each charge with its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from safeselect.ledger import EXTERNAL, Budget, Record
from safeselect.ledger.record import read_numbers


@dataclass(slots=True)
class Release:
    """A charge and its outcome.

    Attributes:
        record: the record of the charge.
        outcome: "released", "settled (what was used)", "aborted (reason)" or "no outcome".
    """

    record: Record
    outcome: str = "no outcome"

    @property
    def content(self) -> dict[str, Any]:
        """The content of the record."""
        return self.record.content

    @property
    def scopes(self) -> dict[str, dict[str, Any]]:
        """The charge to each scope, by name."""
        return {charge["scope"]: charge for charge in self.content["charges"]}

    @property
    def is_asserted(self) -> bool:
        """Whether the guarantee is the caller's word: another library made the release."""
        return bool(self.content["source"].get("name") == EXTERNAL)

    def amounts(self, scope: str, name: str) -> dict[str, Fraction]:
        """Return a scope's amounts "before", "charge" or "after"; ln M as epsilon."""
        charge = self.scopes[scope]
        return Budget.of(charge["terms"]).in_epsilon(read_numbers(charge[name], "the record"))


def raised(scope: str, records: Iterable[Record]) -> list[tuple[dict[str, Any], str]]:
    """Return the records that raised a limit of a scope, each with what it did in words."""
    found = []
    for record in records:
        content = record.content
        if content["kind"] == "raised" and content["scope"] == scope:
            count = len(content["approvals"])
            by = f", approved by {count}" if count else ""
            said = f"raised {content['limit']} from {content['before']} to {content['after']}{by}"
            found.append((content, f"{said}: {content['reason']}"))
    return found


def replaced_keys(records: Iterable[Record]) -> list[tuple[dict[str, Any], str]]:
    """Return the records that replaced the signing key, each with what it did in words."""
    found = []
    for record in records:
        content = record.content
        if content["kind"] == "key":
            count = len(content["approvals"])
            by = f"approved by {count}" if count else "handed over by the key before it"
            found.append((content, f"key {content['signer']['public_key']} signs, {by}"))
    return found


def releases(records: Iterable[Record]) -> list[Release]:
    """Return the releases in these records, in the order of their charges."""
    found: dict[str, Release] = {}
    for record in records:
        content = record.content
        if content["kind"] == "charged":
            found[content["seq"]] = Release(record)
        elif content["kind"] == "released":
            found[content["charge"]].outcome = "released"
        elif content["kind"] == "aborted":
            found[content["charge"]].outcome = f"aborted ({content['reason']})"
        elif content["kind"] == "settled":
            used = ", ".join(f"{name} {number}" for name, number in content["spent"].items())
            found[content["charge"]].outcome = f"settled ({used})"
    return list(found.values())
