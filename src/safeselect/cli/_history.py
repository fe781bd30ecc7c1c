"""The records of a ledger as a reader sees them: each charge with its outcome, and each change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from safeselect.ledger import EXTERNAL, Record
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
        """Return a scope's amounts "charge" or "after"; ln M as epsilon."""
        charge = self.scopes[scope]
        return self.record.budgets[scope].in_epsilon(read_numbers(charge[name], "the record"))


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


def changes(records: Iterable[Record], scope: str | None) -> list[tuple[str, str, str]]:
    """Return place, time and words of each raised limit of a scope, or of each new key."""
    found = []
    for record in records:
        content = record.content
        if scope is None and content["kind"] == "key":
            by = _approved(content) or "handed over by the key before it"
            said = f"key {content['signer']['public_key']} signs, {by}"
        elif content["kind"] == "raised" and content["scope"] == scope:
            by = _approved(content)
            raised = f"raised {content['limit']} from {content['before']} to {content['after']}"
            said = f"{raised}{by and ', '}{by}: {content['reason']}"
        else:
            continue
        found.append((content["seq"], content["utc"], said))
    return found


def _approved(content: dict[str, Any]) -> str:
    return f"approved by {len(content['approvals'])}" if content["approvals"] else ""
