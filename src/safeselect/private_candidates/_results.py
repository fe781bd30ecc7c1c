"""The result of repeated runs: one of them, and never how many there were."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.presentation import to_json_line
from safeselect.promises.records import Receipt
from safeselect.promises.statement import Statement
from safeselect.scores.candidates import label_text

__all__ = ["ChosenRun", "Out"]

Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class ChosenRun(Generic[Out]):
    """One of many private runs.

    Attributes:
        output: what the run released beside its score; None where no run passed a threshold.
        score: its score, as the run returned it; None where no run passed a threshold.
        found: whether there is one; always true for `best_of`.
        guarantee: what the whole call costs.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from that decide how many runs there are.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    output: Out | None
    score: Any
    found: bool
    guarantee: AnyGuarantee
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.chosen-run/1"; output and score as text."""
        return to_json_line(
            "safeselect.chosen-run/1",
            self,
            output=_text(self.output) if self.found else None,
            score=_text(self.score) if self.found else None,
            found="yes" if self.found else "no",
        )


def _text(value: object) -> str:
    with suppress(Exception):  # a caller's class may raise anything
        return label_text(value)
    return f"an object of type {type(value).__name__}"
