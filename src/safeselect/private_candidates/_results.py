"""The result of repeated runs: one of them, and never how many there were."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.presentation import kind_of, to_json_line
from safeselect.promises.records import Receipt, Statement
from safeselect.scores.candidates import label_text
from safeselect.scores.columns import hushed

Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class ChosenRun(Generic[Out]):
    """One of many private runs.

    Attributes:
        output: what the run released beside its score; None where there is no run to release.
        score: its score, as the run returned it; None where there is no run to release.
        found: whether there is one: false where no run passed a threshold, or where a Poisson
            number of runs was 0; always true for `best_of` without `mean`.
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
        """One line of JSON, schema "safeselect.chosen-run/1"; output and score as text.

        Where there is a run, `output_kind` and `score_kind` say what the two were, as for labels.
        """
        names = "output", "output_kind", "score", "score_kind"
        content: dict[str, str | None] = dict.fromkeys(names)
        if self.found:
            for name, value in (("output", self.output), ("score", self.score)):
                content[name], content[f"{name}_kind"] = _written(value)
        found = "yes" if self.found else "no"
        return to_json_line("safeselect.chosen-run/1", self, found=found, **content)


def _written(value: object) -> tuple[str, str]:
    """A value as text, and what it was, as for labels."""
    written = f"an object of type {type(value).__name__}", "other"
    with hushed():  # a caller's class may raise anything
        written = str.__str__(label_text(value)), kind_of(value)
    return written
