"""PipelineDP's selection of partitions with our exact law, in two ways.

- `create_partition_selection_strategy` takes the place of the function of this name in
  `pipeline_dp.partition_selection`: one line, PipelineDP's budget, fresh draws.
- `kept_partitions` selects beforehand, for `public_partitions=`, by public operations of
  PipelineDP's backends alone: keyed draws, on our ledger, the same where work is repeated.

Neither imports PipelineDP.  `docs/drop-ins.md` shows the lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe
from safeselect.mechanisms.items import item
from safeselect.mechanisms.keys import PartitionStrategy, partition_strategy

__all__ = ["create_partition_selection_strategy", "kept_partitions"]

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
    kind = getattr(strategy, "name", strategy)
    if kind != _OURS or kind is strategy:
        raise ParameterError(
            f"strategy must be PartitionSelectionStrategy.{_OURS}, got {describe(kind)}; in "
            "PipelineDP, omit partition_selection_strategy= and post_aggregation_thresholding="
        )
    least, cap = 1 if pre_threshold is None else pre_threshold, max_partitions_contributed
    return partition_strategy(epsilon=epsilon, delta=delta, max_partitions=cap, pre_threshold=least)


def kept_partitions(
    rows: Any, *, extractors: Any, backend: Any, strategy: PartitionStrategy
) -> Any:
    """Return the partitions of a table that may be shown, for `public_partitions=`.

    Each user counts for `max_partitions` partitions of the strategy at most, those of the smallest
    SHA-256 of user and partition, and once for each.  Then `strategy.keep_keyed` decides.  Bounding
    and draws are the same wherever they are computed again.

    Guarantee: that of the strategy, which was charged when it was made; computational, because its
        draws depend on a secret seed.  The later aggregation is charged to PipelineDP's budget in
        addition.
    Neighbours: all rows of one user are added or removed.

    Args:
        rows: the table, a collection of the backend.
        extractors: `DataExtractors`; its `privacy_id_extractor` and `partition_extractor` are used.
            What they give is read as text, as `select_partitions` reads keys: 1, 1.0 and '1' are
            one user or one partition.  A row is dropped where either is missing or no such text.
            Let partitions be texts already: PipelineDP compares them with those that are returned.
        backend: of PipelineDP; its workers need safeselect.
        strategy: for this one table.

    Returns:
        A collection of the backend: the partitions, each a text.

    Raises:
        ParameterError: the strategy is none.
    """
    if not isinstance(strategy, PartitionStrategy):
        raise ParameterError(
            f"strategy must be the result of partition_strategy(...), got {describe(strategy)}"
        )
    read = partial(_pair, extractors.privacy_id_extractor, extractors.partition_extractor)
    pairs = backend.flat_map(rows, read, "Users and partitions")
    users = backend.group_by_key(pairs, "Partitions of each user")
    bound = partial(_bounded, strategy.terms.max_partitions)
    counted = backend.count_per_element(
        backend.flat_map(users, bound, "Bounded partitions of each user"), "Users of each partition"
    )
    kept = backend.filter(counted, partial(_keeps, strategy), "Partitions that may be shown")
    return backend.keys(kept, "Drop the numbers of users")


def _pair(user_of: Any, partition_of: Any, row: Any) -> list[tuple[str, str]]:
    """The texts of a row's user and partition; nothing if one of them is missing."""
    user, label = item(user_of(row)), item(partition_of(row))
    return [] if user is None or label is None else [(user, label)]


def _bounded(most: int, found: tuple[str, Iterable[str]]) -> list[str]:
    """The partitions for which a user counts: they follow from this user's rows alone."""
    user, labels = found
    return sorted(set(labels), key=partial(_rank, user))[:most]


def _rank(user: str, label: str) -> tuple[bytes, bytes]:
    # A length says where the user ends.  Equal hashes are in the order of the label's bytes.
    texts = [each.encode("utf-8", "surrogatepass") for each in (f"{len(user)} {user}", label)]
    return hashlib.sha256(b"".join(texts)).digest(), texts[1]


def _keeps(strategy: PartitionStrategy, counted: tuple[str, int]) -> bool:
    return strategy.keep_keyed(*counted)
