"""PipelineDP's selection of partitions, with its arguments and our exact law.

`create_partition_selection_strategy` takes what the function of this name in
`pipeline_dp.partition_selection` takes.  It does not import PipelineDP.  `docs/adapters.md` shows
the line to change.
"""

from __future__ import annotations

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe
from safeselect.partitions import PartitionStrategy, partition_strategy

__all__ = ["create_partition_selection_strategy"]

_OURS = "TRUNCATED_GEOMETRIC"


def create_partition_selection_strategy(
    strategy: object,
    epsilon: Number,
    delta: Number,
    max_partitions_contributed: int,
    pre_threshold: int | None = None,
) -> PartitionStrategy:
    """Return a strategy whose `should_keep(users)` decides about one partition, by a fresh draw.

    PipelineDP asks for one in each process that decides, and asks it once about each partition.  It
    accounts for the budget itself.  An engine that computes a partition twice decides twice, as it
    does with PipelineDP's own strategies; `partition_strategy(...).keep_keyed` does not.

    Guarantee: (epsilon, delta)-DP for the partitions of one user together, as PipelineDP accounts
        for it (Desfontaines, Voss and Gipson 2022; see `safeselect.select_partitions`).
    Neighbours: one user is added or removed, who counts for `max_partitions_contributed` partitions
        at most; PipelineDP sees to that.

    Args:
        strategy: `PartitionSelectionStrategy.TRUNCATED_GEOMETRIC`, PipelineDP's default.
        epsilon, delta: what all decisions cost together.
        max_partitions_contributed: in how many partitions a user counts.
        pre_threshold: a partition with fewer users is never kept; by default 1.

    Raises:
        ParameterError: another strategy, or a parameter is wrong.

    Example:
        >>> from enum import Enum
        >>> Kind = Enum("Kind", ["TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLDING"])
        >>> strategy = create_partition_selection_strategy(Kind.TRUNCATED_GEOMETRIC, 1, 1e-6, 3)
        >>> strategy.should_keep(1000)
        True
    """
    if getattr(strategy, "name", None) != _OURS:
        raise ParameterError(
            f"strategy must be PartitionSelectionStrategy.{_OURS}, got {describe(strategy)}; it "
            "keeps at least as many partitions as thresholds with noise do"
        )
    return partition_strategy(
        epsilon=epsilon,
        delta=delta,
        max_partitions=max_partitions_contributed,
        pre_threshold=1 if pre_threshold is None else pre_threshold,
    )
