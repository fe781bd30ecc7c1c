"""What a release is: six shapes with one header, a provenance and a receipt; and their schema."""

from safeselect.mechanisms.keys import PartitionStrategy
from safeselect.release.results import (
    Answers,
    Batch,
    Groups,
    Numbers,
    Provenance,
    Receipt,
    Release,
    Selection,
    TopK,
    json_schema,
)

__all__ = [
    "Answers",
    "Batch",
    "Groups",
    "Numbers",
    "PartitionStrategy",
    "Provenance",
    "Receipt",
    "Release",
    "Selection",
    "TopK",
    "json_schema",
]
