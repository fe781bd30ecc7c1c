"""The balance of one scope of a ledger, and its change by a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.ledger.records.budget import Amounts, Budget, add, exact_texts
from safeselect.ledger.records.record import read_numbers
from safeselect.promises.records import Content, exact_text

MAX_REFUSALS = 10
"""The default number of refusals of private input at which a scope closes."""

_LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of a scope.

    Attributes:
        budget: the budget of the scope.
        spent: the amounts charged in total.
        refusals: the number of calls that were charged and then refused for their private input.
        max_refusals: the number of refusals at which the scope is closed.
    """

    budget: Budget
    spent: Amounts
    refusals: int = 0
    max_refusals: int = MAX_REFUSALS
    _texts: Mapping[str, Content] | None = field(default=None, repr=False, compare=False)

    @property
    def texts(self) -> Mapping[str, Content]:
        """The amounts charged in total, as records spell them."""
        return exact_texts(self.spent) if self._texts is None else self._texts

    @property
    def left(self) -> Amounts:
        """The amounts that may still be charged."""
        return {name: cap - self.spent[name] for name, cap in self.budget.caps.items()}

    @property
    def is_closed(self) -> bool:
        """Whether the refusals reached their limit, so that every answer is refused.

        Which calls were refused depends on private values; no budget bounds what that reveals.
        """
        return self.refusals >= self.max_refusals

    @classmethod
    def opened(cls, record: Mapping[str, Any], where: str) -> Balance:
        """Return the balance that a record of a new scope states.

        Raises:
            LedgerDamaged: its caps do not match its budget, or its limit is not valid.
        """
        budget = Budget.of(record["terms"])
        nothing = dict.fromkeys(budget.caps, Fraction(0))
        if record["caps"] != exact_texts(budget.caps):
            raise LedgerDamaged(f"{where} states other caps than those of its budget")
        return cls(budget, nothing, 0, read_limit(record["max_refusals"], where))


def charged(balance: Balance | None, charge: Mapping[str, Any], where: str) -> Balance:
    """Return the balance after a charge, whose sum and cap are checked.

    Raises:
        LedgerDamaged: it does not continue the scope's total, does not add up, is not positive or
            exceeds a cap, or the scope was closed.
    """
    if balance is None or charge["terms"] != balance.budget.as_record():
        raise LedgerDamaged(f"{where} does not continue the running total of its scope")
    # An exact number has one spelling, so texts differ exactly where numbers do.
    if charge["before"] != balance.texts:
        raise LedgerDamaged(f"{where} does not continue the running total of its scope")
    price, caps = read_numbers(charge["charge"], where), balance.budget.caps
    if price.keys() != caps.keys():
        raise LedgerDamaged(f"{where} does not add up")
    after = add(balance.spent, price)
    if charge["after"] != (texts := exact_texts(after)):
        raise LedgerDamaged(f"{where} does not add up")
    is_allowed = any(price.values())
    for name, cap in caps.items():
        is_allowed = is_allowed and after[name] <= cap
    if not is_allowed:
        raise LedgerDamaged(f"{where} is no charge that its budget allows")
    if balance.is_closed:
        raise LedgerDamaged(f"{where} charges a scope that was closed")
    return Balance(balance.budget, after, balance.refusals, balance.max_refusals, texts)


def refused(balance: Balance) -> Balance:
    """Return the balance after one more call was refused for its private input."""
    return replace(balance, refusals=balance.refusals + 1)


def raised(
    scopes: Mapping[str, Balance], record: Mapping[str, Any], where: str, *, is_approved: bool
) -> dict[str, Balance]:
    """Return the balance after a limit was raised.

    Args:
        is_approved: whether approvers signed it; without them only the limit of refusals is raised.

    Raises:
        LedgerDamaged: the limit cannot be raised, or not by this record.
    """
    balance, limit = scopes.get(record["scope"]), record["limit"]
    if balance is None:
        raise LedgerDamaged(f"{where} raises something that cannot be raised")
    if limit == "max_refusals":
        after = read_limit(record["after"], where)
        if record["before"] != str(balance.max_refusals) or after <= balance.max_refusals:
            raise LedgerDamaged(f"{where} does not raise the limit that there was")
        return {record["scope"]: replace(balance, max_refusals=after)}
    terms = balance.budget.terms
    if not is_approved or limit not in terms or limit == "order":
        raise LedgerDamaged(f"{where} raises something that cannot be raised")
    new = read_numbers({limit: record["after"]}, where)[limit]
    if record["before"] != exact_text(terms[limit]) or new <= terms[limit]:
        raise LedgerDamaged(f"{where} does not raise the limit that there was")
    try:
        budget = balance.budget.with_limit(limit, new)
    except ParameterError:
        raise LedgerDamaged(f"{where} raises a limit to what is none") from None
    return {record["scope"]: replace(balance, budget=budget)}


def read_limit(written: object, where: str) -> int:
    """Read a count in the spelling of records.

    Raises:
        LedgerDamaged: it is not a count, or is out of bounds.
    """
    count = read_numbers({"count": written}, where)["count"]
    if count.denominator != 1 or not 1 <= count <= _LARGEST:
        raise LedgerDamaged(f"{where} holds a count that is out of bounds")
    return int(exact_text(count))
