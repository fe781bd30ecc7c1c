"""How guarantees, numbers and charges are written down, each in one spelling.

Results and the ledger's records share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Context, Decimal
from fractions import Fraction

from safeselect.promises.guarantees import Guarantee

__all__ = [
    "Content",
    "Receipt",
    "brief",
    "exact",
    "numbers",
    "told",
]

Content = str | list["Content"] | dict[str, "Content"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the caller gets of the record of a release.

    Attributes:
        ledger: identity of the ledger.
        record: place in the ledger of the record that holds the commitment.
        salt: opens the commitment; nobody else has it.
    """

    ledger: str
    record: int
    salt: bytes

    def told(self) -> Content:
        """As content for JSON."""
        return {"ledger": self.ledger, "record": str(self.record), "salt": self.salt.hex()}


def numbers(values: Mapping[str, Fraction]) -> dict[str, Content]:
    """Exact numbers as strings, such as "1/3"."""
    return {name: exact(value) for name, value in values.items()}


def exact(value: Fraction) -> str:
    """A number as records spell it: exact, in lowest terms.

    By way of Decimal, because Python may limit how many digits of an int str() writes.
    """
    above, below = Decimal(value.numerator), Decimal(value.denominator)
    return f"{above:f}" if below == 1 else f"{above:f}/{below:f}"


def brief(value: Fraction) -> str:
    """A number for people: exact where it is short, otherwise about, to six digits."""
    decimal = Context(prec=9).divide(Decimal(value.numerator), Decimal(value.denominator))
    is_exact = Fraction(decimal) == value
    if not is_exact and max(value.numerator, value.denominator) < 1000:
        return str(value)
    shown = decimal.normalize(Context(prec=9 if is_exact else 6))
    form = "f" if -7 < shown.adjusted() < 9 else "e"
    return f"{'' if is_exact else 'about '}{shown:{form}}"


def told(guarantee: Guarantee) -> dict[str, Content]:
    """A guarantee as content: its type and its numbers."""
    values = {field.name: getattr(guarantee, field.name) for field in fields(guarantee)}
    return {"type": type(guarantee).__name__, **numbers(values)}
