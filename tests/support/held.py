"""Counts of an unknown domain, taken and read at once."""

from __future__ import annotations

from safeselect.unknown_domain._histogram import Histogram, hold_counts

__all__ = ["read_histogram"]


def read_histogram(counts: object, labels: object, size: int) -> Histogram:
    """The `size` largest counts in the fixed order."""
    return hold_counts(counts, labels, size).read()
