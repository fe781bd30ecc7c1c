"""What a call in an unknown domain returns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from safeselect.guarantees import ApproximateDP, Guarantee
from safeselect.mechanisms._histogram import Label
from safeselect.mechanisms._results import told

__all__ = ["DiscoveredTopK"]


@dataclass(frozen=True, slots=True)
class DiscoveredTopK:
    """At most k items that were found in the data, best first.

    Attributes:
        labels: their labels; fewer than k, often none, where the bottom came first.
        counts: their noisy counts (with Laplace noise), or None.
        k_bar: how many items competed; public.
        offset: how far above the (k_bar + 1)-th count the bottom lay before noise; public.
        guarantee: what the whole release costs; in a session, what the whole session costs.
        parts: the guarantees whose composition `guarantee` is.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
    """

    labels: tuple[Label, ...]
    counts: tuple[int, ...] | None
    k_bar: int
    offset: Fraction
    guarantee: ApproximateDP
    parts: tuple[Guarantee, ...]
    mechanism: str
    source: str

    def to_json(self) -> str:
        """One line of JSON, schema "safeselect.discovered-top-k/1"; numbers are strings."""
        content: dict[str, object] = {
            "schema": "safeselect.discovered-top-k/1",
            "labels": [str(label) for label in self.labels],
            "k_bar": str(self.k_bar),
            "offset": str(self.offset),
            "guarantee": told(self.guarantee),
            "parts": [
                {"count": str(len(list(equal))), "each": told(part)}
                for part, equal in groupby(self.parts)
            ],
            "mechanism": self.mechanism,
            "source": self.source,
        }
        if self.counts is not None:
            content["counts"] = [str(count) for count in self.counts]
        return json.dumps(content, sort_keys=True, ensure_ascii=True)
