"""The result of a partition selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from safeselect.partitions.terms import Terms
from safeselect.presentation import equal_parts, to_json_line, written_labels
from safeselect.promises.guarantees import ApproximateDP
from safeselect.promises.records import Content, Receipt, Statement, exact_text
from safeselect.scores.candidates import label_text
from safeselect.selection._results import presented, views


@dataclass(frozen=True, slots=True, repr=False)
class SelectedPartitions:
    """The keys that may be shown, in the order of their labels.

    Attributes:
        labels: the keys, each a text, by code point.
        counts: their noisy numbers of users, or None.
        mean_noise: the mean of the noise of a count before any key is left out, rounded down to
            2**-32: subtract it from a count; None without counts.
        standard_deviation: of that noise, rounded up to a thousandth; None without counts.
        noise_95: (low, high), between which that noise lies with a probability of 0.95 or more: the
            users of a key are its count less so much; None without counts.
        max_partitions: in how many keys a user counted at most.
        pre_threshold: keys with fewer users were never kept.
        guarantee: what the whole release costs.
        parts: the guarantees of the decisions about the keys of one user.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, the place of the release's record and the salt of its commitment.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...] | None
    mean_noise: Fraction | None
    standard_deviation: Fraction | None
    noise_95: tuple[int, int] | None
    max_partitions: int
    pre_threshold: int
    guarantee: ApproximateDP
    parts: tuple[ApproximateDP, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    to_dict, to_pandas, to_polars, plot = views("key")

    __repr__ = presented("short_text", "One line.")

    @property
    def terms(self) -> Terms:
        """The public parameters, from which the law of the decisions and of the noise follows."""
        counted = self.counts is not None
        kept = self.guarantee, self.parts[0], self.max_partitions, self.pre_threshold
        return Terms(*kept, with_counts=counted)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.selected-partitions/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        counts = None if self.counts is None else [label_text(count) for count in self.counts]
        return to_json_line(
            "safeselect.selected-partitions/1",
            self,
            **written_labels(self.labels),
            counts=counts,
            count_noise=self._count_noise(),
            standard_deviation=None,
            noise_95=None,
            parts=equal_parts(self.parts),
        )

    def _count_noise(self) -> Content | None:
        """What kind of numbers the counts are, as content for JSON."""
        if self.standard_deviation is None or self.noise_95 is None:
            return None
        keys = "one key" if self.max_partitions == 1 else f"{self.max_partitions} keys"
        low, high = self.noise_95
        return {
            "of": f"users, each counted for at most {keys}",
            "noise": "of the table that keeps keys",
            "standard_deviation": exact_text(self.standard_deviation),
            "low_95": str(low),
            "high_95": str(high),
            "bias": (
                "below the number of users where a user has more keys than are counted; above it "
                "on the average of those shown, because noise helps a key to be shown"
            ),
        }


@dataclass(frozen=True, slots=True)
class StatedStrategy:
    """A strategy in public terms: a ledger commits to this, because the decisions come later.

    Attributes:
        guarantee: what all decisions cost together.
        parts: the guarantees of the decisions about the keys of one user.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes come from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, the place of the strategy's record and the salt of its commitment.
    """

    guarantee: ApproximateDP
    parts: tuple[ApproximateDP, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.partition-strategy/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        schema = "safeselect.partition-strategy/1"
        return to_json_line(schema, self, parts=equal_parts(self.parts))
