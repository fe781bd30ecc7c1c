"""An output that its plan cannot have is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, Case, Json, both, certificate, record, release
from written import EVERY

pytestmark = pytest.mark.claim("C8")

NONE: Json = {"kinds": [], "texts": []}
OFF = "a point that is not on its grid"
COUNTED, FAR = "discovered with counts", "1e100000000"
HALVES: Json = {"parameters": {"quantiles": "1/2, 1/2"}, "labels": {"texts": ["1/2"] * 2}}


def labels(*texts: str, kinds: Any = "text") -> Json:
    return {"kinds": kinds, "texts": [*texts]}


def values(*texts: str, **kinds: str) -> Any:
    return release(values={"texts": [*texts], **kinds})


def halves(charged: Json) -> None:
    charged["parameters"] |= HALVES["parameters"]


TWICE = [
    labels("tea", "tea"),
    labels("2020-01-01", "2020-01-01", kinds="date"),
    labels("0.5", "1/2", kinds=["decimal", "fraction"]),
    labels("5", "5.0", kinds=["integer", "decimal"]),
    FIVES := labels("5", "5", kinds=["integer", "fraction"]),
]
OTHERS = {
    **{f"{each} twice": (release(labels=each), "a candidate twice") for each in TWICE},
    "a name twice": (release(names=FIVES), "a candidate twice", "rows with labels"),
    "a quantile twice": (record(CHARGED, halves, **HALVES), "a value twice", "decimals"),
    "too many values": (values("1", "2", "3"), "values differs", "a measurement of integers"),
    "more items in a group": (release(labels=[labels(*"abc"), NONE, NONE]), "at most 2", "groups"),
    "an item twice": (release(labels=[labels("a", "a"), NONE, NONE]), "an item twice", "groups"),
    "more groups": (release(groups=[*"xyzu"], labels=[NONE] * 4), "has 4 groups, but 3", "groups"),
    "a point beside the grid": (values("100"), OFF, "a median"),
    "a point as text": (values(FAR, kinds="text"), "must be a finite number", "a median"),
    "a highest point that takes for ever": (both(highest=FAR), OFF, "a median"),
    "a step that takes for ever": (both(step=FAR), OFF, "a median"),
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
    "a count below 0": (release(counts=["7", "-1"]), "possible count is 0", COUNTED),
    "a count far below": (release(counts=["7", "-999"]), "count is -", f"{COUNTED}, no cap"),
    "counts that are not kept": (release(counts=["7"] * 5), "a count of 7", "keys with counts"),
    "counts out of order": (release(counts=["29989", "49999"]), "not in the order of", COUNTED),
    "a run that does not pass": (values("-6"), "score is below the threshold", "a run above"),
    "no run of best_of": (release(labels=NONE, values=NONE), "exactly one run", "the best of runs"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_output_that_cannot_be_is_refused(refuse: Any, name: str) -> None:
    refuse("output", *OTHERS[name])


@pytest.mark.parametrize("text", ["1e100000000", "-1e-99999999", "9" * 5000, "a word"])
def test_a_score_whose_class_is_not_known_is_its_text(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], text: str
) -> None:
    case = Case(tmp_path, certificate(), call=EVERY["a run above"])
    release(values={"kinds": "other", "texts": [text]})(case)
    assert case.audit(capfdbinary)[1]["output"] == "holds: It is a possible output of this plan."
