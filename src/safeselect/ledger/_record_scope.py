"""Where one scope of a ledger stands, and how a record moves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from safeselect.errors import LedgerDamaged
from safeselect.ledger._ledger_budget import Amounts, Budget, add, numbers
from safeselect.ledger.record import OLD_SCHEMA, read_numbers
from safeselect.promises.records import Content, exact

__all__ = ["MAX_REFUSALS", "Standing", "charged", "refused", "reopened"]

MAX_REFUSALS = 10
"""How many refusals of private input a scope bears, if nothing else is said."""

_LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a scope stands.

    Attributes:
        budget: its terms.
        spent: what was charged in all.
        refusals: how many calls were charged and then refused for their private input.
        max_refusals: at how many of them the scope is closed.
    """

    budget: Budget
    spent: Amounts
    refusals: int = 0
    max_refusals: int = MAX_REFUSALS

    @property
    def left(self) -> Amounts:
        """What may still be charged."""
        return {name: cap - self.spent[name] for name, cap in self.budget.caps.items()}

    @property
    def is_closed(self) -> bool:
        """Whether there were so many refusals that nothing is answered any more.

        Which calls were refused depended on private values; no budget bounds what that tells.
        """
        return self.refusals >= self.max_refusals

    @classmethod
    def opened(cls, record: Mapping[str, Any], where: str) -> Standing:
        """What a record of a new scope states.

        Raises:
            LedgerDamaged: its caps are not those of its budget, or its limit is none.
        """
        budget = Budget.of(record["terms"])
        nothing = dict.fromkeys(budget.caps, Fraction(0))
        if record["schema"] == OLD_SCHEMA:
            return cls(budget, nothing)
        if record["caps"] != numbers(budget.caps):
            raise LedgerDamaged(f"{where} states other caps than those of its budget")
        return cls(budget, nothing, 0, read_limit(record["max_refusals"], where))

    def told(self) -> dict[str, Content]:
        """As content of a record that carries it over."""
        return {
            "terms": self.budget.told(),
            "spent": numbers(self.spent),
            "refusals": str(self.refusals),
            "max_refusals": str(self.max_refusals),
        }

    @classmethod
    def carried(cls, content: Mapping[str, Any], where: str) -> Standing:
        """Read what `told` wrote.

        Raises:
            LedgerDamaged: it is something else.
        """
        if content.keys() != {"terms", "spent", "refusals", "max_refusals"}:
            raise LedgerDamaged(f"{where} does not say where a scope stands")
        budget, spent = Budget.of(content["terms"]), read_numbers(content["spent"], where)
        if spent.keys() != budget.caps.keys():
            raise LedgerDamaged(f"{where} does not say what a scope has spent")
        counts = (read_limit(content[name], where, 0) for name in ("refusals", "max_refusals"))
        return cls(budget, spent, *counts)


def charged(standing: Standing | None, charge: Mapping[str, Any], where: str) -> Standing:
    """A scope after a charge, whose own sum and cap are checked.

    Raises:
        LedgerDamaged: it does not continue the scope's total, does not add up, is no positive
            charge, exceeds a cap, or the scope was closed.
    """
    if standing is None or charge["terms"] != standing.budget.told():
        raise LedgerDamaged(f"{where} does not continue the running total of its scope")
    # Exact numbers have one spelling: equal texts are equal numbers.
    if charge["before"] != numbers(standing.spent):
        raise LedgerDamaged(f"{where} does not continue the running total of its scope")
    price, caps = read_numbers(charge["charge"], where), standing.budget.caps
    if price.keys() != caps.keys():
        raise LedgerDamaged(f"{where} does not add up")
    after = add(standing.spent, price)
    if charge["after"] != numbers(after):
        raise LedgerDamaged(f"{where} does not add up")
    if not any(price.values()) or any(after[name] > cap for name, cap in caps.items()):
        raise LedgerDamaged(f"{where} is no charge that its budget allows")
    if standing.is_closed:
        raise LedgerDamaged(f"{where} charges a scope that was closed")
    return Standing(standing.budget, after, standing.refusals, standing.max_refusals)


def refused(standing: Standing) -> Standing:
    """A scope after one more call was refused for its private input."""
    return Standing(standing.budget, standing.spent, standing.refusals + 1, standing.max_refusals)


def reopened(
    scopes: Mapping[str, Standing], record: Mapping[str, Any], where: str
) -> dict[str, Standing]:
    """A scope after its owner raised a limit.

    Raises:
        LedgerDamaged: it is not a limit that can be raised, or not by this record.
    """
    standing = scopes.get(record["scope"])
    # Nothing else is raised without approvals, which this version does not read.
    if standing is None or record["limit"] != "max_refusals" or record["approvals"]:
        raise LedgerDamaged(f"{where} raises something that cannot be raised")
    after = read_limit(record["after"], where)
    if record["before"] != str(standing.max_refusals) or after <= standing.max_refusals:
        raise LedgerDamaged(f"{where} does not raise the limit that there was")
    raised = Standing(standing.budget, standing.spent, standing.refusals, after)
    return {record["scope"]: raised}


def read_limit(written: object, where: str, least: int = 1) -> int:
    """A count as records spell it.

    Raises:
        LedgerDamaged: it is none, or out of bounds.
    """
    count = read_numbers({"count": written}, where)["count"]
    if count.denominator != 1 or not least <= count <= _LARGEST:
        raise LedgerDamaged(f"{where} holds a count that is out of bounds")
    return int(exact(count))
