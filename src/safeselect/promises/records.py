"""The written form of guarantees, numbers and receipts: one spelling for each.

Results and the ledger's records share it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction

from safeselect.promises.guarantees import Guarantee

__all__ = ["Content", "Receipt", "exact_text", "guarantee_record"]

Content = str | list["Content"] | dict[str, "Content"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The caller's part of the record of a release.

    Attributes:
        ledger: identity of the ledger.
        record: place in the ledger of the record that holds the commitment.
        salt: opens the commitment; only the caller has it.
    """

    ledger: str
    record: int
    salt: bytes

    def as_record(self) -> Content:
        """As content for JSON."""
        return {"ledger": self.ledger, "record": str(self.record), "salt": self.salt.hex()}


def exact_text(value: Fraction) -> str:
    """A number as records spell it: exact, in lowest terms.

    Decimal writes the digits, because Python may limit how many digits of an int str() writes.
    """
    above, below = Decimal(value.numerator), Decimal(value.denominator)
    return f"{above:f}" if below == 1 else f"{above:f}/{below:f}"


def guarantee_record(guarantee: Guarantee) -> dict[str, Content]:
    """A guarantee as content: its type and its numbers, or the guarantee that it is about."""
    content: dict[str, Content] = {"type": type(guarantee).__name__}
    for field in fields(guarantee):
        value = getattr(guarantee, field.name)
        is_number = isinstance(value, Fraction)
        content[field.name] = exact_text(value) if is_number else guarantee_record(value)
    return content
