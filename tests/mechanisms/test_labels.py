"""Public labels: what may be one, where they come from, and that no position follows from data."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import safeselect
from safeselect import ParameterError, permute_and_flip, select_many, top_k, top_k_above

pytestmark = pytest.mark.claim("C10")

SURE: dict[str, Any] = {"epsilon": 10_000, "sensitivity": 1}
COLOURS = ["red"] * 7 + ["blue"] * 9 + ["green"] * 2


LABELLED: dict[str, Any] = {
    "value_counts": pd.Series(COLOURS).value_counts(),
    "table": pd.Series(COLOURS).value_counts().to_frame(),
    "Counter": Counter(COLOURS),
    "Counts": safeselect.Counts(Counter(COLOURS), places="all"),
}


@pytest.mark.parametrize("kind", LABELLED)
def test_a_labelled_column_releases_its_labels_and_no_positions(kind: str) -> None:
    scores = LABELLED[kind]
    one, best = permute_and_flip(scores, **SURE), top_k(scores, k=2, **SURE)
    some = top_k(scores, k=2, mechanism="laplace", epsilon="0.2", delta="0.05", sensitivity=1)
    above = top_k_above(scores, k=2, threshold=5, **SURE)
    rows, single = select_many([scores, scores], k=2, **SURE), select_many([scores], **SURE)
    assert (one.label, one.index) == ("blue", None)
    assert (best.labels, best.indices) == (("blue", "red"), None)
    assert (above.labels, above.indices) == (("blue", "red"), None)
    assert (rows.labels, rows.indices) == ([["blue", "red"]] * 2, None)
    assert rows.names == ("blue", "red")  # and not in the order of the column
    assert (single.labels, single.indices, single.names) == (["blue"], None, ("blue",))
    assert len(some.labels) == 2
    assert some.indices is None
    for result in (one, best, some, above, rows):
        assert not {"index", "indices"} & set(json.loads(result.to_json()))


def test_rows_that_name_their_candidates_name_them_alike() -> None:
    one, other = pd.Series([1, 9], index=["a", "b"]), pd.Series([1, 9], index=["b", "a"])
    assert select_many([one, one], **SURE).labels == ["b", "b"]
    for rows in ([one, other], [one, [1, 9]], [{"a": 1, "b": 2}, {"b": 1, "a": 2}], [[1, 9], one]):
        with pytest.raises(ParameterError, match="must have the same labels in the same order"):
            select_many(rows, **SURE)
    assert select_many([one, other], labels=["x", "y"], **SURE).labels == ["y", "y"]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [{"x": 1}, {"y": 2}, {"z": 3}]])
def test_a_set_of_labels_that_follows_from_data_is_in_an_order_of_its_own(labels: Any) -> None:
    orders = set()
    for order in permutations(range(3)):
        index = pd.Index([labels[place] for place in order], dtype=object)
        scores = pd.Series([9, 5, 1], index=index)
        some = top_k(
            scores, k=3, mechanism="laplace", epsilon="0.2", delta="0.05", sensitivity=1
        ).labels
        orders.add(tuple(map(str, some)))
    assert len(orders) == 1
    assert [*map(str, some)] == sorted(map(str, labels))


COUNTED: dict[str, Any] = {
    "value_counts": lambda column: column.value_counts(),
    "a table": lambda column: column.value_counts().to_frame(),
    "singles": lambda column: column.astype("float32").value_counts(),
    "Counts": lambda column: safeselect.Counts(column.value_counts().to_dict(), places="all"),
}


@pytest.mark.parametrize("count", COUNTED)
def test_a_missing_row_does_not_show_in_the_labels_of_the_others(count: str) -> None:
    """It made them floats: "1.0", of kind "other", instead of "1", an integer."""
    released = set()
    for column in (pd.Series([3] * 90 + [1] * 5), pd.Series([3] * 90 + [1] * 5 + [None])):
        scores = COUNTED[count](column)
        chosen, listed = permute_and_flip(scores, **SURE), top_k(scores, k=2, **SURE)
        measured = safeselect.measure(scores, epsilon=10_000, sensitivity_l1=2)
        rows = select_many([scores, scores], **SURE)
        assert [type(label) for label in (*listed.labels, chosen.label)] == [int] * 3
        released |= {chosen.to_json(), listed.to_json(), measured.to_json(), rows.to_json()}
        index = column.value_counts().index
        for labels in (index, index.to_numpy(), index.to_series()):
            assert type(permute_and_flip([900, 5], labels=labels, **SURE).label) is int
            many = select_many(np.array([[900, 5]]), labels=labels, **SURE)
            assert [type(label) for label in many.labels] == [int]
    assert len(released) == 4
