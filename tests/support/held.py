"""Counts of an unknown domain, taken and read at once."""

from __future__ import annotations

from safeselect.mechanisms.items import hold_counts
from safeselect.mechanisms.unknown import Histogram

__all__ = ["read_histogram"]


def read_histogram(counts: object, labels: object, size: int) -> Histogram:
    """The `size` largest counts in the fixed order."""
    return hold_counts(counts, labels, size).read()
