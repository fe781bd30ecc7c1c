"""The release of the best items of each group: one release, a row a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby

from safeselect.mechanisms.unknown import CountNoise
from safeselect.presentation import to_json_line
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import Receipt, Statement, exact_text, guarantee_record
from safeselect.selection._results import presented, views


@dataclass(frozen=True, slots=True, repr=False)
class GroupedTopK:
    """The best items of each group of a public list, in one release.

    Attributes:
        groups: the groups, in the order in which they were stated.
        labels: for each group, its items, best first; fewer than k where the domain is unknown.
        counts: for each group, the noisy counts of its items, or None.
        max_groups: in how many groups a user was counted at most.
        noise_rate: the rate of the noise in each group, per user.
        k_bar, offset: as in `DiscoveredTopK`, for each group; None where candidates are known.
        guarantee: what the whole release costs.
        parts: the guarantees whose composition `guarantee` is: of the draws of `max_groups` groups.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    groups: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: tuple[tuple[int, ...], ...] | None
    max_groups: int
    noise_rate: Fraction
    k_bar: int | None
    offset: Fraction | None
    guarantee: Guarantee
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__ = presented("short_text", "One line.")
    to_dict, to_pandas, to_polars, plot = views("item of a group")

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __getitem__(self, group: str) -> tuple[str, ...]:
        """The items of a group, best first."""
        return dict(zip(self.groups, self.labels, strict=True))[group]

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the counts of a group: 1 user."""
        return self.statement.effective_range

    @property
    def count_noise(self) -> CountNoise | None:
        """What the counts are, and how noisy; None without counts."""
        if self.counts is None:
            return None
        cap = int(dict(self.statement.parameters)["max_contributions"])
        return CountNoise.of(self.noise_rate * cap, cap)

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.grouped-top-k/1"; numbers are strings.

        `safeselect.from_json` reads it; the keys stand in the JSON Schema of this name.
        """
        content: dict[str, object] = {
            "groups": list(self.groups),
            "labels": [list(row) for row in self.labels],
            "noise_rate": exact_text(self.noise_rate),
            "parts": [
                {"count": str(len(list(equal))), "each": guarantee_record(part)}
                for part, equal in groupby(self.parts)
            ],
        }
        if self.counts is not None and (noise := self.count_noise) is not None:
            content["counts"] = [[str(count) for count in row] for row in self.counts]
            content["count_noise"] = noise.as_record()
        return to_json_line("safeselect.grouped-top-k/1", self, **content)
