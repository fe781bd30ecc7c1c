"""The result of a measurement."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.presentation import to_json_line, written_labels
from safeselect.promises.records import Receipt, Statement
from safeselect.scores.candidates import Label, label_text


@dataclass(frozen=True, slots=True)
class Measurement(Generic[Label]):
    """Numbers with noise.

    Attributes:
        values: the noisy numbers, Python integers, in the order of those passed.
        labels: their names, or None where they have none.
        rate: 1 / scale of discrete Laplace noise, per unit of the values; otherwise None.
        sigma_squared: the parameter sigma**2 of Gaussian noise, in units squared; otherwise None.
        guarantee: what the release costs.
        parts: `guarantee` alone.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    values: tuple[int, ...]
    labels: tuple[Label, ...] | None
    rate: Fraction | None
    sigma_squared: Fraction | None
    guarantee: AnyGuarantee
    parts: tuple[AnyGuarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    def __repr__(self) -> str:
        # Not the generated one: Python refuses to write out an integer of many digits.
        shown = ", ".join(label_text(value) for value in self.values)
        return f"Measurement(values=[{shown}], guarantee={self.guarantee!r})"

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.measurement/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        named = {"labels": None} if self.labels is None else written_labels(self.labels)
        return to_json_line(
            "safeselect.measurement/1",
            self,
            **named,
            values=[label_text(value) for value in self.values],
            parts=None,
        )
