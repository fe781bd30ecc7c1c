"""What a release is: six shapes with one header, a statement and a receipt; and their schema."""

from safeselect.mechanisms.keys import PartitionStrategy
from safeselect.release.results import (
    Answers,
    Batch,
    Groups,
    Numbers,
    Receipt,
    Release,
    Selection,
    Statement,
    TopK,
    json_schema,
)

__all__ = [
    "Answers",
    "Batch",
    "Groups",
    "Numbers",
    "PartitionStrategy",
    "Receipt",
    "Release",
    "Selection",
    "Statement",
    "TopK",
    "json_schema",
]
