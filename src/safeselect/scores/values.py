"""Numbers that count by themselves, not by their differences: those of sessions and of tests."""

from __future__ import annotations

from safeselect.scores.containers import Column
from safeselect.scores.numbers import nearest_steps
from safeselect.scores.reading import Reading

__all__ = ["read_values"]


def read_values(values: Column, reading: Reading, proposed: str) -> list[int]:
    """Read the nearest step of each number.

    Args:
        values: the numbers, in whatever container.
        reading: how they become steps.
        proposed: the grid that a message proposes; it follows from parameters.

    Raises:
        ScoreError: as for `Candidates.steps`.
    """
    return nearest_steps(values.numbers(), reading, proposed)
