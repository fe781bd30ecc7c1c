"""PipelineDP's selection with our law; `test_pipeline_dp_engine.py` runs it in the engine."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from safeselect import ParameterError, ScoreError, partition_strategy
from safeselect.adapters.pipeline_dp import create_partition_selection_strategy, kept_partitions
from safeselect.mechanisms.items import item
from safeselect.results import PartitionStrategy

Kind = Enum("Kind", ["TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLDING", "GAUSSIAN_THRESHOLDING"])
OURS = Kind["TRUNCATED_GEOMETRIC"]


@pytest.mark.parametrize("least", [None, 1, 7])
def test_the_law_is_that_of_the_strategy(least: int | None) -> None:
    given = create_partition_selection_strategy(OURS, 0.5, 1e-6, np.int64(3), least)
    same = partition_strategy(
        epsilon="1/2", delta="1e-6", max_partitions=3, pre_threshold=least or 1
    )
    for users in range(60):
        assert given.probability_of_keep(users) == same.probability_of_keep(users)
    assert given.should_keep(np.int64(10**6))
    assert not given.should_keep(0)
    assert pickle.loads(pickle.dumps(given)).should_keep(10**6)  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"strategy": Kind["LAPLACE_THRESHOLDING"]}, "GEOMETRIC, got 'LAPLACE_THRESHOLDING'"),
        ({"strategy": "TRUNCATED_GEOMETRIC"}, "strategy must be PartitionSelectionStrategy"),
        ({"epsilon": 0.0}, "epsilon must be greater than zero"),
        ({"delta": 0.0}, "delta must be greater than zero"),
        ({"max_partitions_contributed": 0}, "max_partitions must be between"),
        ({"pre_threshold": 0}, "pre_threshold must be between"),
    ],
)
def test_refusals(given: dict[str, Any], says: str) -> None:
    usual = {"strategy": OURS, "epsilon": 1, "delta": 1e-6, "max_partitions_contributed": 1}
    with pytest.raises(ParameterError, match=says):
        create_partition_selection_strategy(**{**usual, **given})


@pytest.mark.parametrize("users", [777123.5, float("nan"), "777123", None])
def test_a_number_of_users_that_is_none_is_not_quoted(users: Any) -> None:
    with pytest.raises(ScoreError, match="integer") as raised:
        create_partition_selection_strategy(OURS, 1, 1e-6, 1).should_keep(users)
    assert "777" not in str(raised.value)


class Extractors(NamedTuple):
    privacy_id_extractor: Any = itemgetter(0)
    partition_extractor: Any = itemgetter(1)


class Backend:
    """The operations of a backend that are used, on lists, in an order of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def _shuffled(self, found: Iterable[Any]) -> list[Any]:
        rows = list(found)
        self.random.shuffle(rows)
        return rows

    def flat_map(self, rows: Any, function: Any, stage: str) -> Any:
        function = pickle.loads(pickle.dumps(function))  # noqa: S301 - our own
        return self._shuffled(each for row in rows for each in function(row))

    def filter(self, rows: Any, function: Any, stage: str) -> Any:
        return self._shuffled(filter(pickle.loads(pickle.dumps(function)), rows))  # noqa: S301

    def group_by_key(self, rows: Any, stage: str) -> Any:
        found: dict[Any, list[Any]] = {}
        for key, value in rows:
            found.setdefault(key, []).append(value)
        return self._shuffled(found.items())

    def count_per_element(self, rows: Any, stage: str) -> Any:
        return self._shuffled(Counter(rows).items())

    def keys(self, rows: Any, stage: str) -> Any:
        return [key for key, _ in rows]


def test_partitions_are_selected_by_public_operations_the_same_each_time() -> None:
    """Users in five partitions each, of which two count; keys of many types."""
    keys = ["a", "b", 5, 5.0, "5", None, float("nan"), np.str_("c"), "\ud800", 2**65000, 1.5]
    rng = random.Random(3)
    rows = [(user, rng.choice(keys)) for user in range(400) for _ in range(9)]
    strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=2)
    given = {"extractors": Extractors(), "strategy": strategy}
    found = [set(kept_partitions(rows, backend=Backend(n), **given)) for n in range(3)]
    assert found[0] == found[1] == found[2] == {*"ab5c", "\ud800", item(2**65000), "1.5"}
    small = rows[:200]  # some partitions may show, and always the same ones
    found = [set(kept_partitions(small, backend=Backend(n), **given)) for n in range(3)]
    assert found[0] == found[1] == found[2]


def test_a_user_counts_for_so_many_partitions_and_once_for_each() -> None:
    rows = [(f"user {n}", key) for n in range(60) for key in range(10)] * 3
    _, seen = watched(rows, partition_strategy(epsilon=1, delta="1e-6", max_partitions=3))
    assert sum(seen.values()) == 60 * 3
    # A hash, so always the same: no partition is preferred by all users.
    assert len(seen) == 10
    assert max(seen.values()) < 40


def test_what_is_no_strategy_is_refused() -> None:
    given = {"backend": Backend(1), "extractors": Extractors()}
    with pytest.raises(ParameterError, match="strategy must be the result of partition_strategy"):
        kept_partitions([], strategy=3, **given)  # type: ignore[arg-type]


@pytest.mark.claim("C10")
@pytest.mark.parametrize("user", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, b"x", [1]])
def test_a_row_without_a_user_is_dropped(user: Any) -> None:
    """As the table adapters do: one such row is as good as none, wherever it stands."""
    strategy = partition_strategy(epsilon=8, delta="1e-6", max_partitions=2)
    rows: list[Any] = [(f"user {n}", "a") for n in range(99)]
    for more in (rows, rows + [(user, "b")] * 99, [(user, "a"), *rows], [(user, None), *rows]):
        assert watched(more, strategy) == ({"a"}, {"a": 99})


@pytest.mark.claim("C2")
def test_users_and_partitions_are_texts() -> None:
    """Equal users are one, however they are spelled; what a user keeps follows from its texts."""
    strategy = partition_strategy(epsilon=1, delta="1e-6", max_partitions=1)
    places = [1, 2, 3, 1.5]
    several: list[list[Any]] = [[1], ["1"], [1.0, 1, True], [Decimal("1.0"), "1", np.int64(1)]]
    for users in several:
        rows = [(user, place) for user in users for place in places]
        texts = [("1", str(place)) for place in places]
        assert watched(rows, strategy) == watched(texts, strategy)
        assert sum(watched(rows, strategy)[1].values()) == 1


def watched(rows: list[Any], strategy: PartitionStrategy) -> tuple[set[str], dict[str, int]]:
    """What is kept, and the numbers of users from which that is decided."""
    seen: dict[str, int] = {}

    class Watched(Backend):
        def filter(self, rows: Any, function: Any, stage: str) -> Any:
            seen.update(rows)
            return super().filter(rows, function, stage)

    found = kept_partitions(rows, backend=Watched(1), extractors=Extractors(), strategy=strategy)
    return set(found), seen
