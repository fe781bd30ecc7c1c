"""Counts of an unknown domain, taken and read at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from safeselect.mechanisms.items import hold_counts


@dataclass(frozen=True)
class Histogram:
    """The largest counts in the fixed order, and their items."""

    counts: Any
    labels: tuple[str | None, ...]


def read_histogram(counts: object, labels: object, size: int) -> Histogram:
    """The `size` largest counts in the fixed order."""
    held = hold_counts(counts, labels, size)
    return Histogram(held.read(), held.items)
