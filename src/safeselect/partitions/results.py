"""The result of a partition selection."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction

from safeselect.promises.guarantees import ApproximateDP
from safeselect.promises.records import Receipt, guarantee_record
from safeselect.scores.candidates import label_text
from safeselect.selection._results import to_json_line
from safeselect.unknown_domain._items import Label

__all__ = ["SelectedPartitions"]


@dataclass(frozen=True, slots=True, repr=False)
class SelectedPartitions:
    """The keys that may be shown, in the order of their labels.

    Attributes:
        labels: the keys: integers by value, then strings by code point.
        counts: their noisy numbers of users, or None.
        mean_noise: the mean of the noise of a count before any key is left out, rounded down to
            2**-32: subtract it from a count; None without counts.
        max_partitions: in how many keys a user counted at most.
        pre_threshold: keys with fewer users were never kept.
        guarantee: what the whole release costs.
        parts: the guarantees of the decisions about the keys of one user.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        receipt: with `ledger=`, the place of the release's record and the salt of its commitment.
    """

    labels: tuple[Label, ...]
    counts: tuple[int, ...] | None
    mean_noise: Fraction | None
    max_partitions: int
    pre_threshold: int
    guarantee: ApproximateDP
    parts: tuple[ApproximateDP, ...]
    mechanism: str
    source: str
    receipt: Receipt | None = None

    def __repr__(self) -> str:
        # Not the generated one: Python refuses to write out an integer of many digits.
        shown = ", ".join(
            label_text(label) if isinstance(label, int) else repr(label) for label in self.labels
        )
        rest = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)[1:]
            if field.name != "parts"
        ]
        return f"SelectedPartitions(labels=[{shown}], {', '.join(rest)})"

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selected-partitions/1"; numbers are strings."""
        return to_json_line(
            "safeselect.selected-partitions/1",
            self,
            labels=[label_text(label) for label in self.labels],
            parts={"count": str(len(self.parts)), "each": guarantee_record(self.parts[0])},
        )
