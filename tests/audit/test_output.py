"""An output that its plan cannot have is refused."""

from __future__ import annotations

from typing import Any

import pytest
from audited import Json, both, release

pytestmark = pytest.mark.claim("C8")

NONE: Json = {"kinds": [], "texts": []}
OFF = "a point that is not on its grid"


def labels(*texts: str) -> Json:
    return {"kinds": "text", "texts": [*texts]}


def values(*texts: str) -> Any:
    return release(values={"texts": [*texts]})


OTHERS = {
    "a label twice": (release(labels={"texts": ["tea", "tea"]}), "a candidate twice"),
    "too many values": (
        values("1", "2", "3"),
        "number of values differs",
        "a measurement of integers",
    ),
    "more items in a group": (
        release(labels=[labels("a", "b", "c"), NONE, NONE]),
        "It has 3 labels, but at most 2 were charged",
        "groups",
    ),
    "an item twice": (release(labels=[labels("a", "a"), NONE, NONE]), "an item twice", "groups"),
    "more groups": (release(groups=[*"xyzu"], labels=[NONE] * 4), "has 4 groups, but 3", "groups"),
    "a point beside the grid": (values("100"), OFF, "a median"),
    "a decimal beside the grid": (values("5E-8", "5E-8"), OFF, "decimals"),
    "a day beside the grid": (values("2025-01-01"), OFF, "a day"),
    "without grid=": (both(step="0"), OFF, "a median"),
    "quantiles that cross": (values("1", "2", "3"), "has a smaller point", "quartiles"),
    "a place beyond the candidates": (
        release(index="2", label={"kind": "integer", "text": "2"}),
        "more places than candidates",
        "a position",
    ),
    "a gap beside its grid": (release(gap="1/2"), "multiples of their grid step", "a gap"),
    "a gap below 0": (release(gaps=["7", "-1"]), "not multiples of", "top k with gaps"),
    "a count below 0": (
        release(counts=["7", "-1"]),
        "smallest possible count is 0",
        "discovered with counts",
    ),
    "a count far below": (
        release(counts=["7", "-999"]),
        "smallest possible count is -",
        "discovered with counts, no cap",
    ),
    "counts that are not kept": (release(counts=["7"] * 5), "a count of 7", "keys with counts"),
    "counts out of order": (
        release(counts=["29989", "49999"]),
        "not in the order of their counts",
        "discovered with counts",
    ),
    "a run that does not pass": (values("-6"), "score is below the threshold", "a run above"),
    "no run of best_of": (release(labels=NONE, values=NONE), "exactly one run", "the best of runs"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_output_that_cannot_be_is_refused(refuse: Any, name: str) -> None:
    refuse("output", *OTHERS[name])
