"""Numbers that count by themselves, not by their differences: those of sessions and of tests."""

from __future__ import annotations

from fractions import Fraction

from safeselect.scores.containers import Column
from safeselect.scores.numbers import nearest_steps
from safeselect.scores.reading import Reading

__all__ = ["read_values"]


def read_values(values: Column, reading: Reading, size: Fraction) -> list[int]:
    """Read the nearest step of each number.

    Args:
        values: the numbers, in whatever container.
        reading: how they become steps.
        size: how far values were declared to move, of which a message proposes a grid.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    return nearest_steps(values.numbers(), reading, size)
