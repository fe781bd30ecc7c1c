"""PipelineDP's selection with our law, by its arguments; `test_pipeline_dp.py` runs its engine."""

from __future__ import annotations

import pickle
from enum import Enum
from typing import Any

import numpy as np
import pytest

from safeselect import ParameterError, ScoreError, partition_strategy
from safeselect.adapters.pipeline_dp import create_partition_selection_strategy

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
        ({"strategy": Kind["LAPLACE_THRESHOLDING"]}, "TRUNCATED_GEOMETRIC, got .* Kind"),
        ({"strategy": "truncated_geometric"}, "got 'truncated_geometric'"),
        ({"epsilon": 0.0}, "epsilon must be greater than zero"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number"),
        ({"delta": 0.0}, "delta must be greater than zero"),
        ({"max_partitions_contributed": 0}, "max_partitions must be between"),
        ({"max_partitions_contributed": 1.5}, "max_partitions must be an integer"),
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
