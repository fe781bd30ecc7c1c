"""The result of a call in an unknown domain."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import groupby

from safeselect.promises.guarantees import ApproximateDP, Guarantee
from safeselect.promises.records import Receipt, guarantee_record
from safeselect.scores.candidates import label_text
from safeselect.selection._results import to_json_line
from safeselect.unknown_domain._items import Label

__all__ = ["DiscoveredTopK"]


@dataclass(frozen=True, slots=True, repr=False)
class DiscoveredTopK:
    """At most k items that were found in the data, best first.

    Attributes:
        labels: their labels; fewer than k, often none, where the bottom ended the list.
        counts: their noisy counts (with Laplace noise), or None.
        k_bar: how many items competed; public.
        offset: how far above the (k_bar + 1)-th count the bottom lay before noise; public.
        guarantee: what the whole release costs; in a session, what the whole session costs.
        parts: the guarantees whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        effective_range: the range of the change of the scores, in score units, to which the noise
            was calibrated: the declared range and what reading the scores adds.
        receipt: with `ledger=`, the place of the release's record and the salt of its commitment.
    """

    labels: tuple[Label, ...]
    counts: tuple[int, ...] | None
    k_bar: int
    offset: Fraction
    guarantee: ApproximateDP
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    effective_range: Fraction | None = None
    receipt: Receipt | None = None

    def __repr__(self) -> str:
        # Not the generated one: Python refuses to write out an integer of many digits.
        shown = ", ".join(
            label_text(label) if isinstance(label, int) else repr(label) for label in self.labels
        )
        rest = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[1:]]
        return f"DiscoveredTopK(labels=[{shown}], {', '.join(rest)})"

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.discovered-top-k/1"; numbers are strings."""
        content: dict[str, object] = {
            "labels": [label_text(label) for label in self.labels],
            "k_bar": str(self.k_bar),
            "offset": str(self.offset),
            "parts": [
                {"count": str(len(list(equal))), "each": guarantee_record(part)}
                for part, equal in groupby(self.parts)
            ],
        }
        if self.counts is not None:
            content["counts"] = [str(count) for count in self.counts]
        return to_json_line("safeselect.discovered-top-k/1", self, **content)
