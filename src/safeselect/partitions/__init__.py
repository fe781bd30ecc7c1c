"""Partition selection: which keys of a table may be shown, and how many users each has."""

from safeselect.partitions.results import SelectedPartitions, StatedStrategy
from safeselect.partitions.select import select_partitions
from safeselect.partitions.strategy import PartitionStrategy, partition_strategy

__all__ = [
    "PartitionStrategy",
    "SelectedPartitions",
    "StatedStrategy",
    "partition_strategy",
    "select_partitions",
]
